"""The contract's types by the names that Arrow, DuckDB and Spark have for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chronicle.types import DataType, Kind, Schema

if TYPE_CHECKING:
    import pyarrow as pa

_DUCKDB = {
    Kind.STRING: "VARCHAR",
    Kind.INT64: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.BOOL: "BOOLEAN",
    Kind.TIMESTAMP: "TIMESTAMPTZ",
    Kind.DATE: "DATE",
}
_SPARK = {
    Kind.STRING: "STRING",
    Kind.INT64: "BIGINT",
    Kind.DOUBLE: "DOUBLE",
    Kind.BOOL: "BOOLEAN",
    Kind.TIMESTAMP: "TIMESTAMP",
    Kind.DATE: "DATE",
}


def duckdb_type(type_: DataType) -> str:
    return _DUCKDB.get(type_.kind) or f"DECIMAL({type_.precision},{type_.scale})"


def spark_type(type_: DataType) -> str:
    return _SPARK.get(type_.kind) or f"DECIMAL({type_.precision},{type_.scale})"


def arrow_type(type_: DataType) -> pa.DataType:
    import pyarrow as pa  # a lookup of types alone must not load it

    match type_.kind:
        case Kind.STRING:
            return pa.string()
        case Kind.INT64:
            return pa.int64()
        case Kind.DOUBLE:
            return pa.float64()
        case Kind.BOOL:
            return pa.bool_()
        case Kind.TIMESTAMP:
            return pa.timestamp("us", tz="UTC")
        case Kind.DATE:
            return pa.date32()
        case Kind.DECIMAL:
            return pa.decimal128(type_.precision, type_.scale)


def arrow_schema(schema: Schema) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column.type), column.nullable) for column in schema.columns])
