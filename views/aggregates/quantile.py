"""approx_quantile(x, rank): by a KLL sketch of k = 400 (Apache DataSketches); a double.

The least value whose share of values at or below it reaches the rank (percentile_disc). Up to 400 values it is exact;
beyond, its rank is off by at most 0.68 % with 99 % confidence. KLL flips coins when it compacts, so past 400 values two
runs may give different answers, both within the bound: it is marked inexact.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, cast

import numpy as np
from datasketches import kll_doubles_sketch

from chronicle.types import DataType, Value
from views.aggregates.monoid import State
from views.aggregates.sketches import SketchMonoid

K = 400


@dataclass(frozen=True, slots=True)
class ApproxQuantile(SketchMonoid):
    argument: DataType
    rank: float
    inexact: ClassVar = True

    def sketch(self, values: Sequence[Value]) -> bytes:
        if not values:
            return b""
        made = kll_doubles_sketch(K)
        made.update(np.fromiter((float(cast("float", value)) for value in values), np.float64, len(values)))
        return cast("bytes", made.serialize())

    def union(self, a: bytes, b: bytes) -> bytes:
        both = kll_doubles_sketch.deserialize(a)
        both.merge(kll_doubles_sketch.deserialize(b))
        return cast("bytes", both.serialize())

    def finalise(self, state: State) -> Value:
        blob = cast("bytes", state[0])
        if not blob:
            return None
        sketch = kll_doubles_sketch.deserialize(blob)
        return None if sketch.is_empty() else cast("float", sketch.get_quantile(self.rank, True)) + 0.0
