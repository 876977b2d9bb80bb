"""var_pop, var_samp, stddev_pop, stddev_samp: count, mean and sum of squared deviations, merged by the pairwise formula
of Chan, Golub and LeVeque (1979), which does not cancel where a sum of squares would. Doubles, so marked inexact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, cast

import numpy as np

from chronicle.types import Value
from views.aggregates.monoid import ORDER, Columns, Contribution, Field, Raw, State, aggregated
from views.aggregates.sums import finite
from views.aggregates.values import fixed

Statistic = Literal["var_pop", "var_samp", "stddev_pop", "stddev_samp"]


@dataclass(frozen=True, slots=True)
class Moments:
    statistic: Statistic
    fields: ClassVar = (Field("n", "<i8"), Field("mean", "<f8"), Field("m2", "<f8"))
    identity: ClassVar[State] = (0, 0.0, 0.0)
    inexact: ClassVar = True

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        double = f"CAST({arguments[0]} AS DOUBLE)"
        return {
            "n": aggregated(f"count({arguments[0]})", where),
            "mean": aggregated(f"avg({double})", where),
            "variance": aggregated(f"var_pop({double})", where),
        }

    def finish_partial(self, raw: Raw) -> Columns:
        n = fixed(raw["n"], "<i8")
        return {"n": n, "mean": fixed(raw["mean"], "<f8"), "m2": fixed(raw["variance"], "<f8") * n}

    def merge(self, a: Columns, b: Columns) -> Columns:
        n = a["n"] + b["n"]
        share = b["n"] / np.maximum(n, 1)
        delta = b["mean"] - a["mean"]
        mean = np.where(a["n"] == 0, b["mean"], a["mean"] + delta * share)
        between = np.where((a["n"] == 0) | (b["n"] == 0), 0.0, delta * delta * share * a["n"])
        return {"n": n, "mean": mean, "m2": a["m2"] + b["m2"] + between}

    def prepare(self, contributions: Iterable[Contribution]) -> State:
        n, mean, m2 = 0, 0.0, 0.0
        for c in contributions:
            if c.value is not None:
                number = float(cast("float", c.value))
                n += 1
                delta = number - mean
                mean += delta / n
                m2 += delta * (number - mean)
        return (n, mean, m2)

    def merge_one(self, a: State, b: State) -> State:
        n_a, mean_a, m2_a = cast("tuple[int, float, float]", a)
        n_b, mean_b, m2_b = cast("tuple[int, float, float]", b)
        if not (n_a and n_b):
            return a if n_a else b
        share = n_b / (n_a + n_b)
        delta = mean_b - mean_a
        return (n_a + n_b, mean_a + delta * share, m2_a + m2_b + delta * delta * share * n_a)

    def finalise(self, state: State) -> Value:
        n, _, m2 = cast("tuple[int, float, float]", state)
        freedom = n if self.statistic.endswith("_pop") else n - 1
        if freedom < 1:
            return None
        variance = finite(m2 / freedom, self.statistic)
        return math.sqrt(variance) if self.statistic.startswith("stddev") else variance
