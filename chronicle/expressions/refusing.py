"""What is not in the language, refused by its name and with a reason."""

from __future__ import annotations

from sqlglot import exp

from chronicle.errors import did_you_mean
from chronicle.expressions.errors import ExpressionCode, ExpressionError
from chronicle.expressions.parsing import offset_of

FUNCTIONS = (
    "coalesce", "nullif", "abs", "round", "floor", "ceil", "greatest", "least", "lower", "upper", "length", "substr",
    "concat", "extract", "date_trunc",
)  # fmt: skip

_CLOCK = frozenset(
    {
        "now", "today", "current_timestamp", "current_date", "current_time", "current_datetime", "localtimestamp",
        "localtime", "getdate", "sysdate", "systimestamp", "clock_timestamp", "statement_timestamp", "unix_timestamp",
        "transaction_timestamp", "get_current_timestamp", "curdate", "curtime", "utc_timestamp", "utc_date", "utc_time",
        "timeofday", "current_timestamp_ltz", "current_timezone", "age",
    }
)  # fmt: skip
_CHANCE = frozenset(
    {
        "random",
        "rand",
        "randn",
        "uuid",
        "gen_random_uuid",
        "generate_uuid",
        "newid",
        "setseed",
        "uuid_string",
        "randstr",
    }
)

_LANGUAGE = (
    "the language is literals, columns, + - * / %, comparison, and or not, is null, in, between, like, case, cast and "
    + (", ".join(FUNCTIONS))
)
_INSTEAD: dict[type[exp.Expr], str] = {
    exp.DPipe: "concat(a, b)",
    exp.If: "case when ... then ... else ... end",
    exp.ILike: "lower(...) like '...'",
    exp.TryCast: "cast(... as ...)",
    exp.NullSafeEQ: "a = b or (a is null and b is null)",
    exp.NullSafeNEQ: "a <> b or (a is null) <> (b is null)",
    exp.IntDiv: "floor(a / b)",
    exp.AtTimeZone: "date_trunc('day', at, 'America/New_York')",
}


def refuse(node: exp.Expr) -> ExpressionError:
    """The error for a construct that the language does not have."""
    name, offset = name_of(node), offset_of(node)
    if name in _CLOCK:
        why = "Theorem 4.1 (§4): a view grows by its appends alone; what depends on the clock would change without one"
        fix = "compare with chronon, or give the view a period"
        return ExpressionError(ExpressionCode.CLOCK, f"'{name}' depends on the clock", why, fix, offset)
    if name in _CHANCE:
        why = "Theorem 4.1 (§4): a view is a function of its appends; with chance, no recomputation would give it again"
        return ExpressionError(ExpressionCode.CHANCE, f"'{name}' depends on chance", why, "leave it out", offset)
    if isinstance(node, exp.AggFunc):
        what = f"the aggregate '{name}' cannot stand here"
        why = "here an expression is computed from one row, and an aggregate from many"
        return ExpressionError(ExpressionCode.AGGREGATE, what, why, "", offset)
    near = (
        did_you_mean(name, FUNCTIONS)
        if isinstance(node, exp.Func) and "did you" in did_you_mean(name, FUNCTIONS)
        else ""
    )
    what = f"'{name}' is not in the language{near}"
    return ExpressionError(ExpressionCode.NOT_IN_THE_LANGUAGE, what, _LANGUAGE, _INSTEAD.get(type(node), ""), offset)


def name_of(node: exp.Expr) -> str:
    """A function by its name, anything else as it is written, shortened."""
    if isinstance(node, exp.Anonymous):
        return str(node.this).lower()
    if isinstance(node, exp.Func) and not isinstance(node, exp.Connector):
        return node.sql_name().lower()
    written = node.sql()
    return written if len(written) <= 40 else f"{written[:37]}..."
