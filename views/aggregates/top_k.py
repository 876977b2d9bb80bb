"""approx_top_k(x, k): the k most frequent values, by a frequent-items sketch of 768 counters (Apache DataSketches).

The result is JSON text, `[["c2", 12], ["c3", 4]]`: most frequent first, equal counts by value. Up to 768 different
values counts are exact; beyond, each is at most 0.35 % of all values too high, and a value more frequent than that is
never missed.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar, cast

from datasketches import frequent_items_error_type, frequent_strings_sketch

from chronicle.types import DataType, Kind, Value
from views.aggregates.monoid import State
from views.aggregates.sketches import SketchMonoid

LG_MAX_MAP = 10
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _item(value: Value) -> str:
    """A value as the sketch's item: text that is never empty and that `_value` reads back; part of the state format."""
    match value:
        case str():
            return "s" + value
        case Decimal() | date():
            return str(value)
        case float():
            return repr(value + 0.0)
        case _:
            return json.dumps(value)


def _value(item: str, argument: DataType) -> Value:
    match argument.kind:
        case Kind.STRING:
            return item[1:]
        case Kind.DECIMAL:
            return Decimal(item)
        case Kind.DATE:
            return date.fromisoformat(item)
        case Kind.DOUBLE:
            return float(item)
        case _:
            return cast("int | bool", json.loads(item))


def _shown(value: Any, argument: DataType) -> str | int | float | bool:
    """A value as JSON out has it: decimals, dates and instants are strings."""
    match argument.kind:
        case Kind.TIMESTAMP:
            return (_EPOCH + timedelta(microseconds=value)).isoformat().replace("+00:00", "Z")
        case Kind.DECIMAL | Kind.DATE:
            return str(value)
        case Kind.DOUBLE if not math.isfinite(value):
            return str(value)
        case _:
            return cast("str | int | float | bool", value)


@dataclass(frozen=True, slots=True)
class ApproxTopK(SketchMonoid):
    argument: DataType
    k: int
    inexact: ClassVar = True

    def sketch(self, values: Sequence[Value]) -> bytes:
        if not values:
            return b""
        made = frequent_strings_sketch(LG_MAX_MAP)
        for item, count in Counter(map(_item, values)).items():
            made.update(item, count)
        return cast("bytes", made.serialize())

    def union(self, a: bytes, b: bytes) -> bytes:
        both = frequent_strings_sketch.deserialize(a)
        both.merge(frequent_strings_sketch.deserialize(b))
        return cast("bytes", both.serialize())

    def finalise(self, state: State) -> Value:
        blob = cast("bytes", state[0])
        if not blob:
            return "[]"
        sketch = frequent_strings_sketch.deserialize(blob)
        found = sketch.get_frequent_items(frequent_items_error_type.NO_FALSE_NEGATIVES)
        counted: list[tuple[Any, int]] = [(_value(item, self.argument), count) for item, count, _, _ in found]
        counted.sort(key=lambda pair: (-pair[1], pair[0]))
        return json.dumps([[_shown(value, self.argument), n] for value, n in counted[: self.k]], ensure_ascii=False)
