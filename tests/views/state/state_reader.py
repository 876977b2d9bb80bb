"""A process that reads a state while another writes it: `state_reader.py DIRECTORY LAST_EPOCH | asked | held`,
with the tree on the PYTHONPATH.

Up to LAST_EPOCH it reads as fast as it can, checks that each moment is whole and none is older than the one before,
and prints how many epochs it saw. `asked` prints the epoch for each line on stdin, `held`
keeps one moment until it is killed.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path

from state_cases import CUSTOMERS, TOTALS, VIEWS, values_of

from views.state import State


def read(state: State) -> int:
    """The epoch of one moment; every row is the sum of 1 to this epoch, and so is the ledger's count."""
    with state.shard(0).read() as snapshot:
        epoch = snapshot.standing().epoch
        rows = {values_of(TOTALS, value) for _, _, value in snapshot.rows("totals")}
        applied = snapshot.tally().total()["applied"]
        count = sum(1 for _ in snapshot.rows("totals"))
    assert rows == {(epoch, epoch * (epoch + 1) // 2)}, f"epoch {epoch} has rows {rows}"
    assert applied == epoch * count, f"epoch {epoch} has {applied} applied"
    return epoch


def main(directory: Path, until: str) -> None:
    state = State.open(directory, VIEWS, [CUSTOMERS])
    if until == "held":
        with state.shard(0).read():
            print("held", flush=True)
            threading.Event().wait()
    if until == "asked":
        for _ in sys.stdin:
            print(read(state), flush=True)
        return
    print("reading", flush=True)
    seen, last = {0}, 0
    while last < int(until):
        epoch = read(state)
        assert epoch >= last, f"epoch {epoch} after {last}"
        last = epoch
        seen.add(epoch)
    print(len(seen))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
