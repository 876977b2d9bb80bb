"""The types that `cast` names: those of the contract, and what SQL calls them."""

from __future__ import annotations

from sqlglot import exp

from chronicle.expressions.errors import ExpressionCode, ExpressionError
from chronicle.types import BOOL, DATE, DOUBLE, INT64, STRING, TIMESTAMP, DataType, decimal

_TYPES = {
    exp.DType.TEXT: STRING,
    exp.DType.VARCHAR: STRING,
    exp.DType.BIGINT: INT64,
    exp.DType.DOUBLE: DOUBLE,
    exp.DType.BOOLEAN: BOOL,
    exp.DType.TIMESTAMP: TIMESTAMP,
    exp.DType.TIMESTAMPTZ: TIMESTAMP,
    exp.DType.DATE: DATE,
}


def type_of(node: exp.Expr, offset: int | None) -> DataType:
    """The type that a syntax tree names; ExpressionError where the contract has none like it."""
    parameters = [parameter.name for parameter in node.expressions]
    if node.this is exp.DType.DECIMAL and len(parameters) == 2 and all(text.isdigit() for text in parameters):
        try:
            return decimal(int(parameters[0]), int(parameters[1]))
        except ValueError as error:
            raise ExpressionError(ExpressionCode.TOO_MANY_DIGITS, str(error), offset=offset) from None
    if node.this in _TYPES and not parameters:
        return _TYPES[node.this]
    what = f"there is no type '{node.sql().lower()}'"
    fix = "string, int64, double, bool, timestamp, date or decimal(p,s)"
    raise ExpressionError(ExpressionCode.WRONG_ARGUMENTS, what, "these are the types of the contract", fix, offset)
