"""The aggregates of the contract, by name: what each takes and the type of what it gives, decided at check time.

Each decomposes into a monoid (chronicle-data-model, Preliminaries: "incrementally computable, or decomposable into
incremental computation functions"), which is why these and no others are admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from chronicle.types import BOOL, DOUBLE, INT64, MAX_PRECISION, STRING, DataType, Kind, decimal

AVG_SCALE = 9
"""Division and avg of exact numbers give a decimal of this scale."""

MAX_TOP_K = 100
"""The longest approx_top_k: what its sketch can tell apart from noise."""

Number = int | float


def _any(function: str, argument: DataType) -> DataType:
    return argument


def _summable(function: str, argument: DataType) -> DataType:
    if not argument.is_numeric:
        raise ValueError(f"{function} takes a number (int64, double or decimal), not {argument}")
    return decimal(MAX_PRECISION, argument.scale) if argument.kind is Kind.DECIMAL else argument


def _average(function: str, argument: DataType) -> DataType:
    return decimal(MAX_PRECISION, AVG_SCALE) if _summable(function, argument).is_exact else DOUBLE


def _statistic(function: str, argument: DataType) -> DataType:
    _summable(function, argument)
    return DOUBLE


def _ordered(function: str, argument: DataType) -> DataType:
    if argument.kind is Kind.BOOL:
        instead = "bool_and" if function == "min" else "bool_or"
        raise ValueError(f"{function} takes a value with an order, not bool; {instead} says the same of bools")
    return argument


def _boolean(function: str, argument: DataType) -> DataType:
    if argument.kind is not Kind.BOOL:
        raise ValueError(f"{function} takes a bool, not {argument}")
    return BOOL


_RESULTS: dict[str, Callable[[str, DataType], DataType]] = {
    "count": lambda function, argument: INT64,
    "sum": _summable,
    "min": _ordered,
    "max": _ordered,
    "avg": _average,
    "var_pop": _statistic,
    "var_samp": _statistic,
    "stddev_pop": _statistic,
    "stddev_samp": _statistic,
    "first": _any,
    "last": _any,
    "bool_and": _boolean,
    "bool_or": _boolean,
    "approx_distinct": lambda function, argument: INT64,
    "approx_quantile": _statistic,
    "approx_top_k": lambda function, argument: STRING,
}

AGGREGATES = tuple(_RESULTS)
"""The names of all aggregates, as the contract lists them."""

PARAMETERS = {"approx_quantile": ("rank",), "approx_top_k": ("k",)}
"""The constants that an aggregate takes after its argument."""

_NEVER_NULL = frozenset({"count", "approx_distinct", "approx_top_k"})
_NULL_OF_ONE = frozenset({"var_samp", "stddev_samp"})


def aggregate_type(
    function: str,
    arguments: Sequence[DataType],
    parameters: Sequence[Number] = (),
    *,
    may_be_empty: bool = True,
) -> tuple[DataType, bool]:
    """The type of `function(arguments, parameters)` and whether it may be null; ValueError says why it has none.

    `may_be_empty` is whether a group may have no value to aggregate: its argument is nullable, or it has a FILTER.
    """
    if function not in _RESULTS:
        raise ValueError(f"no aggregate is called {function}; there is {', '.join(AGGREGATES)}")
    _check_parameters(function, parameters)
    if not arguments and function == "count":
        return INT64, False
    if len(arguments) != 1:
        raise ValueError(f"{function} takes one argument, not {len(arguments)}")
    result = _RESULTS[function](function, arguments[0])
    nullable = function in _NULL_OF_ONE or (may_be_empty and function not in _NEVER_NULL)
    return result, nullable


def _check_parameters(function: str, parameters: Sequence[Number]) -> None:
    names = PARAMETERS.get(function, ())
    if len(parameters) != len(names):
        wanted = f"its {names[0]} as one constant" if names else "no constants"
        raise ValueError(f"{function} takes {wanted} after its argument, not {len(parameters)}")
    if function == "approx_quantile" and not 0 <= parameters[0] <= 1:
        raise ValueError(f"the rank of approx_quantile is from 0 to 1, not {parameters[0]}")
    if function == "approx_top_k" and (type(parameters[0]) is not int or not 1 <= parameters[0] <= MAX_TOP_K):
        raise ValueError(f"the k of approx_top_k is a whole number from 1 to {MAX_TOP_K}, not {parameters[0]}")
