"""The state: rows, relation versions and ledger in LMDB shards, written once per epoch and read by anyone.

Writers: `State.prepare` under `writer_lock`, then for each epoch `state.epochs.write(plan)` and `state.shard(n).write`
on every shard (see `views.state.shard`). Keys come from `encode_keys`, shards from `shards_of`. Readers:
`state.shard(n).read()`. A Delta state is kept in a `Storage`: a directory, or a prefix of a bucket.
"""

from views.state.arrow_keys import encode_keys, shards_of
from views.state.cuts import Cut, CutLog, Stretch, changes_in, stretches
from views.state.epochs import EpochLog, EpochPlan, SlotPlan
from views.state.held import HeldVersions
from views.state.keys import NO_PERIOD, decode_key, key_encoder, shard_of
from views.state.layout import (
    PERIOD_END,
    Periods,
    RelationLayout,
    ViewLayout,
    layout_of,
    state_column,
)
from views.state.lock import StateInUseError, holder_of, writer_lock
from views.state.meta import Meta, NoStateError, Slot, read_meta
from views.state.shard import Shard, ShardTransaction
from views.state.snapshot import LEDGER_SHARD, PeriodEntry, Quarantined, Registry, Snapshot
from views.state.standing import FATES, Outcome, SlotStanding, Standing, Tally
from views.state.store import State
from views.state.versions import VersionStore

__all__ = [
    "FATES",
    "LEDGER_SHARD",
    "NO_PERIOD",
    "PERIOD_END",
    "Cut",
    "CutLog",
    "EpochLog",
    "EpochPlan",
    "HeldVersions",
    "Meta",
    "NoStateError",
    "Outcome",
    "PeriodEntry",
    "Periods",
    "Quarantined",
    "Registry",
    "RelationLayout",
    "Shard",
    "ShardTransaction",
    "Slot",
    "SlotPlan",
    "SlotStanding",
    "Snapshot",
    "Standing",
    "State",
    "StateInUseError",
    "Stretch",
    "Tally",
    "VersionStore",
    "ViewLayout",
    "changes_in",
    "decode_key",
    "encode_keys",
    "holder_of",
    "key_encoder",
    "layout_of",
    "read_meta",
    "shard_of",
    "shards_of",
    "state_column",
    "stretches",
    "writer_lock",
]
