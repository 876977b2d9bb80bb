"""A syntax tree back to text in the contract's own spelling, so that a fix reads as the user would have written it."""

from __future__ import annotations

from typing import ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect, rename_func
from sqlglot.generator import Generator as Standard


class Written(Dialect):
    """sqlglot's own dialect, with the names of functions and types that the contract uses."""

    class Generator(Standard):
        TRANSFORMS: ClassVar = {
            **Standard.TRANSFORMS,
            exp.LogicalAnd: rename_func("bool_and"),
            exp.LogicalOr: rename_func("bool_or"),
            exp.Variance: rename_func("var_samp"),
            exp.VariancePop: rename_func("var_pop"),
            exp.Substring: rename_func("substr"),
            exp.DateTrunc: lambda self, node: self.func(
                "date_trunc", exp.Literal.string(node.text("unit").lower()), node.this, node.args.get("zone")
            ),
        }
        TYPE_MAPPING: ClassVar = {
            **Standard.TYPE_MAPPING,
            exp.DType.TEXT: "string",
            exp.DType.BIGINT: "int64",
            exp.DType.DOUBLE: "double",
            exp.DType.BOOLEAN: "bool",
            exp.DType.TIMESTAMP: "timestamp",
            exp.DType.DATE: "date",
            exp.DType.DECIMAL: "decimal",
        }


def written(tree: exp.Expr) -> str:
    """On one line, keywords in capitals and functions in small letters."""
    return tree.sql(dialect=Written, normalize_functions="lower", comments=False)


def written_query(tree: exp.Expr) -> str:
    """A short query on one line, a longer one a clause a line."""
    line = written(tree)
    if len(line) <= 110:
        return line
    return tree.sql(dialect=Written, normalize_functions="lower", comments=False, pretty=True, max_text_width=100)
