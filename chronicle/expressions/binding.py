"""Binding: sqlglot's untyped syntax tree to our typed nodes, or an ExpressionError that says what has no meaning.

One function for each construct of the language; functions by name are in calls.py. Anything else is refused by name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from sqlglot import exp

from chronicle.expressions import calls
from chronicle.expressions.arithmetic import Arithmetic, ArithmeticOperator, Negate
from chronicle.expressions.coercion import cast, castable, coerce, is_null, number, to_decimal, unify
from chronicle.expressions.conditions import And, Comparison, ComparisonOperator, In, IsNull, Like, Not, Or
from chronicle.expressions.errors import EvaluationError, ExpressionCode, ExpressionError
from chronicle.expressions.folding import fold
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Case, Expression, children
from chronicle.expressions.parsing import offset_of
from chronicle.expressions.refusing import refuse
from chronicle.expressions.scope import Name, Scope
from chronicle.expressions.text import like_tokens
from chronicle.expressions.typing import type_of
from chronicle.types import BOOL, DOUBLE, INT64, STRING, DataType, Kind

MAX_NODES = 10_000
"""Of the typed tree. `between`, `nullif` and `case x when` repeat an operand, so nesting them multiplies it."""

ARITHMETIC: dict[type[exp.Expr], ArithmeticOperator] = {
    exp.Add: ArithmeticOperator.ADD,
    exp.Sub: ArithmeticOperator.SUBTRACT,
    exp.Mul: ArithmeticOperator.MULTIPLY,
    exp.Div: ArithmeticOperator.DIVIDE,
    exp.Mod: ArithmeticOperator.MODULO,
}
COMPARISONS: dict[type[exp.Expr], ComparisonOperator] = {
    exp.EQ: ComparisonOperator.EQ,
    exp.NEQ: ComparisonOperator.NE,
    exp.LT: ComparisonOperator.LT,
    exp.LTE: ComparisonOperator.LE,
    exp.GT: ComparisonOperator.GT,
    exp.GTE: ComparisonOperator.GE,
}


def bind(node: exp.Expr, scope: Scope) -> Expression:
    """The typed expression that `node` means over the columns of `scope`."""
    return Binder(scope).bind(node)


class Binder:
    """Carries the scope through the tree."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def bind(self, node: exp.Expr) -> Expression:
        constructor = _CONSTRUCTS.get(type(node))
        if constructor is None:
            raise refuse(node)
        try:
            return fold(constructor(self, node), node)
        except ValueError as error:
            code = ExpressionCode.TOO_MANY_DIGITS if "digits" in str(error) else ExpressionCode.WRONG_TYPE
            raise ExpressionError(code, str(error), offset=offset_of(node)) from None

    def condition(self, node: exp.Expr, what: str) -> Expression:
        return coerce(self.bind(node), BOOL, f"{what} takes a", node)


def _paren(binder: Binder, node: exp.Expr) -> Expression:
    return binder.bind(node.this)


def _column(binder: Binder, node: exp.Expr) -> Expression:
    identifier, table = node.this, node.args.get("table")
    if not isinstance(identifier, exp.Identifier) or node.args.get("db"):
        raise refuse(node)
    name = Name(identifier.name, table.name if table else None, bool(identifier.quoted))
    try:
        column = binder.scope.resolve(name)
    except ExpressionError as error:
        error.offset = offset_of(node)
        raise
    return ColumnRef(column.id, column.type, column.nullable)


def _literal(binder: Binder, node: exp.Expr) -> Expression:
    return Literal(node.name, STRING) if node.is_string else _number(node, node.name)


def _number(node: exp.Expr, text: str) -> Literal:
    try:
        return number(text)
    except (ValueError, ArithmeticError):
        why = "a number has at most 38 digits"
        what = f"'{text[:50]}' is not a number of this language"
        raise ExpressionError(ExpressionCode.WRONG_CONSTANT, what, why, "", offset_of(node)) from None


def _boolean(binder: Binder, node: exp.Expr) -> Expression:
    return Literal(bool(node.this), BOOL)


def _null(binder: Binder, node: exp.Expr) -> Expression:
    return Literal(None, BOOL)


def _negation(binder: Binder, node: exp.Expr) -> Expression:
    """-9223372036854775808 is an int64, though the number after its sign is not."""
    inner = node.this
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return _number(inner, f"-{inner.name}")
    return Negate(_numeric(binder.bind(inner), "-", inner))


def _numeric(expression: Expression, what: str, at: exp.Expr) -> Expression:
    if is_null(expression):
        return expression if expression.type.is_numeric else Literal(None, INT64)
    if expression.type.is_numeric:
        return expression
    why = "arithmetic is of int64, double and decimal(p,s)"
    what = f"{what} takes numbers, not {expression.type}"
    raise ExpressionError(ExpressionCode.WRONG_TYPE, what, why, "", offset_of(at))


def _arithmetic(binder: Binder, node: exp.Expr) -> Expression:
    operator = ARITHMETIC[type(node)]
    left = _numeric(binder.bind(node.this), operator, node.this)
    right = _numeric(binder.bind(node.expression), operator, node.expression)
    kinds = {expression.type.kind for expression in (left, right) if not is_null(expression)}
    if not kinds:
        return Literal(None, INT64)
    if Kind.DOUBLE in kinds:
        left, right = (cast(operand, DOUBLE, implicit=True) for operand in (left, right))
    elif kinds != {Kind.INT64}:
        left, right = _aligned(operator, to_decimal(left), to_decimal(right))
    else:
        left, right = (cast(operand, INT64, implicit=True) for operand in (left, right))
    return Arithmetic(operator, left, right)


def _aligned(operator: ArithmeticOperator, left: Expression, right: Expression) -> tuple[Expression, Expression]:
    """Where a sum's digits reach 38, its operands are brought to its scale first, and must fit there."""
    if operator in (ArithmeticOperator.MULTIPLY, ArithmeticOperator.DIVIDE):
        return left, right
    before = max(operand.type.precision - operand.type.scale for operand in (left, right))
    scale = max(left.type.scale, right.type.scale)
    if before + scale < 38:
        return left, right
    wide = DataType(Kind.DECIMAL, 38, scale)
    return cast(left, wide, implicit=True), cast(right, wide, implicit=True)


def _comparison(binder: Binder, node: exp.Expr) -> Expression:
    return compare(COMPARISONS[type(node)], binder.bind(node.this), binder.bind(node.expression), node)


def compare(operator: ComparisonOperator, left: Expression, right: Expression, at: exp.Expr) -> Expression:
    left, right = unify((left, right), f"{operator} cannot compare", at)
    if left.type != right.type:
        return Literal(None, BOOL)
    return fold(Comparison(operator, left, right), at)


def _junction(binder: Binder, node: exp.Expr) -> Expression:
    kind: type[And | Or] = And if isinstance(node, exp.And) else Or
    word = "'and'" if kind is And else "'or'"
    operands: list[Expression] = []
    for part in (node.this, node.expression):
        bound = binder.condition(part, word)
        operands.extend(bound.operands if isinstance(bound, kind) else (bound,))
    return kind(tuple(operands))


def _not(binder: Binder, node: exp.Expr) -> Expression:
    return Not(binder.condition(node.this, "'not'"))


def _is(binder: Binder, node: exp.Expr) -> Expression:
    if not isinstance(node.expression, exp.Null):
        raise refuse(node)
    return IsNull(binder.bind(node.this))


def _in(binder: Binder, node: exp.Expr) -> Expression:
    if not node.expressions or any(node.args.get(other) for other in ("query", "unnest", "field")):
        raise refuse(node)
    bound = [binder.bind(part) for part in (node.this, *node.expressions)]
    operand, *items = unify(bound, "'in' cannot compare", node)
    if is_null(operand):
        return Literal(None, BOOL)
    constants = tuple(item for item in items if isinstance(item, Literal))
    if len(constants) == len(items):
        return In(operand, constants)
    equal = tuple(compare(ComparisonOperator.EQ, operand, item, node) for item in items)
    return bounded(equal[0] if len(equal) == 1 else Or(equal), node)


def _between(binder: Binder, node: exp.Expr) -> Expression:
    if node.args.get("symmetric"):
        raise refuse(node)
    operand = binder.bind(node.this)
    low, high = binder.bind(node.args["low"]), binder.bind(node.args["high"])
    above = compare(ComparisonOperator.GE, operand, low, node)
    below = compare(ComparisonOperator.LE, operand, high, node)
    return bounded(And((above, below)), node)


def _like(binder: Binder, node: exp.Expr) -> Expression:
    escape: str | None = None
    like = node
    if isinstance(node, exp.Escape):
        if not isinstance(node.this, exp.Like):
            raise refuse(node.this)
        like, escape = node.this, _text_constant(node.expression, "the escape of 'like'")
        if len(escape) != 1:
            what = "the escape of 'like' is one character"
            raise ExpressionError(ExpressionCode.WRONG_CONSTANT, what, offset=offset_of(node.expression))
    operand = coerce(binder.bind(like.this), STRING, "'like' takes a", like.this)
    pattern = _text_constant(like.expression, "the pattern of 'like'")
    like_tokens(pattern, escape)
    found = fold(Like(operand, pattern, escape), node)
    return Not(found) if like.args.get("negate") else found


def _text_constant(node: exp.Expr, what: str) -> str:
    if isinstance(node, exp.Literal) and node.is_string:
        return node.name
    why = "it is compiled once, so it cannot differ from row to row"
    raise ExpressionError(ExpressionCode.WRONG_ARGUMENTS, f"{what} is a constant text", why, "", offset_of(node))


def _case(binder: Binder, node: exp.Expr) -> Expression:
    subject = None if node.this is None else binder.bind(node.this)
    conditions = [_when(binder, subject, branch.this) for branch in node.args["ifs"]]
    default = node.args.get("default")
    values = [binder.bind(branch.args["true"]) for branch in node.args["ifs"]]
    values.append(Literal(None, BOOL) if default is None else binder.bind(default))
    *branches, otherwise = unify(values, "the branches of 'case' are", node)
    return bounded(Case(tuple(zip(conditions, branches, strict=True)), otherwise), node)


def _when(binder: Binder, subject: Expression | None, node: exp.Expr) -> Expression:
    if subject is None:
        return binder.condition(node, "'when'")
    return compare(ComparisonOperator.EQ, subject, binder.bind(node), node)


def _nullif(binder: Binder, node: exp.Expr) -> Expression:
    operand, other = binder.bind(node.this), binder.bind(node.expression)
    equal = compare(ComparisonOperator.EQ, operand, other, node)
    return bounded(Case(((equal, Literal(None, operand.type)),), operand), node)


def _cast(binder: Binder, node: exp.Expr) -> Expression:
    if node.args.get("format") or node.args.get("default"):
        raise refuse(node)
    operand, target = binder.bind(node.this), type_of(node.args["to"], offset_of(node))
    if not is_null(operand) and not castable(operand.type, target):
        what = f"a {operand.type} cannot be cast to {target}"
        fix = _THROUGH_DECIMAL if operand.type == DOUBLE and target == STRING else ""
        raise ExpressionError(ExpressionCode.WRONG_TYPE, what, "", fix, offset_of(node))
    try:
        return cast(operand, target)
    except EvaluationError as error:
        code = ExpressionCode.WRONG_CONSTANT
        raise ExpressionError(code, error.message, "", error.hint, offset_of(node)) from None


_THROUGH_DECIMAL = "cast(cast(... as decimal(18,6)) as string): a double has no one text"


def bounded(expression: Expression, node: exp.Expr) -> Expression:
    if sum(1 for _ in islice(_nodes(expression), MAX_NODES + 1)) > MAX_NODES:
        what = "the expression is too large"
        why = "'between', 'nullif', 'in' and 'case x when' use an operand several times; nested, these multiply"
        raise ExpressionError(ExpressionCode.TOO_LARGE, what, why, "say it in several columns", offset_of(node))
    return expression


def _nodes(expression: Expression) -> Iterator[Expression]:
    stack = [expression]
    while stack:
        node = stack.pop()
        yield node
        stack.extend(children(node))


_CONSTRUCTS: dict[type[exp.Expr], Callable[[Binder, exp.Expr], Expression]] = {
    exp.Paren: _paren,
    exp.Column: _column,
    exp.Literal: _literal,
    exp.Boolean: _boolean,
    exp.Null: _null,
    exp.Neg: _negation,
    **dict.fromkeys(ARITHMETIC, _arithmetic),
    **dict.fromkeys(COMPARISONS, _comparison),
    exp.And: _junction,
    exp.Or: _junction,
    exp.Not: _not,
    exp.Is: _is,
    exp.In: _in,
    exp.Between: _between,
    exp.Like: _like,
    exp.Escape: _like,
    exp.Case: _case,
    exp.Nullif: _nullif,
    exp.Cast: _cast,
    **calls.CALLS,
}
