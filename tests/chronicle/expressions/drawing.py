"""Random expressions, as text with the types that make them bind, and random rows with nulls and extremes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from functools import cache

from hypothesis import strategies as st

from chronicle.expressions import Scope, ScopeColumn
from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType, Kind, Value, decimal

COLUMNS: dict[str, tuple[DataType, bool]] = {
    "i": (INT64, False),
    "j": (INT64, True),
    "p": (decimal(12, 2), True),
    "q": (decimal(18, 6), False),
    "w": (decimal(38, 9), True),
    "d": (DOUBLE, True),
    "s": (STRING, False),
    "t": (STRING, True),
    "b": (BOOL, True),
    "c": (BOOL, False),
    "at": (TIMESTAMP, True),
    "day": (DATE, True),
}
SCOPE = Scope(tuple(ScopeColumn("r", name, name, type_, null) for name, (type_, null) in COLUMNS.items()))

_MAX = 2**63 - 1
_TEXTS = [
    "",
    "a",
    "B",
    "ab",
    "abc%",
    "a_c",
    "héllo",
    "ß",
    "Σας",
    "𝒳y",
    "\\",
    "it's",
    "12",
    "-7",
    "1.25",
    "true",
    "2026-02-28",
]
_ZONES = ["UTC", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "America/Havana"]
_UNITS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second"]
_PARTS = [*_UNITS, "dow", "isodow", "doy", "isoyear"]
_LOW, _HIGH = -2_200_000_000_000_000, 4_000_000_000_000_000


def values(type_: DataType) -> st.SearchStrategy[Value]:
    match type_.kind:
        case Kind.INT64:
            small = st.integers(-100, 100)
            return small | st.sampled_from([0, 1, -1, _MAX, -_MAX - 1, 2**53 + 1]) | st.integers(-_MAX - 1, _MAX)
        case Kind.DECIMAL:
            widest = 10**type_.precision - 1
            unscaled = (
                st.integers(-1000, 1000) | st.sampled_from([0, widest, -widest, 5, 15]) | st.integers(-widest, widest)
            )
            return unscaled.map(lambda number: Decimal(f"{number}E-{type_.scale}"))
        case Kind.DOUBLE:
            known = [0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 2.675, 1.005, 1e300, float("inf"), float("nan")]
            return st.sampled_from(known) | st.floats(-1e6, 1e6) | st.floats()
        case Kind.STRING:
            return st.sampled_from(_TEXTS) | st.text(st.characters(exclude_categories=("Cs", "Cc", "Cn")), max_size=6)
        case Kind.BOOL:
            return st.booleans()
        case Kind.TIMESTAMP:
            return st.integers(_LOW, _HIGH) | st.sampled_from([0, -1, 1_762_056_000_000_000, 1_762_059_600_000_000])
        case Kind.DATE:
            return st.dates(date(1900, 1, 1), date(2100, 1, 1))


def rows() -> st.SearchStrategy[dict[str, Value]]:
    return st.fixed_dictionaries(
        {name: (values(type_) | st.none()) if null else values(type_) for name, (type_, null) in COLUMNS.items()}
    )


def _some(*options: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(*options)


def _form(pattern: str, *parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map(lambda texts: pattern.format(*texts))


def _leaf(*names: str) -> st.SearchStrategy[str]:
    return st.sampled_from(names)


Level = Callable[[int], st.SearchStrategy[str]]


@cache
def whole(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("i", "j", "0", "1", "-3", "7", "60", "9223372036854775807", "null")
    if depth == 0:
        return leaf
    deeper = whole(depth - 1)
    return _some(
        leaf,
        _form("({} {} {})", deeper, st.sampled_from("+-*%"), deeper),
        _form("(-{})", _leaf("i", "j")),
        _form("abs({})", deeper),
        _form("round({}, {})", deeper, st.sampled_from(["0", "-1", "-3"])),
        _form("length({})", text(depth - 1)),
        _form("extract({} from at at time zone '{}')", st.sampled_from(_PARTS), st.sampled_from(_ZONES)),
        _form("extract({} from day)", st.sampled_from(["year", "quarter", "month", "week", "dow", "doy", "isoyear"])),
        _form("cast({} as int64)", _some(exact(depth - 1), double(depth - 1), text(depth - 1), truth(depth - 1))),
        _chosen(depth, whole),
    )


@cache
def exact(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("p", "q", "w", "1.5", "0.00", "-2.25", "100")
    if depth == 0:
        return leaf
    deeper = _some(exact(depth - 1), whole(depth - 1))
    return _some(
        leaf,
        _form("({} {} {})", deeper, st.sampled_from("+-*%"), exact(depth - 1)),
        _form("({} / {})", deeper, deeper),
        _form("(-{})", exact(depth - 1)),
        _form("{}({})", st.sampled_from(["abs", "floor", "ceil", "round"]), exact(depth - 1)),
        _form("round({}, {})", deeper, st.sampled_from(["1", "2", "-1", "5"])),
        _form("cast({} as decimal({}))", deeper, st.sampled_from(["6,2", "38,4", "18,0"])),
        _form("cast({} as decimal(20,3))", _some(double(depth - 1), text(depth - 1))),
        _chosen(depth, exact),
    )


@cache
def double(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("d", "1e0", "2.5e0", "-0e0")
    if depth == 0:
        return leaf
    deeper = double(depth - 1)
    return _some(
        leaf,
        _form("({} {} {})", deeper, st.sampled_from("+-*/%"), _some(deeper, whole(depth - 1))),
        _form("{}({})", st.sampled_from(["abs", "floor", "ceil", "round"]), deeper),
        _form("round({}, {})", deeper, st.sampled_from(["1", "2", "6"])),
        _form("cast({} as double)", _some(exact(depth - 1), whole(depth - 1))),
        _chosen(depth, double),
    )


@cache
def text(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("s", "t", "'a'", "'it''s'", "''")
    if depth == 0:
        return leaf
    deeper = text(depth - 1)
    return _some(
        leaf,
        _form("{}({})", st.sampled_from(["lower", "upper"]), deeper),
        _form("substr({}, {})", deeper, whole(depth - 1)),
        _form("substr({}, {}, {})", deeper, st.sampled_from(["0", "1", "-2", "-9"]), whole(depth - 1)),
        _form("concat({}, {})", deeper, deeper),
        _form("cast({} as string)", _some(whole(depth - 1), exact(depth - 1), truth(depth - 1), instant(depth - 1))),
        _chosen(depth, text),
    )


@cache
def instant(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("at", "timestamp '2026-03-08T07:00:00Z'")
    if depth == 0:
        return leaf
    return _some(
        leaf,
        _form("date_trunc('{}', {}, '{}')", st.sampled_from(_UNITS), instant(depth - 1), st.sampled_from(_ZONES)),
        _form("cast({} as timestamp)", day(depth - 1)),
        _chosen(depth, instant),
    )


@cache
def day(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("day", "date '2026-02-28'")
    if depth == 0:
        return leaf
    return _some(
        leaf,
        _form("date_trunc('{}', {})", st.sampled_from(_UNITS[:5]), day(depth - 1)),
        _form("cast({} as date)", instant(depth - 1)),
        _chosen(depth, day),
    )


@cache
def truth(depth: int) -> st.SearchStrategy[str]:
    leaf = _leaf("b", "c", "true", "null", "i > 0", "j = 7", "t is null", "s like 'a%'")
    if depth == 0:
        return leaf
    deeper = truth(depth - 1)
    compared = _some(*(_form("({} {} {})", side, st.sampled_from(_COMPARES), side) for side in _sides(depth - 1)))
    return _some(
        leaf,
        compared,
        _form("({} and {})", deeper, deeper),
        _form("({} or {})", deeper, deeper),
        _form("(not {})", deeper),
        _form("({} is null)", _some(*_sides(depth - 1))),
        _form("({} {} {})", whole(depth - 1), st.sampled_from(_COMPARES), _leaf("0", "7", "60")),
        _form("({} in (0, 7, {}))", whole(depth - 1), _leaf("1", "null", "j", "60")),
        _form("({} in ('a', 'B', 'ß'))", text(depth - 1)),
        _form("({} between {} and {})", exact(depth - 1), whole(depth - 1), exact(depth - 1)),
        _form("({} like {})", text(depth - 1), _leaf("'%'", "'a_c'", "'%b%'", "'abc!%' escape '!'", "'\\'")),
    )


_COMPARES = ["=", "<>", "<", "<=", ">", ">="]


def _sides(depth: int) -> tuple[st.SearchStrategy[str], ...]:
    return whole(depth), exact(depth), double(depth), text(depth), instant(depth), day(depth)


def _chosen(depth: int, level: Level) -> st.SearchStrategy[str]:
    """The constructs that choose one of several values, at any type."""
    deeper = level(depth - 1)
    return _some(
        _form("case when {} then {} when {} then {} end", truth(depth - 1), deeper, truth(depth - 1), deeper),
        _form("case when {} then {} else {} end", truth(depth - 1), deeper, deeper),
        _form("coalesce({}, {})", deeper, deeper),
        _form("nullif({}, {})", deeper, deeper),
        _form("{}({}, {})", st.sampled_from(["greatest", "least"]), deeper, deeper),
    )


def expressions(depth: int = 2) -> st.SearchStrategy[str]:
    return _some(*_sides(depth), truth(depth))
