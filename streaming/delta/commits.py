"""Commits of epochs: at most once each, and only by the job that took the state over last.

A job begins a term: an application transaction `GROUP/term` with a number above the last. Every epoch is a transaction
`GROUP/epoch` with the epoch's own number, and names its job's term again. Delta refuses a commit when another that it
has not seen touched one of its application transactions; so a job that was taken over, however late it wakes up, finds
its commit refused, and an epoch cannot be committed twice. Compactions touch neither, and are passed by.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction
from deltalake.exceptions import CommitFailedError
from deltalake.transaction import AddAction, RemoveAction

from chronicle.errors import ChronicleError
from views.kernel.failpoints import reach
from views.replica.compaction import Work, commit_snapshot, work_on
from views.replica.ledger import LedgerRow, encode_ledger
from views.replica.table import (
    LEDGER,
    LOG,
    NO_SHARD,
    PARTITIONED_BY,
    SCHEMA,
    TABLE,
    File,
    create_table,
    open_table,
    write_file,
)
from views.state import Meta, Outcome
from views.state.storage import Storage

_ATTEMPTS = 20
_HOOKS = PostCommitHookProperties(create_checkpoint=True, cleanup_expired_logs=False)
"""Cleaning lists the whole log: that is for compactions, not for every epoch."""


class FencedError(ChronicleError):
    """Another job has taken the state over."""

    def __init__(self, home: Storage, own: int, term: int) -> None:
        super().__init__(
            f"another job has taken over the state {home} (term {term}, this job's is {own})",
            "this one has committed nothing since; let it go, or stop the other and start it again",
        )


@dataclass(slots=True)
class Committer:
    """`begun` and `epoch`: the last term and the last epoch in the table as it was loaded. Asking delta-rs for them
    reads the log anew, from its last checkpoint on."""

    home: Storage
    group: str
    term: int
    _table: DeltaTable
    _begun: int
    _epoch: int

    @classmethod
    def begin(cls, home: Storage, meta: Meta) -> Committer:
        """Makes the table if there is none, and begins a term: from now on no earlier job commits."""
        create_table(home, meta)
        for _ in range(_ATTEMPTS):
            committer = cls(home, meta.group, 0, open_table(home), 0, 0)
            committer._read()
            committer.term = 1 + committer._begun
            try:
                committer._write([], [committer._named])
            except CommitFailedError:
                continue  # another job has begun a term at the same moment; whose is larger stays
            return committer
        raise ChronicleError(f"the state {home} is being taken over again and again", "let only one job have it")

    @property
    def epoch(self) -> int:
        """The last epoch that is committed, as far as this job has seen."""
        return self._epoch

    def commit(self, epoch: int, partials: Sequence[File], outcome: Outcome) -> None:
        """The epoch with its row of the ledger, as one commit. Refused (FencedError) where another job has begun a
        term."""
        self._refuse_strangers(epoch - 1)
        row = LedgerRow(epoch, time.time_ns() // 1000, self.term, outcome)
        ledger = write_file(self.home, LEDGER, epoch, [(NO_SHARD, encode_ledger(row))])
        reach("uncommitted")
        try:
            self._write([*partials, ledger], [Transaction(_epoch(self.group), epoch), self._named])
        except CommitFailedError as error:
            self._update()
            if (self._begun, self.epoch) == (self.term, epoch):
                return  # it is there, and nobody else commits in this term: only the answer was lost
            self._refuse_strangers(epoch - 1)
            raise ChronicleError(f"epoch {epoch} was not committed: {error}", "run again: it is repeated") from error
        reach("committed")

    def replace(self, build: Callable[[Work], Sequence[File]]) -> None:
        """Puts snapshots that `build` makes in the place of everything that is committed, as one commit."""
        expected = self.epoch
        self._update()  # compactions since; what else came is refused here, or by the commit
        self._refuse_strangers(expected)
        work = work_on(self.home, self._table)
        commit_snapshot(self._table, work, build(work), self.group, [self._named])
        self._update()

    @property
    def _named(self) -> Transaction:
        """This job's term, for a commit that no later term may have been begun before."""
        return Transaction(_term(self.group), self.term)

    def _refuse_strangers(self, expected: int) -> None:
        if self._begun != self.term:
            raise FencedError(self.home, self.term, self._begun)
        if self.epoch != expected:
            raise ChronicleError(
                f"{self.home.named(TABLE)} has epoch {self.epoch} and cannot take epoch {expected + 1}",
                "epochs are committed once and in order; run again, and the job goes on from what is there",
            )

    def _write(self, files: Sequence[File], transactions: list[Transaction]) -> None:
        added: list[AddAction | RemoveAction] = [file.added() for file in files]
        properties, before = CommitProperties(app_transactions=transactions), self._table.version()
        with self.home.explained():
            self._table.create_write_transaction(
                added, "append", SCHEMA, PARTITIONED_BY, commit_properties=properties, post_commithook_properties=_HOOKS
            )
            self._table.update_incremental()
        self.home.sync(LOG)
        if self._table.version() == before + 1:
            told = {each.app_id: each.version for each in transactions}
            self._begun = told.get(_term(self.group), self._begun)
            self._epoch = told.get(_epoch(self.group), self._epoch)
        else:
            self._read()  # others have committed too: what they have must be known before the next commit

    def _update(self) -> None:
        """Takes in what others have committed."""
        with self.home.explained():
            self._table.update_incremental()
        self._read()

    def _read(self) -> None:
        with self.home.explained():
            self._begun = self._table.transaction_version(_term(self.group)) or 0
            self._epoch = self._table.transaction_version(_epoch(self.group)) or 0


def _term(group: str) -> str:
    return f"{group}/term"


def _epoch(group: str) -> str:
    return f"{group}/epoch"
