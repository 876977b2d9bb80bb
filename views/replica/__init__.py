"""A Delta state, and the lookup indexes that follow it: plain Python and delta-rs, no Spark, no Java (docs/delta.md).

table.py       the layout of the table, its files, and reading its log
ledger.py      an epoch's row of the ledger
snapshots.py   a shard's rows as partials, and back
follower.py    tails the table into an index
compaction.py  folds partials into a snapshot (deferred-view-maintenance §3.4)
indexes.py     where this machine's indexes are, and keeping one current in the background
"""

from views.replica.compaction import compact
from views.replica.follower import Follower
from views.replica.indexes import is_delta, private_index, readable, readable_now

__all__ = ["Follower", "compact", "is_delta", "private_index", "readable", "readable_now"]
