"""The typed expression language of the contract: one meaning in Python, DuckDB and Spark (docs/expressions.md)."""

from chronicle.expressions.arithmetic import Abs, Arithmetic, ArithmeticOperator, Negate, Round, RoundingMode
from chronicle.expressions.binding import bind
from chronicle.expressions.conditions import And, Comparison, ComparisonOperator, In, IsNull, Like, Not, Or
from chronicle.expressions.duckdb_writer import DuckDbWriter, to_duckdb
from chronicle.expressions.errors import EvaluationError, ExpressionCode, ExpressionError
from chronicle.expressions.evaluator import evaluator
from chronicle.expressions.functions import ChangeCase, Concat, DateTrunc, Extract, Length, Part, Substr
from chronicle.expressions.leaves import ColumnRef, Literal
from chronicle.expressions.nodes import Case, Cast, Coalesce, Expression, Extreme
from chronicle.expressions.parsing import offset_of, parse
from chronicle.expressions.rendering import render
from chronicle.expressions.rewrite import columns_of, conjunction, conjuncts, rename, substitute
from chronicle.expressions.scope import Name, Scope, ScopeColumn
from chronicle.expressions.spark_writer import SPARK_SETTINGS, to_spark

__all__ = [
    "Abs",
    "And",
    "Arithmetic",
    "ArithmeticOperator",
    "Case",
    "Cast",
    "ChangeCase",
    "Coalesce",
    "ColumnRef",
    "Comparison",
    "ComparisonOperator",
    "Concat",
    "DateTrunc",
    "DuckDbWriter",
    "EvaluationError",
    "Expression",
    "ExpressionCode",
    "ExpressionError",
    "Extract",
    "Extreme",
    "In",
    "IsNull",
    "Length",
    "Like",
    "Literal",
    "Name",
    "Negate",
    "Not",
    "Or",
    "Part",
    "Round",
    "RoundingMode",
    "SPARK_SETTINGS",
    "Scope",
    "ScopeColumn",
    "Substr",
    "bind",
    "columns_of",
    "conjunction",
    "conjuncts",
    "evaluator",
    "offset_of",
    "parse",
    "rename",
    "render",
    "substitute",
    "to_duckdb",
    "to_spark",
]
