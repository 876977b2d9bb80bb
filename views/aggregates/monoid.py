"""What an aggregate is to the engine: a commutative monoid over fixed-width fields (design: "State").

A *state* is a tuple of scalars in the order of `fields`; *columns* are the same for many rows, one array per field.
The engine makes partials in DuckDB (`partial_sql`, then `finish_partial` on what came back as Arrow), folds them with
`merge`, and answers a lookup with `finalise`. `prepare` and `merge_one` are the same in plain Python, value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from chronicle.errors import ChronicleError
from chronicle.types import Value

BLOB = "blob"
"""The dtype of a field of varying width: bytes, never None; b"" in the identity."""

Array: TypeAlias = npt.NDArray[Any]
Columns: TypeAlias = dict[str, Array]
Scalar: TypeAlias = int | float | bytes
State: TypeAlias = tuple[Scalar, ...]
Raw: TypeAlias = Mapping[str, Any]
"""Arrow arrays (pyarrow has no types) by the names of `partial_sql`; nulls are groups without a value."""

ORDER = ('"chronon"', '"sn"', '"pos"')
"""The SQL of what orders the tuples of a chronicle, as the map kernel names its columns."""


class ResultOverflowError(ChronicleError):
    """A value that its result type cannot hold. The state is exact and goes on; only this row's lookup fails."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of the state: a numpy dtype ("<i8", "<u8", "<f8", "<i4", "|u1", "|i1") or BLOB."""

    name: str
    dtype: str


class Contribution(NamedTuple):
    """One tuple's value for an aggregate (after FILTER), and where it stands in the chronicle."""

    value: Value
    chronon: int = 0
    sn: int = 0
    pos: tuple[int, ...] = ()


class Monoid(Protocol):
    """`merge` is associative and commutative, `identity` is neutral, and merging partials of two sets of appends is
    the partial of both together (exactly, or up to rounding where `inexact`)."""

    @property
    def fields(self) -> tuple[Field, ...]: ...

    @property
    def identity(self) -> State: ...

    @property
    def inexact(self) -> bool:
        """Whether the order of merging shows in the result: floating point, and sketches past their exact size."""
        ...

    def partial_sql(
        self, arguments: Sequence[str], where: str | None = None, order: Sequence[str] = ORDER
    ) -> dict[str, str]:
        """The aggregate expressions of a DuckDB GROUP BY, by name. `arguments` and `where` (the FILTER) are SQL over
        the input, `order` is the SQL of (chronon, sn, pos); pos may be any type that sorts."""
        ...

    def finish_partial(self, raw: Raw) -> Columns:
        """The fields, from the Arrow columns that `partial_sql` gave; one row per group."""
        ...

    def merge(self, a: Columns, b: Columns) -> Columns:
        """Row by row. Neither argument is changed."""
        ...

    def prepare(self, contributions: Iterable[Contribution]) -> State: ...

    def merge_one(self, a: State, b: State) -> State: ...

    def finalise(self, state: State) -> Value:
        """The value that a lookup shows; ResultOverflowError where the result's type cannot hold it."""
        ...


def aggregated(call: str, where: str | None) -> str:
    """An aggregate call with its FILTER."""
    return f"{call} FILTER (WHERE {where})" if where else call


def columns_of_state(fields: Sequence[Field], states: Sequence[State]) -> Columns:
    """States as columns: what the fold reads back from rows."""
    return {
        field.name: np.fromiter(
            (state[i] for state in states), dtype=object if field.dtype == BLOB else field.dtype, count=len(states)
        )
        for i, field in enumerate(fields)
    }


def state_at(fields: Sequence[Field], columns: Columns, row: int) -> State:
    """One row of columns as a state of plain Python scalars."""
    return tuple(
        columns[field.name][row] if field.dtype == BLOB else columns[field.name][row].item() for field in fields
    )
