"""Aggregates by Spark SQL's own functions, where these mean what the contract says, and otherwise by what they need.

A query over groups gives the *parts* of aggregate i as columns `@i`, `@in`, ...; parts become a value in SQL where the
group lies inside the algebra (GROUP BY sn), and exactly, in Python, where it is a row of the view. The approximate
aggregates are computed exactly; `slack` says how far the engine's sketch may be from that (docs/aggregates.md).
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Context, Decimal
from typing import Any

from calendars import format_instant
from chronicle.arrow import spark_type
from chronicle.expressions import Expression, to_spark
from chronicle.expressions.precision import as_decimal
from chronicle.types import INT64, MAX_PRECISION, TIMESTAMP, DataType, Value, decimal
from views.algebra import Aggregate

Keys = Sequence[tuple[str, Expression]]

TOP_K, TOP_K_INSTANTS = "recompute_top_k", "recompute_top_k_instants"
"""SQL functions that write what approx_top_k gives, for groups inside the algebra."""

_EXACT = Context(prec=120)
_DISTINCT_EXACT, _DISTINCT_SLACK = 4096, 0.08
_QUANTILE_EXACT, _QUANTILE_SLACK = 400, 0.014
_TOP_K_EXACT, _TOP_K_SLACK = 768, 0.0035
_DIGITS_OF_A_COUNT = 5
"""Of the tuples of one append: how much wider their sum may be."""


class OverflowedError(Exception):
    """The value does not fit into its type."""


@dataclass(frozen=True, slots=True)
class Between:
    """A sketch's answer may be anything from `low` to `high`."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Counts:
    """The i-th count of approx_top_k may be up to `excess` above the i-th exact one."""

    exact: tuple[int, ...]
    excess: float


Slack = Between | Counts


def grouped(source: str, keys: Keys, aggregates: Sequence[Aggregate]) -> str:
    """GROUPBY(C, [sn, G...], [A...]) of a chronicle, giving a chronicle."""
    group = ["sn", *(f"`@k{at}`" for at in range(len(keys)))]
    kept = ["min(chronon) AS chronon", "min(`@pos`) AS `@pos`"]
    parts = over_groups(with_keys(source, keys), group, kept, aggregates)
    named = [f"`@k{at}` AS `{name}`" for at, (name, _) in enumerate(keys)]
    values = [f"{_value_sql(aggregate, at)} AS `{aggregate.name}`" for at, aggregate in enumerate(aggregates)]
    return f"SELECT {', '.join(('sn', 'chronon', '`@pos`', *named, *values))} FROM ({parts})"


def with_keys(source: str, keys: Keys) -> str:
    """The source with the values that it is grouped by, as `@k0`, `@k1`, ..."""
    values = [f"{to_spark(expression)} AS `@k{at}`" for at, (_, expression) in enumerate(keys)]
    return f"SELECT {', '.join(('*', *values))} FROM ({source})"


def over_groups(source: str, group: Sequence[str], kept: Sequence[str], aggregates: Sequence[Aggregate]) -> str:
    """One row a group: its columns, what else is kept of it, and the parts of every aggregate."""
    columns = [*group, *kept]
    tops: list[tuple[int, str]] = []
    for at, aggregate in enumerate(aggregates):
        if aggregate.function == "approx_top_k":
            tops.append((at, _counted(source, group, aggregate, at)))
        else:
            columns += [f"{sql} AS `@{at}{part}`" for part, sql in _parts(aggregate).items()]
    query = f"SELECT {', '.join(columns)} FROM ({source}) GROUP BY {', '.join(group)}"
    for at, top in tops:
        same = " AND ".join(f"g.{column} <=> t.{column}" for column in group)
        mine = f"t.`@{at}`, t.`@{at}n`, t.`@{at}d`"
        query = f"SELECT g.*, {mine} FROM ({query}) g LEFT JOIN ({top}) t ON {same}"
    return query


def _parts(aggregate: Aggregate) -> dict[str, str]:
    where = "" if aggregate.filter is None else f" FILTER (WHERE {to_spark(aggregate.filter)})"
    if not aggregate.arguments:
        return {"": f"count(*){where}"}
    argument = aggregate.arguments[0]
    value, exact = to_spark(argument), argument.type.is_exact
    match aggregate.function:
        case "sum" | "avg" if exact:
            wide = spark_type(decimal(MAX_PRECISION, argument.type.scale))
            return {"": f"try_sum(CAST({value} AS {wide})){where}", "n": f"count({value}){where}"}
        case "count" | "sum" | "avg" | "min" | "max" | "bool_and" | "bool_or" as function:
            return {"": f"{function}({value}){where}"}
        case "var_pop" | "var_samp" | "stddev_pop" | "stddev_samp" as function:
            return {"": f"{function}(CAST({value} AS DOUBLE)){where}"}
        case "first" | "last" as function:
            pick = "min_by" if function == "first" else "max_by"
            present = f"{value} IS NOT NULL" + (f" AND {to_spark(aggregate.filter)}" if aggregate.filter else "")
            return {"": f"{pick}({value}, struct(chronon, sn, `@pos`)) FILTER (WHERE {present})"}
        case "approx_distinct":
            return {"": f"count(DISTINCT {value}){where}"}
        case "approx_quantile":
            return _quantile(f"CAST({value} AS DOUBLE)", where, float(aggregate.parameters[0]))
        case other:
            raise ValueError(f"recompute knows no aggregate {other}")


def _quantile(value: str, where: str, rank: float) -> dict[str, str]:
    """The least value whose share of values at or below it reaches the rank, and those a little lower and higher."""
    values, count = f"array_sort(collect_list({value}){where})", f"count({value}){where}"

    def at(share: float) -> str:
        return f"try_element_at({values}, CAST(greatest(ceil({share!r}D * {count}), 1) AS INT))"

    low, high = max(rank - _QUANTILE_SLACK, 0.0), min(rank + _QUANTILE_SLACK, 1.0)
    return {"": at(rank), "n": count, "l": at(low), "h": at(high)}


def _counted(source: str, group: Sequence[str], aggregate: Aggregate, at: int) -> str:
    """The most frequent values of each group with their counts, negative so that one order serves for both."""
    argument = aggregate.arguments[0]
    value = to_spark(argument)
    shown = f"unix_micros({value})" if argument.type == TIMESTAMP else value
    condition = f"{value} IS NOT NULL" + (f" AND {to_spark(aggregate.filter)}" if aggregate.filter else "")
    by = ", ".join(group)
    each = (
        f"SELECT {by}, `@v`, count(*) AS `@n` FROM (SELECT {by}, {shown} AS `@v` FROM ({source}) WHERE {condition}) "
        f"GROUP BY {by}, `@v`"
    )
    most = f"slice(array_sort(collect_list(struct(-`@n` AS n, `@v` AS v))), 1, {aggregate.parameters[0]})"
    return f"SELECT {by}, {most} AS `@{at}`, sum(`@n`) AS `@{at}n`, count(*) AS `@{at}d` FROM ({each}) GROUP BY {by}"


def _value_sql(aggregate: Aggregate, at: int) -> str:
    """The value in SQL, for the few tuples of one append; an overflow is an error there, as in the engine."""
    part = f"`@{at}`"
    if not aggregate.arguments:
        return part
    argument = aggregate.arguments[0].type
    match aggregate.function:
        case "sum" if argument.is_exact:
            total = f"CASE WHEN {part} IS NULL AND `@{at}n` > 0 THEN raise_error('a sum left its type') ELSE {part} END"
            return f"CAST({total} AS {spark_type(aggregate.type)})"
        case "avg" if argument.is_exact:
            return f"CAST({_average_sql(part, f'`@{at}n`', as_decimal(argument))} AS {spark_type(aggregate.type)})"
        case "approx_top_k":
            return f"{TOP_K_INSTANTS if argument == TIMESTAMP else TOP_K}({part})"
        case _:
            return part


def _average_sql(total: str, count: str, argument: DataType) -> str:
    """Spark's scale is the dividend's plus the divisor's precision, which is made wide enough to round only once."""
    precision = min(MAX_PRECISION, argument.precision + _DIGITS_OF_A_COUNT)
    divisor = max(MAX_PRECISION - precision - 1, _DIGITS_OF_A_COUNT)
    wide = spark_type(decimal(precision, argument.scale))
    return f"(CAST({total} AS {wide}) / CAST(nullif({count}, 0) AS DECIMAL({divisor},0)))"


def finished(aggregate: Aggregate, at: int, row: Mapping[str, Any]) -> tuple[Value, Slack | None]:
    """The value of an aggregate of a row of the view, from its parts."""
    part: Any = row[f"@{at}"]
    exact = bool(aggregate.arguments) and aggregate.arguments[0].type.is_exact
    match aggregate.function:
        case "sum" | "avg" if exact:
            return _exactly(aggregate, part, row[f"@{at}n"]), None
        case "approx_distinct" if part > _DISTINCT_EXACT:
            return part, Between(part * (1 - _DISTINCT_SLACK), part * (1 + _DISTINCT_SLACK))
        case "approx_quantile" if row[f"@{at}n"] > _QUANTILE_EXACT:
            return part, Between(row[f"@{at}l"], row[f"@{at}h"])
        case "approx_top_k":
            found = [(-item["n"], item["v"]) for item in part or ()]
            text = top_k_text(found, instants=aggregate.arguments[0].type == TIMESTAMP)
            if (row[f"@{at}d"] or 0) <= _TOP_K_EXACT:
                return text, None
            return text, Counts(tuple(n for n, _ in found), _TOP_K_SLACK * row[f"@{at}n"])
        case "sum" | "avg" if part is not None and not math.isfinite(part):
            raise OverflowedError(f"{aggregate.name} is {part}")
        case _:
            return part, None


def _exactly(aggregate: Aggregate, total: Decimal | None, count: int) -> Value:
    if count == 0:
        return None
    if total is None:
        raise OverflowedError(f"{aggregate.name} has more than {MAX_PRECISION} digits")
    if aggregate.type == INT64:
        if not -(1 << 63) <= total < 1 << 63:
            raise OverflowedError(f"{aggregate.name} is no int64")
        return int(total)
    scale = aggregate.type.scale
    unscaled = int(total.scaleb(total_scale := -int(total.as_tuple().exponent), _EXACT))
    numerator, denominator = abs(unscaled) * 10**scale, 10**total_scale * (count if aggregate.function == "avg" else 1)
    rounded = (2 * numerator + denominator) // (2 * denominator)
    if rounded >= 10**aggregate.type.precision:
        raise OverflowedError(f"{aggregate.name} is no {aggregate.type}")
    return Decimal(rounded if unscaled >= 0 else -rounded).scaleb(-scale, _EXACT)


def top_k_text(counted: Sequence[tuple[int, Any]], *, instants: bool) -> str:
    """JSON text, as the contract shows values: decimals, dates and instants are strings."""

    def shown(value: Any) -> Any:
        if instants:
            return format_instant(value)
        return str(value) if isinstance(value, Decimal | date) else value

    return json.dumps([[shown(value), count] for count, value in counted], ensure_ascii=False)


def register_functions(session: Any) -> None:
    def text(items: Sequence[Mapping[str, Any]] | None, instants: bool) -> str:
        return top_k_text([(-item["n"], item["v"]) for item in items or ()], instants=instants)

    session.udf.register(TOP_K, lambda items: text(items, False), "string")
    session.udf.register(TOP_K_INSTANTS, lambda items: text(items, True), "string")
