"""Spark: the sources, one job per micro-batch in foreachBatch, epochs and recovery (design: "Nothing lost").

session.py   a quiet Spark session
source.py    where appends come from: the journal, or Kafka
kafka_source.py   Kafka's extents, and its messages
attendance.py   a source that is away: said, waited for
ranges.py    the streaming source that tells Spark how far there is something to read
planning.py  which offsets an epoch reads, and what a crash left to be repeated
dealing.py   which task maps which ranges
tasks.py     what runs in Spark's Python workers: map, fold, or a small epoch whole
epochs.py    an epoch as one Spark job
job.py       the job: lock, recover, stream, stop
"""
