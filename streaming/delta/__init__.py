"""The Delta tier: an epoch is one commit of partials and its ledger row (design: "Scale"; docs/delta.md).

commits.py  the commits themselves: once per epoch, and by the job of the latest term only
tasks.py    what runs in Spark's Python workers: map, and write the shares to a file
runner.py   an epoch: maps, one commit, and the job's own index brought up to it
store.py    a Delta state as a job opens it
compacting.py  compaction as a Spark job, and every so many epochs
"""
