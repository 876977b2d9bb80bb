"""A query to the algebra: sub-queries, CTEs and set operations inside (they keep sn), one summarisation outermost."""

from __future__ import annotations

from dataclasses import dataclass, field

from sqlglot import exp

from chronicle.expressions import Cast, ColumnRef, Expression
from chronicle.expressions.precision import common_type
from chronicle.types import Column, DataType
from views.algebra import Difference, Distinct, GroupBy, Node, Project, Summary, Union
from views.algebra.traversal import height, nodes
from views.parse.binding import bound
from views.parse.calls import has_call
from views.parse.catalog import Catalog
from views.parse.clauses import refuse_clauses
from views.parse.codes import Code
from views.parse.deriving import move_to_derive
from views.parse.edits import drop, dropping
from views.parse.findings import Draft, Report, spot_of
from views.parse.grouping import Grouped, grouped
from views.parse.inner import Inner, inner_select
from views.parse.joining import Joined, join, qualify
from views.parse.naming import output_name
from views.parse.rendering import written
from views.parse.screening import screen
from views.parse.sources import CommonTables, read_from
from views.parse.splitting import split_by_chronicle, split_by_part

MAX_OPERATORS = 500
"""Each operator is work for every append, so their number is a constant of the bound; a tower of CTEs doubles it at
every step, and is refused before anything walks over more than twice this many."""

MAX_HEIGHT = 150
"""Of operators one above another, as joins are; below it no pass over the tree can run out of stack."""


def build(query: exp.Expr, catalog: Catalog, report: Report) -> Summary | None:
    """The algebra of a view; None after a finding."""
    screen(query, catalog, report)
    summary = _Builder(catalog, report).outermost(query)
    return None if report.findings else summary


@dataclass(slots=True)
class _Builder:
    catalog: Catalog
    report: Report
    tables: CommonTables = field(default_factory=dict)

    def outermost(self, query: exp.Expr) -> Summary | None:
        inside = self.with_common_tables(query)
        if isinstance(query, exp.Subquery):
            return inside.outermost(query.this)
        if isinstance(query, exp.SetOperation):
            what = f"the outermost step is {_operation(query)}"
            self.report.add(Code.SET_OPERATION_OUTERMOST, what, spot_of(query.right), split_by_part(query))
            return None
        if not isinstance(query, exp.Select):
            self.report.add(Code.NOT_A_SELECT, f"a view is a SELECT, not {query.key.upper()}", spot_of(query))
            return None
        refuse_clauses(query, self.report, outermost=True)
        joined = inside.joined(query)
        return inside.summary(query, joined) if joined is not None and inside.is_small(joined.node, query) else None

    def with_common_tables(self, query: exp.Expr) -> _Builder:
        clause = query.args.get("with_")
        if clause is None:
            return self
        if clause.args.get("recursive"):

            def repair(draft: Draft) -> None:
                clause.set("recursive", None)

            self.report.add(Code.RECURSION, "WITH RECURSIVE", spot_of(clause), repair)
        inside = _Builder(self.catalog, self.report, dict(self.tables))
        defined: set[str] = set()
        for table in clause.expressions:
            if table.alias.casefold() in defined:
                self.same_common_table(table)
            defined.add(table.alias.casefold())
            if clause.args.get("recursive"):
                inside.tables[table.alias.casefold()] = None
            inside.tables[table.alias.casefold()] = inside.chronicle(table.this)
        return inside

    def same_common_table(self, table: exp.CTE) -> None:
        other = f"{table.alias}_2"

        def repair(draft: Draft) -> None:
            table.set("alias", exp.TableAlias(this=exp.to_identifier(other)))

        what = f"'{table.alias}' stands twice in WITH; call one of them {other}"
        self.report.add(Code.SAME_ALIAS, what, spot_of(table.args["alias"]), repair)

    def joined(self, query: exp.Select) -> Joined | None:
        if (joins := len(query.args.get("joins") or ())) > MAX_HEIGHT:
            self.refuse_size(query, f"{joins} joins here; {MAX_HEIGHT} at most")
            return None
        clause = read_from(query, self.catalog, self.tables, self.chronicle, self.report)
        if clause is None:
            return None
        if not any(source.node is not None for source in clause.sources):
            names = ", ".join(source.alias for source in clause.sources)
            self.report.add(
                Code.NO_CHRONICLE, f"only relations here ({names}), no chronicle", spot_of(clause.sources[0].table)
            )
            return None
        where = query.args.get("where")
        condition = where.this if where is not None else None
        if condition is not None and has_call(condition):
            self.report.add(Code.NESTED_AGGREGATE, "an aggregate in WHERE", spot_of(condition), dropping(condition))
            return None
        return join(clause, condition, self.report, split_by_chronicle(query, clause))

    def summary(self, query: exp.Select, joined: Joined) -> Summary | None:
        if self.report.findings and query.find(exp.Window) is not None:
            return None  # refused already; what its columns are without it is not known
        if query.args.get("group") is not None or any(has_call(item) for item in query.expressions):
            found = grouped(query, joined, self.report)
            if found is None:
                return None
            self.refuse_computed(query, found)
            self.refuse_sn(query, found.keys)
            if self.report.findings:
                return None
            if not found.aggregates:
                return Distinct(joined.node, tuple(found.keys))
            return GroupBy(joined.node, tuple(found.keys), tuple(found.aggregates))
        columns = self.plain_columns(query, joined)
        if query.args.get("distinct") is None:

            def repair(draft: Draft) -> None:
                query.set("distinct", exp.Distinct())

            what = "the tuples themselves, neither grouped nor DISTINCT"
            self.report.add(
                Code.NOT_SUMMARISED, what, spot_of(query.expressions[0] if query.expressions else query), repair
            )
        self.refuse_sn(query, columns)
        return None if self.report.findings else Distinct(joined.node, tuple(columns))

    def plain_columns(self, query: exp.Select, joined: Joined) -> list[tuple[str, Expression]]:
        columns: dict[str, Expression] = {}
        for item in query.expressions:
            if isinstance(item, exp.Star) or isinstance(item.this, exp.Star):
                self.refuse_star(query, item, joined)
                continue
            name = output_name(item, self.report)
            value = bound(qualify(item.unalias(), joined.using), joined.scope, self.report)
            if name is not None and name in columns:
                self.report.add(Code.SAME_NAME, f"two columns are called '{name}'", spot_of(item), dropping(item))
            elif name is not None and value is not None:
                columns[name] = value
        return list(columns.items())

    def refuse_star(self, query: exp.Select, item: exp.Expr, joined: Joined) -> None:
        names = dict.fromkeys(str(column) for column in joined.scope.columns if column.name not in ("sn", "chronon"))

        def repair(draft: Draft) -> None:
            single = len({column.qualifier for column in joined.scope.columns}) == 1
            columns = [
                exp.column(*reversed(name.split("."))) if not single else exp.column(name.split(".")[-1])
                for name in names
            ]
            query.set("expressions", [other for other in query.expressions if other is not item] + columns)

        self.report.add(Code.SELECT_STAR, "SELECT * in the outermost step", spot_of(query), repair)

    def refuse_sn(self, query: exp.Select, keys: list[tuple[str, Expression]]) -> None:
        for name, value in keys:
            if isinstance(value, ColumnRef) and value.name == "sn":

                def repair(draft: Draft, name: str = name) -> None:
                    for item in [
                        item for item in query.expressions if item.alias_or_name.casefold() in (name.casefold(), "sn")
                    ]:
                        drop(item)
                    group = query.args.get("group")
                    for key in list(group.expressions) if group is not None else ():
                        if key.name.casefold() == "sn":
                            key.pop()

                spot = spot_of(next((item for item in query.expressions if item.alias_or_name == name), query))
                self.report.add(Code.SN_KEPT, "the outermost step keeps the sequence number", spot, repair)

    def refuse_computed(self, query: exp.Select, found: Grouped) -> None:
        for name, tree in found.computed:

            def repair(draft: Draft, name: str = name, tree: exp.Expr = tree) -> None:
                move_to_derive(draft, query, name, tree)

            what = f"'{name}' is computed from aggregates or grouping columns: {written(tree)[:80]}"
            self.report.add(Code.COMPUTED, what, spot_of(tree), repair)

    def chronicle(self, query: exp.Expr) -> Node | None:
        found = self.inner(query)
        return None if found is None else found.node

    def inner(self, query: exp.Expr) -> Inner | None:
        """A query inside the algebra: it keeps the sequence number."""
        inside = self.with_common_tables(query)
        found: Inner | None
        if isinstance(query, exp.Subquery):
            found = inside.inner(query.this)
        elif isinstance(query, exp.SetOperation):
            found = inside.set_operation(query)
        elif isinstance(query, exp.Select):
            refuse_clauses(query, self.report, outermost=False)
            joined = inside.joined(query)
            found = inner_select(query, joined, self.report) if joined is not None else None
        else:
            self.report.add(Code.UNSUPPORTED, f"{query.key.upper()} as a table", spot_of(query))
            found = None
        return found if found is None or self.is_small(found.node, query) else None

    def is_small(self, node: Node, query: exp.Expr) -> bool:
        if sum(1 for _ in nodes(node)) > MAX_OPERATORS:
            self.refuse_size(query, f"written out, the query has more than {MAX_OPERATORS} operators here")
            return False
        if height(node) > MAX_HEIGHT:
            self.refuse_size(query, f"more than {MAX_HEIGHT} operators stand one above another here")
            return False
        return True

    def refuse_size(self, query: exp.Expr, what: str) -> None:
        self.report.add(Code.TOO_LARGE, what, spot_of(query))

    def set_operation(self, query: exp.SetOperation) -> Inner | None:
        refuse_clauses(query, self.report, outermost=False)
        left, right = self.inner(query.left), self.inner(query.right)
        distinct = bool(query.args.get("distinct"))
        if isinstance(query, exp.Intersect):

            def repair(draft: Draft) -> None:
                first = query.left.copy()
                inside = exp.Subquery(this=exp.Except(this=first.copy(), expression=query.right.copy(), distinct=True))
                query.replace(exp.Except(this=first, expression=inside, distinct=True))

            self.report.add(Code.INTERSECT, "INTERSECT", spot_of(query.right), repair)
            return None
        if left is None or right is None:
            return None
        pair = _same_types(left, right)
        if pair is None:
            what = (
                f"both sides of {_operation(query)} differ: "
                f"({', '.join(_shown(left))}) and ({', '.join(_shown(right))})"
            )
            self.report.add(Code.DIFFERENT_TYPES, what, spot_of(query.right), lambda draft: _keep_left(query))
            return None
        node = Union(*pair, distinct) if isinstance(query, exp.Union) else Difference(*pair, distinct)
        return Inner(node, left.listed)


def _operation(query: exp.SetOperation) -> str:
    return f"{query.key.upper()}{'' if query.args.get('distinct') else ' ALL'}"


def _keep_left(query: exp.SetOperation) -> None:
    query.replace(query.left)


def _shown(side: Inner) -> list[str]:
    implicit = {"sn": "sn", "chronon": "chronon"}
    return [implicit[name] if name in implicit else str(side.node.schema[name]) for name in side.listed]


def _same_types(left: Inner, right: Inner) -> tuple[Node, Node] | None:
    """Both sides with one type for each column (exact numbers are widened); None where they do not match."""
    places = [[name if name in ("sn", "chronon") else "" for name in side.listed] for side in (left, right)]
    if places[0] != places[1]:
        return None
    types = []
    for a, b in zip(left.node.schema.columns, right.node.schema.columns, strict=True):
        exact = a.type.is_exact and b.type.is_exact
        type_ = common_type(a.type, b.type) if exact else a.type if a.type == b.type else None
        if type_ is None:
            return None
        types.append(type_)
    return _cast(left.node, types), _cast(right.node, types)


def _cast(node: Node, types: list[DataType]) -> Node:
    columns: tuple[Column, ...] = node.schema.columns
    if [column.type for column in columns] == types:
        return node
    references = (ColumnRef(c.name, c.type, c.nullable) for c in columns)
    values = (
        ref if ref.type == type_ else Cast(ref, type_, True) for ref, type_ in zip(references, types, strict=True)
    )
    return Project(node, tuple((c.name, value) for c, value in zip(columns, values, strict=True)))
