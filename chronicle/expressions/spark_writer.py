"""Expressions as Spark SQL, with the meaning that evaluator.py gives them, in a session with SPARK_SETTINGS.

Spark skips an operand after a null beside it, and with it the operand's errors; where that matters the operands are
evaluated into a struct first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from types import MappingProxyType

from chronicle.arrow import spark_type
from chronicle.expressions.arithmetic import Arithmetic, ArithmeticOperator, Round, RoundingMode
from chronicle.expressions.casting import TEXTS
from chronicle.expressions.conditions import Like
from chronicle.expressions.failing import can_fail, digits_at
from chronicle.expressions.functions import CLOCK_UNITS, ChangeCase, DateTrunc, Extract, Part, Substr
from chronicle.expressions.leaves import Literal
from chronicle.expressions.nodes import Cast, Expression
from chronicle.expressions.precision import QUOTIENT_SCALE, as_decimal, division_scales
from chronicle.expressions.sql import Columns, SqlWriter
from chronicle.expressions.text import case_pairs, like_tokens
from chronicle.types import DATE, DOUBLE, INT64, MAX_PRECISION, STRING, TIMESTAMP, DataType, Kind

SPARK_SETTINGS = MappingProxyType(
    {
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.decimalOperations.allowPrecisionLoss": "false",
        "spark.sql.parser.escapedStringLiterals": "false",
    }
)
"""What a session must be set to before it reads the SQL that is written here."""

_NEGATED = 34
"""Digits of a decimal that Spark's unary minus, and with it abs, keeps; of wider ones it rounds the last away."""

_WHOLE = DataType(Kind.DECIMAL, MAX_PRECISION, 0)
_HALF = 19
_E = f"CAST('{10**_HALF}' AS DECIMAL({MAX_PRECISION},0))"
_UNIT = f"CAST('{Decimal(1).scaleb(-QUOTIENT_SCALE):f}' AS DECIMAL({QUOTIENT_SCALE},{QUOTIENT_SCALE}))"
_LAST_POSITION = 2**31 - 1
_MICROS = {Part.HOUR: 3_600_000_000, Part.MINUTE: 60_000_000, Part.SECOND: 1_000_000}
_PARTS = {
    Part.YEAR: "year({})",
    Part.QUARTER: "quarter({})",
    Part.MONTH: "month({})",
    Part.WEEK: "weekofyear({})",
    Part.DAY: "day({})",
    Part.HOUR: "hour({})",
    Part.MINUTE: "minute({})",
    Part.SECOND: "second({})",
    Part.DOW: "(dayofweek({}) - 1)",
    Part.ISODOW: "(weekday({}) + 1)",
    Part.DOY: "dayofyear({})",
    Part.ISOYEAR: "extract(YEAROFWEEK FROM {})",
}


def backquoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def to_spark(expression: Expression, column: Columns = backquoted) -> str:
    """The expression as Spark SQL; `column` writes a column's name."""
    return SparkWriter(column).write(expression)


def text_literal(value: str) -> str:
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"


class SparkWriter(SqlWriter):
    def named(self, texts: Sequence[str], body: Callable[..., str]) -> str:
        name = self.fresh_name()
        fields = [f"{name}.f{position}" for position in range(len(texts))]
        packed = ", ".join(f"'f{position}', {text}" for position, text in enumerate(texts))
        return f"element_at(transform(array(named_struct({packed})), {name} -> {body(*fields)}), 1)"

    def strict(self, operands: Sequence[Expression], body: Callable[..., str]) -> str:
        skipped = any(can_fail(operand) for operand in operands) and any(operand.nullable for operand in operands)
        texts = [self.write(operand) for operand in operands]
        return self.named(texts, body) if skipped else body(*texts)

    def of_rank(self, rank: str) -> str:
        return f"element_at(array(false, CAST(NULL AS BOOLEAN), true), 1 + {rank})"

    def literal(self, literal: Literal) -> str:
        value = literal.value
        match literal.type.kind:
            case _ if value is None:
                return f"CAST(NULL AS {spark_type(literal.type)})"
            case Kind.STRING:
                return text_literal(str(value))
            case Kind.BOOL:
                return "true" if value else "false"
            case Kind.TIMESTAMP:
                return f"timestamp_micros({value}L)"
            case Kind.INT64 | Kind.DATE:
                return _as(f"'{value}'", literal.type)
            case Kind.DECIMAL:
                return _as(f"'{value:f}'", literal.type)
            case Kind.DOUBLE:
                return _as(f"'{str(value).replace('inf', 'Infinity')}'", literal.type)
        raise AssertionError(literal)

    def negation(self, operand: Expression) -> str:
        if operand.type.precision <= _NEGATED:
            return super().negation(operand)
        return _minus(self.write(operand), operand.type)

    def absolute(self, operand: Expression) -> str:
        if operand.type.precision <= _NEGATED:
            return super().absolute(operand)
        return self.let((operand,), lambda x: f"(CASE WHEN {x} < 0 THEN {_minus(x, operand.type)} ELSE {x} END)")

    def arithmetic(self, expression: Arithmetic) -> str:
        operator, operands = expression.operator, (expression.left, expression.right)
        if operator is ArithmeticOperator.MODULO:
            text = self.strict(operands, lambda a, b: f"try_mod({a}, {b})")
        elif operator is ArithmeticOperator.DIVIDE:
            text = self.let(operands, lambda a, b: self._quotient(expression, a, b))
        else:
            text = self.strict(operands, lambda a, b: f"({a} {operator} {b})")
        return _as(text, expression.type) if expression.type.kind is Kind.DECIMAL else text

    def _quotient(self, expression: Arithmetic, a: str, b: str) -> str:
        """Spark's own `/` keeps too few digits for wide decimals and rounds them twice: whole numbers are divided."""
        if expression.type == DOUBLE:
            return f"({a} / (CASE WHEN {b} = 0 THEN NULL ELSE {b} END))"
        left, right = expression.left.type, expression.right.type
        above, below = division_scales(left, right)
        short = digits_at(left, above) <= _HALF

        def rounded(n: str, d: str) -> str:
            size = self.named([_size(n), _size(d)], lambda n, d: self._half_up(n, d, short=short))
            return f"((CASE WHEN ({n} < 0) = ({d} < 0) THEN 1 ELSE -1 END) * {size} * {_UNIT})"

        value = self.named([_whole(a, left, above), _whole(b, right, below)], rounded)
        return f"(CASE WHEN {a} IS NOT NULL AND {b} <> 0 THEN {value} END)"

    def _half_up(self, n: str, d: str, *, short: bool) -> str:
        """Of whole numbers, n not negative and d positive: the quotient without its remainder is exact."""

        def of_remainder(r: str) -> str:
            whole = _exactly(f"({n} - {r})", d)
            if not short:
                whole = f"(CASE WHEN {d} < {_E} THEN {self._long(f'({n} - {r})', d)} ELSE {whole} END)"
            return _as(f"{whole} + (CASE WHEN {r} >= {d} - {r} THEN 1 ELSE 0 END)", _WHOLE)

        return self.named([f"({n} % {d})"], of_remainder)

    def _long(self, m: str, d: str) -> str:
        """Long division in two halves of 19 digits, because Spark's quotients have at most 20 before the point."""

        def halves(high: str, low: str) -> str:
            upper = f"{_exactly(f'({high} - {high} % {d})', d)} * {_E}"
            lower = _exactly(_as(f"({high} % {d}) * {_E} + {low}", _WHOLE), d)
            return _as(f"{upper} + {lower}", _WHOLE)

        return self.named([m], lambda x: self.named([_exactly(f"({x} - {x} % {_E})", _E), f"({x} % {_E})"], halves))

    def rounding(self, expression: Round) -> str:
        operand, digits, mode = expression.operand, expression.digits, expression.mode
        if operand.type == INT64:
            return self.write(operand) if digits >= 0 else f"round({self.write(operand)}, {digits})"
        if mode is RoundingMode.ROUND:
            text = self.write(operand)
            if operand.type == DOUBLE:
                return f"round({text}, {digits})"
            return _as(text if digits >= 0 else f"round({text}, {digits})", expression.type)
        if operand.type == DOUBLE:
            # Spark's floor of a double is a bigint; from 2^52 on every double is whole already.
            return self.let(
                (operand,), lambda x: f"(CASE WHEN abs({x}) < {2**52} THEN CAST({mode}({x}) AS DOUBLE) ELSE {x} END)"
            )
        return _as(f"{mode}({self.write(operand)})", expression.type)

    def like(self, expression: Like) -> str:
        pattern = "".join(_like_part(token) for token in like_tokens(expression.pattern, expression.escape))
        return f"({self.write(expression.operand)} LIKE {text_literal(pattern)})"

    def cast(self, expression: Cast) -> str:
        operand, target = expression.operand, expression.type
        source = operand.type
        if source == STRING:
            return self.let((operand,), lambda x: _read(x, target))
        if source == DOUBLE and target.kind is Kind.DECIMAL:
            return self.let((operand,), lambda x: _guarded(x, f"abs({x}) < 1e39D", _as(x, target), target))
        text = self.write(operand)
        if source == DOUBLE and target == INT64:
            return _as(f"round({text}, 0)", target)
        if source.kind is Kind.DECIMAL and target == INT64:
            return _as(f"CAST({text} AS DECIMAL({MAX_PRECISION},0))", target)
        if source == TIMESTAMP and target == STRING:
            return _instant_text(text)
        return _as(text, target)

    def change_case(self, expression: ChangeCase) -> str:
        before, after = case_pairs(upper=expression.upper)
        return f"translate({self.write(expression.operand)}, {text_literal(before)}, {text_literal(after)})"

    def substr(self, expression: Substr) -> str:
        operands = [expression.operand, expression.start]
        if expression.length is not None:
            operands.append(expression.length)
        return self.let(operands, lambda text, *numbers: f"substring({', '.join((text, *map(_position, numbers)))})")

    def extract(self, expression: Extract) -> str:
        text = self.write(expression.operand)
        local = text if expression.operand.type == DATE else _local(text, expression.zone)
        return _as(_PARTS[expression.part].format(local), INT64)

    def date_trunc(self, expression: DateTrunc) -> str:
        operand, unit, zone = expression.operand, expression.unit, expression.zone
        if operand.type == DATE:
            return _as(f"date_trunc('{unit}', CAST({self.write(operand)} AS TIMESTAMP))", DATE)
        if unit in CLOCK_UNITS:
            return self.let((operand,), lambda x: _tick(x, zone, _MICROS[unit]))
        midnight = f"date_trunc('{unit}', {_local(self.write(operand), zone)})"
        return midnight if zone == "UTC" else f"to_utc_timestamp({midnight}, {text_literal(zone)})"


def _whole(text: str, type_: DataType, scale: int) -> str:
    """A number times 10^scale as a whole number of at most 38 digits; an error where it has more."""
    exact = as_decimal(type_)
    if exact.precision + scale + 2 <= MAX_PRECISION:
        factor = f"CAST('{10**scale}' AS DECIMAL({scale + 1},0))"
        return _as(f"{_as(text, exact)} * {factor}", _WHOLE)
    wide = _as(text, DataType(Kind.DECIMAL, MAX_PRECISION, scale))
    return _as(f"replace(CAST({wide} AS STRING), '.', '')", _WHOLE)


def _minus(text: str, type_: DataType) -> str:
    return _as(f"{_as('0', type_)} - {text}", type_)


def _size(whole: str) -> str:
    return f"(CASE WHEN {whole} < 0 THEN {_minus(whole, _WHOLE)} ELSE {whole} END)"


def _exactly(multiple: str, divisor: str) -> str:
    """The quotient of two decimal(38,0) is a decimal(38,18) to Spark; of narrower ones it keeps fewer whole digits."""
    return _as(f"{_as(multiple, _WHOLE)} / {_as(divisor, _WHOLE)}", DataType(Kind.DECIMAL, _HALF, 0))


def _as(text: str, type_: DataType) -> str:
    return f"CAST({text} AS {spark_type(type_)})"


def _like_part(token: str) -> str:
    """Spark's escape is a backslash, always."""
    if len(token) == 1:
        return "\\\\" if token == "\\" else token
    return f"\\{token[-1]}" if token[-1] in "%_\\" else token[-1]


def _guarded(text: str, condition: str, value: str, target: DataType) -> str:
    problem = _as(f"raise_error(concat('not a {target}: ', {text}))", target)
    return f"(CASE WHEN {text} IS NULL THEN NULL WHEN {condition} THEN {value} ELSE {problem} END)"


def _read(text: str, target: DataType) -> str:
    value = f"({text} = 'true')" if target.kind is Kind.BOOL else _as(text, target)
    whole = text_literal(rf"^(?:{TEXTS[target.kind]})\z")
    return _guarded(text, f"{text} RLIKE {whole}", value, target)


def _instant_text(text: str) -> str:
    full = f"date_format({text}, {text_literal(_ISO)})"
    whole = f"regexp_replace({full}, {text_literal(_MICROSECONDS)}, 'Z')"
    return f"regexp_replace({whole}, {text_literal(_MILLISECONDS)}, '$1Z')"


_ISO = "yyyy-MM-dd'T'HH:mm:ss.SSSSSS'Z'"
_MICROSECONDS, _MILLISECONDS = r"\.000000Z$", r"(\.[0-9]{3})000Z$"


def _position(text: str) -> str:
    """Spark counts characters in 32 bits, which is further than any text reaches."""
    last = _LAST_POSITION
    return f"CAST(CASE WHEN {text} > {last} THEN {last} WHEN {text} < -{last} THEN -{last} ELSE {text} END AS INT)"


def _local(text: str, zone: str) -> str:
    return text if zone == "UTC" else f"from_utc_timestamp({text}, {text_literal(zone)})"


def _tick(text: str, zone: str, unit: int) -> str:
    return f"timestamp_micros(unix_micros({text}) - pmod(unix_micros({_local(text, zone)}), {unit}L))"
