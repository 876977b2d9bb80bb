"""Aggregate calls in a query: which of them decompose (Preliminaries of chronicle-data-model), and which instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from sqlglot import exp

from chronicle.errors import nearest
from chronicle.expressions import Expression, Scope
from views.aggregates import AGGREGATES, PARAMETERS, aggregate_type
from views.algebra import Aggregate
from views.parse.binding import bound, bound_condition, is_refused
from views.parse.codes import Code
from views.parse.edits import dropping
from views.parse.findings import Draft, Report, spot_of

CALLED = "called"
"""Where `statement.mark` keeps the name of a function as it was written."""

_SYNONYMS = {
    "variance": "var_samp",
    "var": "var_samp",
    "variance_samp": "var_samp",
    "variance_pop": "var_pop",
    "stddev": "stddev_samp",
    "stdev": "stddev_samp",
    "std": "stddev_samp",
    "mean": "avg",
    "every": "bool_and",
    "logical_and": "bool_and",
    "any": "bool_or",
    "some": "bool_or",
    "logical_or": "bool_or",
    "approx_count_distinct": "approx_distinct",
    "hll": "approx_distinct",
    "approx_percentile": "approx_quantile",
    "percentile_approx": "approx_quantile",
    "first_value": "first",
    "last_value": "last",
    "latest": "last",
    "earliest": "first",
    "any_value": "last",
    "arbitrary": "last",
}
_ORDER_STATISTICS = {
    "median": 0.5,
    "quantile": 0.5,
    "quantile_cont": 0.5,
    "quantile_disc": 0.5,
    "percentile": 0.5,
    "percentile_cont": 0.5,
    "percentile_disc": 0.5,
    "mad": 0.5,
}
_COLLECTORS = frozenset(
    [
        "array_agg",
        "list",
        "collect_list",
        "collect_set",
        "array_concat_agg",
        "string_agg",
        "group_concat",
        "groupconcat",
        "listagg",
        "json_agg",
        "jsonb_agg",
        "json_arrayagg",
        "json_objectagg",
        "json_object_agg",
        "jsonb_object_agg",
        "map_agg",
        "object_agg",
        "histogram",
        "xmlagg",
        "array_unique_agg",
        "array_union_agg",
    ]
)
_NOT_DECOMPOSED = {
    "mode": "approx_top_k",
    "arg_max": "last",
    "arg_min": "first",
    "argmax": "last",
    "argmin": "first",
    "max_by": "last",
    "min_by": "first",
    "product": "sum",
    "entropy": "approx_distinct",
    "kurtosis": "var_samp",
    "skewness": "var_samp",
    "corr": "var_samp",
    "covar_pop": "var_pop",
    "covar_samp": "var_samp",
    "regr_slope": "var_samp",
    "count_if": "count",
    "countif": "count",
    "sum_if": "sum",
    "bit_and": "max",
    "bit_or": "max",
    "bit_xor": "max",
    "nth_value": "first",
}
_NAMES = frozenset({*AGGREGATES, *_SYNONYMS, *_ORDER_STATISTICS, *_COLLECTORS, *_NOT_DECOMPOSED})
_SAME_OF_A_SET = frozenset({"min", "max", "bool_and", "bool_or", "approx_distinct"})
_WRAPPERS = (exp.Filter, exp.WithinGroup, exp.IgnoreNulls, exp.RespectNulls)


def called(node: exp.Expr) -> str:
    """The function's name as it was written, in small letters."""
    if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc):
        return str(node.name).casefold()
    written = node.meta.get(CALLED)
    if written is not None and (written in _NAMES or not isinstance(node, exp.AggFunc)):
        return str(written)
    return _parsed_name(node)


def _parsed_name(node: exp.Expr) -> str:
    names = [str(name).casefold() for name in type(node).sql_names()] if isinstance(node, exp.Func) else []
    return next((name for name in names if name in AGGREGATES), names[0] if names else node.key)


def is_call(node: exp.Expr) -> bool:
    """Whether this node itself is an aggregate, with its FILTER or WITHIN GROUP."""
    if isinstance(node, _WRAPPERS):
        return is_call(node.this)
    if isinstance(node, exp.AggFunc):
        return True
    return isinstance(node, exp.Func | exp.Anonymous) and called(node) in _NAMES


def calls_in(node: exp.Expr) -> list[exp.Expr]:
    """The outermost aggregate calls inside an expression."""
    if is_call(node):
        return [node]
    if isinstance(node, exp.Query):  # another query's business, and refused where it stands in an expression
        return []
    return [call for child in node.iter_expressions() for call in calls_in(child)]


def has_call(node: exp.Expr) -> bool:
    return bool(calls_in(node))


def aggregate(node: exp.Expr, name: str, scope: Scope, report: Report) -> Aggregate | None:
    """The aggregate that a call means; None after a finding."""
    if report.findings and is_refused(node):
        return None
    call, condition = _unwrapped(node)
    function = called(call)
    arguments = _arguments(call)
    if _inadmissible(node, call, function, arguments, report):
        return None
    columns, constants = _split(function, [_without_distinct(argument) for argument in arguments])
    parameters = tuple(value for value in map(_constant, constants) if value is not None)
    values = [bound(column, scope, report) for column in columns]
    filtered = bound_condition(condition, scope, report) if condition is not None else None
    if any(value is None for value in values) or (condition is not None and filtered is None):
        return None
    given = cast("list[Expression]", values)
    may_be_empty = filtered is not None or any(value.nullable for value in given)
    if len(parameters) < len(constants):
        report.add(
            Code.AGGREGATE_TYPE,
            f"the {PARAMETERS[function][0]} of {function} is a constant",
            spot_of(node),
            dropping(node),
        )
        return None
    try:
        type_, nullable = aggregate_type(
            function, [value.type for value in given], parameters, may_be_empty=may_be_empty
        )
    except ValueError as error:
        report.add(Code.AGGREGATE_TYPE, str(error), spot_of(node), dropping(node))
        return None
    return Aggregate(name, function, tuple(given), type_, nullable, filtered, parameters)


def _inadmissible(node: exp.Expr, call: exp.Expr, function: str, arguments: list[exp.Expr], report: Report) -> bool:
    inner = next((nested for argument in arguments for nested in calls_in(argument)), None)
    distinct = any(isinstance(argument, exp.Distinct) for argument in arguments)
    order = node.find(exp.Order)
    if inner is not None:
        report.add(Code.NESTED_AGGREGATE, f"'{called(inner)}' inside '{function}'", spot_of(inner), dropping(node))
    elif function in _ORDER_STATISTICS:
        what = f"'{function}' does not decompose: the middle of all values cannot be told from two middles"
        rank = next((value for value in map(_constant, arguments) if value is not None), _ORDER_STATISTICS[function])
        subject = order.expressions[0].this if order and order.expressions else next(iter(arguments), None)
        report.add(Code.ORDER_STATISTIC, what, spot_of(call), _instead(node, "approx_quantile", subject, rank))
    elif function in _COLLECTORS:
        report.add(
            Code.COLLECTS_ALL, f"'{function}' keeps every value", spot_of(call), _instead(node, "last", *arguments[:1])
        )
    elif function == "mode":
        what = "'mode' does not decompose: the most frequent value needs the counts of all"
        subject = order.expressions[0].this if order and order.expressions else next(iter(arguments), None)
        report.add(Code.ORDER_STATISTIC, what, spot_of(call), _instead(node, "approx_top_k", subject, 1))
    elif distinct and function not in _SAME_OF_A_SET:
        what = f"'{function}(DISTINCT ...)' needs every value seen so far"
        subject = next((_without_distinct(argument) for argument in arguments), None)
        report.add(Code.EXACT_DISTINCT, what, spot_of(call), _instead(node, "approx_distinct", subject))
    elif order is not None or isinstance(node, exp.WithinGroup):
        what = f"ORDER BY inside '{function}'"
        report.add(Code.ORDERED_AGGREGATE, what, spot_of(call), _instead(node, "last", *arguments[:1]))
    elif function not in AGGREGATES:
        better = _SYNONYMS.get(function) or _NOT_DECOMPOSED.get(function) or nearest(function, AGGREGATES) or "count"
        what = f"there is no aggregate '{function}' here; the nearest is '{better}'"
        extra = (1,) if better == "approx_top_k" else ()
        report.add(Code.UNKNOWN_AGGREGATE, what, spot_of(call), _instead(node, better, *arguments[:1], *extra))
    elif isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
        report.add(
            Code.UNSUPPORTED, f"IGNORE or RESPECT NULLS of '{function}'", spot_of(call), lambda draft: _unwrap(node)
        )
    else:
        return False
    return True


def _unwrap(node: exp.Expr) -> None:
    node.replace(node.this)


def _instead(node: exp.Expr, function: str, *arguments: exp.Expr | float | None) -> Callable[[Draft], None]:
    """Replaces the call by another of the contract over the same value."""
    plain = [_without_ordering(a) if isinstance(a, exp.Expr) else a for a in arguments if a is not None]

    def repair(draft: Draft) -> None:
        values = [value.copy() if isinstance(value, exp.Expr) else exp.Literal.number(value) for value in plain]
        call: exp.Expr = exp.Anonymous(this=function, expressions=values or [exp.Star()])
        if isinstance(node, exp.Filter):
            call = exp.Filter(this=call, expression=node.expression.copy())
        alias = None if isinstance(node.parent, exp.Alias) else node.parent
        node.replace(exp.alias_(call, function) if isinstance(alias, exp.Select) else call)

    return repair


def _without_ordering(node: exp.Expr) -> exp.Expr:
    inner = _without_distinct(node)
    return _without_ordering(inner.this) if isinstance(inner, exp.Order | exp.Ordered | exp.Limit) else inner


def _without_distinct(node: exp.Expr) -> exp.Expr:
    return node.expressions[0] if isinstance(node, exp.Distinct) and len(node.expressions) == 1 else node


def _unwrapped(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    """The bare call, and the condition of its FILTER."""
    condition = None
    while isinstance(node, _WRAPPERS):
        if isinstance(node, exp.Filter):
            condition = node.expression.this
        node = node.this
    return node, condition


def _arguments(call: exp.Expr) -> list[exp.Expr]:
    """In the order in which they are written; count(*) has none."""
    found: list[exp.Expr] = []
    for key, value in call.args.items():
        if isinstance(call, exp.Anonymous) and key == "this":
            continue
        found.extend(part for part in (value if isinstance(value, list) else [value]) if isinstance(part, exp.Expr))
    return [] if len(found) == 1 and isinstance(found[0], exp.Star) and called(call) == "count" else found


def _split(function: str, arguments: list[exp.Expr]) -> tuple[list[exp.Expr], list[exp.Expr]]:
    count = len(PARAMETERS.get(function, ()))
    cut = max(len(arguments) - count, min(1, len(arguments))) if count else len(arguments)
    return arguments[:cut], arguments[cut:]


def _constant(node: exp.Expr) -> int | float | None:
    sign = 1
    inner = node.unnest()
    if isinstance(inner, exp.Neg):
        sign, inner = -1, inner.this
    if not isinstance(inner, exp.Literal) or inner.is_string:
        return None
    text = str(inner.this)
    try:
        return sign * int(text)
    except ValueError:
        pass
    try:
        return sign * float(text)
    except ValueError:
        return None
