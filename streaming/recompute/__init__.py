"""The second of three answers (design: Proof): every view by plain Spark SQL in batch, compared with the state.

retained.py     what the source still has, as far as the state has come
records.py      the retained chronicle -> one row per message
decoding.py     a message    -> its append, by the exact decoder, in Spark's workers
admission.py    appends      -> fates and clocks, in one pass
tables.py       all of it    -> tables of chronicles and of relation versions                     (§2.3)
algebra.py      a node       -> Spark SQL                                                          (Definition 4.1)
aggregates.py   an aggregate -> Spark SQL's own function, or the parts that it needs
periods.py      an append    -> the periods that it counts in                                      (§5.1)
rows.py         a view       -> its rows
stored.py, compare.py, comparison.py  those of the state, and how they differ
"""

from streaming.recompute.compare import Difference
from streaming.recompute.comparison import Compared, Report, recompute

__all__ = ["Compared", "Difference", "Report", "recompute"]
