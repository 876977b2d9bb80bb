"""The chronicle algebra, Definition 4.1: each operator maps chronicles to a chronicle, within one sequence number.

Column names are flat and distinct within a node. A base chronicle's columns have their bare names; a scan under an
alias, and a joined relation, contribute `alias.column`. In the constructor integrity is checked and `schema` derived:
once, because trees are deep and every pass asks.
Semantics are SQL's: bags, where `Union`/`Difference` with `distinct` are sets within one sequence number.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from chronicle.expressions import Expression, columns_of
from chronicle.types import BOOL, INT64, TIMESTAMP, Column, DataType, Schema

IMPLICIT = (Column("sn", INT64), Column("chronon", TIMESTAMP))
"""What every chronicle has beside its schema; `pos` is not nameable."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def derive(node: object, schema: Schema) -> None:
    """Completes a node that is being constructed."""
    object.__setattr__(node, "schema", schema)


def require_columns(expression: Expression, schema: Schema) -> None:
    known = {*schema.names, *(column.name for column in IMPLICIT)}
    missing = sorted(columns_of(expression) - known)
    require(not missing, f"no column {', '.join(missing)} here")


@dataclass(frozen=True, slots=True)
class Chronicle:
    """A base chronicle. `pos` is (index of the tuple among this chronicle's tuples in the append,)."""

    name: str
    schema: Schema


@dataclass(frozen=True, slots=True)
class Select:
    """σ_p(C): keeps the tuples for which the predicate is true (not null)."""

    input: Node
    predicate: Expression
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require(self.predicate.type == BOOL, f"a predicate is a bool, not {self.predicate.type}")
        require_columns(self.predicate, self.input.schema)
        derive(self, self.input.schema)


@dataclass(frozen=True, slots=True)
class Project:
    """Π(C) with the sequence number kept: each output column is an expression over the input's."""

    input: Node
    columns: tuple[tuple[str, Expression], ...]
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for _, expression in self.columns:
            require_columns(expression, self.input.schema)
        derive(self, Schema(tuple(Column(name, e.type, e.nullable) for name, e in self.columns)))


@dataclass(frozen=True, slots=True)
class SnJoin:
    """C1 ⋈_{C1.SN=C2.SN} C2: every pair of tuples of one append. `pos` is left.pos + right.pos."""

    left: Node
    right: Node
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        both = set(self.left.schema.names) & set(self.right.schema.names)
        require(not both, f"both sides of a join have {', '.join(sorted(both))}")
        derive(self, Schema(self.left.schema.columns + self.right.schema.columns))


def _same_type(left: Schema, right: Schema, what: str) -> Schema:
    require(
        [c.type for c in left.columns] == [c.type for c in right.columns],
        f"both sides of {what} have the same types in the same order",
    )
    pairs = zip(left.columns, right.columns, strict=True)
    return Schema(tuple(Column(a.name, a.type, a.nullable or b.nullable) for a, b in pairs))


@dataclass(frozen=True, slots=True)
class Union:
    """C1 ∪ C2. `distinct` (UNION) keeps one of equal tuples of one append, the one first by pos; UNION ALL keeps all.

    `pos` is (0, *left.pos) or (1, *right.pos). Columns are matched by place and named as on the left.
    """

    left: Node
    right: Node
    distinct: bool = False
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        derive(self, _same_type(self.left.schema, self.right.schema, "a union"))


@dataclass(frozen=True, slots=True)
class Difference:
    """C1 − C2 within each append. `distinct` (EXCEPT) is of sets and keeps the first by pos; EXCEPT ALL is of bags
    and drops the first of equal tuples by pos, one for each on the right. Nulls are equal here, as in SQL."""

    left: Node
    right: Node
    distinct: bool = True
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        _same_type(self.left.schema, self.right.schema, "a difference")
        derive(self, self.left.schema)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate: `function(arguments) FILTER (WHERE filter) AS name`; count(*) has no argument.

    `parameters` are its constants: the rank of approx_quantile, the k of approx_top_k.
    """

    name: str
    function: str
    arguments: tuple[Expression, ...]
    type: DataType
    nullable: bool
    filter: Expression | None = None
    parameters: tuple[int | float, ...] = ()


@dataclass(frozen=True, slots=True)
class GroupBySn:
    """GROUPBY(C, [sn, G...], [A...]): the groups lie within one append. `pos` is the least of the group's."""

    input: Node
    keys: tuple[tuple[str, Expression], ...]
    aggregates: tuple[Aggregate, ...]
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_grouping(self.input.schema, self.keys, self.aggregates)
        derive(self, grouped_schema(self.keys, self.aggregates))


@dataclass(frozen=True, slots=True)
class RelationJoin:
    """C × R with the implicit temporal join (§2.3): the version of R in force at the tuple's chronon.

    `key` binds key columns of R to expressions over the input (equality). It binds the whole key for SCA⋈ (at most
    one row joins), otherwise `access` is "scan" and an append costs O(|R|). `residual` is a further condition over the
    input's and the relation's columns (named `alias.column`). `outer` keeps an unmatched tuple with nulls.
    `columns` are those of the relation's columns that are used above, by their bare names.
    For a scan `pos` is input.pos + (rank of the joined row by the relation's key,).
    """

    input: Node
    relation: str
    alias: str
    key: tuple[tuple[str, Expression], ...]
    access: Literal["key", "scan"]
    columns: tuple[Column, ...]
    residual: Expression | None = None
    outer: bool = False
    schema: Schema = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for _, expression in self.key:
            require_columns(expression, self.input.schema)
        joined = (Column(f"{self.alias}.{c.name}", c.type, c.nullable or self.outer) for c in self.columns)
        derive(self, Schema((*self.input.schema.columns, *joined)))
        if self.residual is not None:
            require_columns(self.residual, self.schema)


def require_grouping(
    schema: Schema, keys: tuple[tuple[str, Expression], ...], aggregates: tuple[Aggregate, ...]
) -> None:
    for _, expression in keys:
        require_columns(expression, schema)
    for aggregate in aggregates:
        for expression in (*aggregate.arguments, *((aggregate.filter,) if aggregate.filter else ())):
            require_columns(expression, schema)


def grouped_schema(keys: tuple[tuple[str, Expression], ...], aggregates: tuple[Aggregate, ...]) -> Schema:
    key_columns = (Column(name, e.type, e.nullable) for name, e in keys)
    return Schema((*key_columns, *(Column(a.name, a.type, a.nullable) for a in aggregates)))


Node = Chronicle | Select | Project | SnJoin | Union | Difference | GroupBySn | RelationJoin
