"""The monoid of each aggregate: the one place that maps names to families."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from chronicle.types import DataType, Kind
from views.aggregates.averages import DoubleAverage, ExactAverage
from views.aggregates.counts import Count
from views.aggregates.distinct import ApproxDistinct
from views.aggregates.ends import End
from views.aggregates.extremes import Extreme
from views.aggregates.logic import Logic
from views.aggregates.moments import Moments
from views.aggregates.monoid import Monoid
from views.aggregates.quantile import ApproxQuantile
from views.aggregates.signatures import Number, aggregate_type
from views.aggregates.sums import DoubleSum, ExactSum
from views.aggregates.top_k import ApproxTopK

if TYPE_CHECKING:
    from views.algebra import Aggregate


def monoid_of(aggregate: Aggregate) -> Monoid:
    argument = aggregate.arguments[0].type if aggregate.arguments else None
    return monoid(aggregate.function, argument, aggregate.parameters)


def monoid(function: str, argument: DataType | None, parameters: tuple[Number, ...] = ()) -> Monoid:
    """The monoid of `function` over an argument of this type; ValueError as from `aggregate_type`."""
    result, _ = aggregate_type(function, [argument] if argument else [], parameters)
    if argument is None or function == "count":
        return Count()
    is_double = argument.kind is Kind.DOUBLE
    match function:
        case "sum":
            return DoubleSum() if is_double else ExactSum(argument, result)
        case "avg":
            return DoubleAverage() if is_double else ExactAverage(argument, result)
        case "min" | "max":
            return Extreme(function, argument)
        case "first" | "last":
            return End(function, argument)
        case "bool_and" | "bool_or":
            return Logic(function)
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp":
            return Moments(function)
        case "approx_distinct":
            return ApproxDistinct(argument)
        case "approx_quantile":
            return ApproxQuantile(argument, float(parameters[0]))
        case "approx_top_k":
            return ApproxTopK(argument, cast("int", parameters[0]))
        case _:
            raise ValueError(f"{function} has a type and no monoid")
