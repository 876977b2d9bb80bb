"""Expressions as DuckDB SQL over Arrow columns, with the meaning that evaluator.py gives them.

DuckDB's own `/` of exact numbers is a double, and its narrow decimals overflow early, so quotients go through 128-bit
whole numbers and products through wide decimals. Instants are TIMESTAMPTZ; the session's time zone is never used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal

from chronicle.arrow import duckdb_type
from chronicle.expressions.arithmetic import Arithmetic, ArithmeticOperator, Round, RoundingMode
from chronicle.expressions.casting import TEXTS
from chronicle.expressions.conditions import Like
from chronicle.expressions.failing import can_fail, dividend_may_overflow, divisor_may_overflow
from chronicle.expressions.functions import CLOCK_UNITS, ChangeCase, DateTrunc, Extract, Substr
from chronicle.expressions.instants import repeated_midnights
from chronicle.expressions.leaves import Literal
from chronicle.expressions.nodes import Cast, Expression
from chronicle.expressions.precision import QUOTIENT_SCALE, as_decimal, common_type, division_scales
from chronicle.expressions.sql import Columns, SqlWriter
from chronicle.types import DATE, DOUBLE, INT64, MAX_PRECISION, STRING, TIMESTAMP, DataType, Kind

_NARROW = 18
"""The digits of decimals that DuckDB keeps in 64 bits; arithmetic on them stays there and overflows early."""

_LAST_POSITION = 2**31 - 1
"""Longer than any text; DuckDB refuses larger positions."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_duckdb(expression: Expression, column: Columns = quoted) -> str:
    """The expression as DuckDB SQL; `column` writes a column's name."""
    return DuckDbWriter(column).write(expression)


def text_literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


class DuckDbWriter(SqlWriter):
    def named(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        name = self.fresh_name()
        fields = [f"{name}.f{position}" for position in range(len(texts))]
        packed = ", ".join(f"f{position} := {text}" for position, text in enumerate(texts))
        return f"list_transform([struct_pack({packed})], lambda {name}: {body(*fields)})[1]"

    def strict(self, operands: Sequence[Expression], body: Callable[..., str]) -> str:
        """DuckDB skips an operand after one that is computed and null for all rows of a vector."""
        computed = any(operand.nullable and not self.repeatable(operand) for operand in operands[:-1])
        texts = [self.write(operand) for operand in operands]
        return self.named(texts, body) if computed and any(map(can_fail, operands[1:])) else body(*texts)

    def tested(self, operand: Expression, text: str) -> str:
        """DuckDB solves i + 1 > 0 for i and forgets that i + 1 may overflow; it does not look into `greatest`."""
        return f"greatest({text})" if operand.type == INT64 and can_fail(operand) else text

    def of_rank(self, rank: str) -> str:
        return f"[false, NULL, true][1 + {rank}]"

    def literal(self, literal: Literal) -> str:
        value, name = literal.value, duckdb_type(literal.type)
        if value is None:
            return f"NULL::{name}"
        match literal.type.kind:
            case Kind.STRING:
                return text_literal(str(value))
            case Kind.BOOL:
                return "true" if value else "false"
            case Kind.TIMESTAMP:
                return f"make_timestamptz({value})"
            case Kind.INT64:
                return f"{value}::{name}" if int(str(value)) >= 0 else f"({value})::{name}"
            case Kind.DECIMAL:
                return f"'{value:f}'::{name}"
            case Kind.DOUBLE | Kind.DATE:
                return f"'{value}'::{name}"

    def arithmetic(self, expression: Arithmetic) -> str:
        operator, left, right = expression.operator, expression.left, expression.right
        if operator is ArithmeticOperator.DIVIDE and left.type != DOUBLE:
            return self._quotient(expression)
        if operator in (ArithmeticOperator.DIVIDE, ArithmeticOperator.MODULO):
            return self.let((left, right), lambda a, b: self._unless_zero(expression, a, b))
        if expression.type.kind is not Kind.DECIMAL:
            return self.strict((left, right), lambda a, b: f"({a} {operator} {b})")
        return self.strict((left, right), lambda a, b: _as(f"{self._wide(left, a)} {operator} {b}", expression.type))

    def _wide(self, operand: Expression, text: str) -> str:
        type_ = operand.type
        return text if type_.precision > _NARROW else _as(text, DataType(Kind.DECIMAL, _NARROW + 1, type_.scale))

    def _unless_zero(self, expression: Arithmetic, a: str, b: str) -> str:
        left, right = expression.left.type, expression.right.type
        divisor = f"(CASE WHEN {b} = 0 THEN NULL ELSE {b} END)"
        if left.kind is not Kind.DECIMAL:
            return f"({a} {expression.operator} {divisor})"
        # DuckDB takes remainders of decimals of different scales as doubles.
        common = common_type(left, right) or left
        return _as(f"{_as(a, common)} {expression.operator} {_as(divisor, common)}", expression.type)

    def _quotient(self, expression: Arithmetic) -> str:
        """Whole numbers n and d, then (n ± |d|/2) // d, which truncates, so that halves go away from zero."""
        left, right = expression.left, expression.right
        above, below = division_scales(left.type, right.type)

        def rounded(n: str, d: str) -> str:
            half = f"CASE WHEN {n} < 0 THEN -(abs({d}) // 2) ELSE abs({d}) // 2 END"
            unit = f"'{Decimal(1).scaleb(-QUOTIENT_SCALE):f}'::DECIMAL({QUOTIENT_SCALE},{QUOTIENT_SCALE})"
            whole = f"CAST(({n} + {half}) // {d} AS DECIMAL({MAX_PRECISION},0))"
            return f"CASE WHEN {d} <> 0 THEN {_as(f'{whole} * {unit}', expression.type)} END"

        def divided(a: str, b: str) -> str:
            return self.named([_whole(a, left.type, above), _whole(b, right.type, below)], rounded)

        if not (dividend_may_overflow(left.type, right.type) or divisor_may_overflow(left.type, right.type)):
            return divided(self.write(left), self.write(right))
        # A null operand or a divisor of zero gives null before either is brought to a whole number that may not fit.
        return self.let(
            (left, right), lambda a, b: f"(CASE WHEN {a} IS NOT NULL AND {b} <> 0 THEN {divided(a, b)} END)"
        )

    def rounding(self, expression: Round) -> str:
        operand, digits, type_ = expression.operand, expression.digits, expression.type
        text = self.write(operand)
        if operand.type == INT64:
            return text if digits >= 0 else _as(f"round(CAST({text} AS DECIMAL(19,0)), {digits})", INT64)
        if operand.type == DOUBLE:
            return f"{expression.mode}({text})" if digits == 0 else self._round_double(operand, digits)
        if expression.mode is not RoundingMode.ROUND:
            return _as(f"{expression.mode}({text})", type_)
        return _as(text if digits >= 0 else f"round({text}, {digits})", type_)

    def _round_double(self, operand: Expression, digits: int) -> str:
        def rounded(x: str) -> str:
            decimal = f"CAST(CAST({x} AS VARCHAR) AS DECIMAL({MAX_PRECISION},{digits}))"
            return f"(CASE WHEN abs({x}) < {2**52} THEN CAST(CAST({decimal} AS VARCHAR) AS DOUBLE) ELSE {x} END)"

        return self.let((operand,), rounded)

    def like(self, expression: Like) -> str:
        escape = f" ESCAPE {text_literal(expression.escape)}" if expression.escape is not None else ""
        return f"({self.write(expression.operand)} LIKE {text_literal(expression.pattern)}{escape})"

    def cast(self, expression: Cast) -> str:
        operand, target = expression.operand, expression.type
        source = operand.type
        if source == STRING:
            return self.let((operand,), lambda x: _read(x, target))
        text = self.write(operand)
        if source == DOUBLE and target == INT64:
            return _as(f"round({text})", target)
        if source == DOUBLE and target.kind is Kind.DECIMAL:
            return self.let((operand,), lambda x: _fitting(x, target))
        if source == DOUBLE or (target == DOUBLE and _loses_digits(source)):
            return _as(f"CAST({text} AS VARCHAR)", target)
        if source == TIMESTAMP:
            return _as(f"timezone('UTC', {text})", DATE) if target == DATE else _instant_text(text)
        if target == TIMESTAMP:
            return f"timezone('UTC', CAST({text} AS TIMESTAMP))"
        return _as(text, target)

    def change_case(self, expression: ChangeCase) -> str:
        return f"{'upper' if expression.upper else 'lower'}({self.write(expression.operand)})"

    def substr(self, expression: Substr) -> str:
        operands = [expression.operand, expression.start]
        if expression.length is not None:
            operands.append(expression.length)
        return self.let(operands, _substr)

    def extract(self, expression: Extract) -> str:
        text = self.write(expression.operand)
        local = text if expression.operand.type == DATE else _local(text, expression.zone)
        return f"extract({expression.part} FROM {local})"

    def date_trunc(self, expression: DateTrunc) -> str:
        unit, zone = expression.unit, expression.zone
        if expression.operand.type == DATE:
            return _as(f"date_trunc('{unit}', {self.write(expression.operand)})", DATE)
        if unit in CLOCK_UNITS:
            return self.let(
                (expression.operand,),
                lambda x: f"({x} - ({_local(x, zone)} - date_trunc('{unit}', {_local(x, zone)})))",
            )
        midnight = f"date_trunc('{unit}', {_local(self.write(expression.operand), zone)})"
        repeated = repeated_midnights(zone)
        if not repeated:
            return _local(midnight, zone)

        def earlier(local: str) -> str:
            whens = "".join(f" WHEN make_timestamp({at}) THEN make_timestamptz({first})" for at, first in repeated)
            return f"(CASE {local}{whens} ELSE {_local(local, zone)} END)"

        return self.named([midnight], earlier)


def _as(text: str, type_: DataType) -> str:
    return f"CAST({text} AS {duckdb_type(type_)})"


def _whole(text: str, type_: DataType, scale: int) -> str:
    """A number times 10^scale as a whole number of at most 38 digits; DuckDB has no way to its unscaled value."""
    exact = as_decimal(type_)
    if exact.precision + scale + 1 <= MAX_PRECISION:
        return f"CAST({_as(text, exact)} * {10**scale}::DECIMAL({MAX_PRECISION - exact.precision},0) AS HUGEINT)"
    wide = f"CAST(CAST({text} AS DECIMAL({MAX_PRECISION},{scale})) AS VARCHAR)"
    return f"CAST(replace({wide}, '.', '') AS HUGEINT)"


def _loses_digits(type_: DataType) -> bool:
    """Whether DuckDB's own cast to double may round twice."""
    return type_.kind is Kind.DECIMAL and (type_.precision > 15 or type_.scale > 22)


def _read(text: str, target: DataType) -> str:
    value = f"({text} = 'true')" if target.kind is Kind.BOOL else _as(text, target)
    return _guarded(text, f"regexp_full_match({text}, {text_literal(TEXTS[target.kind])})", value, target)


def _fitting(double: str, target: DataType) -> str:
    """DuckDB reads a number that is written with an exponent into a decimal that has too few digits for it."""
    value = _as(f"CAST({double} AS VARCHAR)", target)
    return _guarded(double, f"abs({double}) < 1e{target.precision - target.scale}", value, target)


def _guarded(operand: str, condition: str, value: str, target: DataType) -> str:
    problem = _as(f"error(concat('not a {target}: ', {operand}))", target)
    return f"(CASE WHEN {operand} IS NULL THEN NULL WHEN {condition} THEN {value} ELSE {problem} END)"


def _instant_text(text: str) -> str:
    full = f"strftime(timezone('UTC', {text}), '%Y-%m-%dT%H:%M:%S.%fZ')"
    return rf"regexp_replace(regexp_replace({full}, '\.000000Z$', 'Z'), '(\.[0-9]{{3}})000Z$', '\1Z')"


def _local(text: str, zone: str) -> str:
    """An instant as its local time, or a local time as its instant: DuckDB has one name for both."""
    return f"timezone({text_literal(zone)}, {text})"


def _substr(text: str, start: str, length: str | None = None) -> str:
    """greatest and least pass over nulls, so the operands are asked for them first."""
    after, before = f"least({start}, {_LAST_POSITION}) - 1", f"length({text}) + greatest({start}, -{_LAST_POSITION})"
    begin = f"(CASE WHEN {start} > 0 THEN {after} WHEN {start} < 0 THEN {before} ELSE 0 END)"
    first = f"greatest({begin}, 0)"
    if length is None:
        return f"(CASE WHEN {start} IS NOT NULL THEN substr({text}, {first} + 1) END)"
    count = f"least(greatest({length}, 0), {_LAST_POSITION})"
    taken = f"least(greatest({begin} + {count} - {first}, 0), {_LAST_POSITION})"
    given = f"{start} IS NOT NULL AND {length} IS NOT NULL"
    return f"(CASE WHEN {given} THEN substr({text}, {first} + 1, {taken}) END)"
