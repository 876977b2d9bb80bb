"""The reference evaluator: the oracle that decides who is right (chronicle-data-model §2, §4, §5.1).

It keeps the whole chronicle and every version of every relation, and computes each view from them by definition:
no increments, no panes, no partials; epochs only where the contract names them. Slow, and meant for reading:

    admission.py    records  -> admitted appends, relation versions, clocks, fates          (§2.3, contract: the clock)
    algebra.py      a node   -> its chronicle, one small function per operator              (Definition 4.1)
    aggregates.py   values   -> one value, straight from what each aggregate means in SQL
    periods.py      a tuple  -> the periods it counts in, or that it is late                (§5.1)
    evaluate.py     all of it -> the rows of every view, and the ledger
"""

from views.reference.admission import Record
from views.reference.evaluate import Outcome, RowKey, evaluate

__all__ = ["Outcome", "Record", "RowKey", "evaluate"]
