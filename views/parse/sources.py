"""The FROM clause: chronicles (or chronicles made inside), relations, and the conditions that join them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from sqlglot import exp

from chronicle.definitions import RelationDefinition
from chronicle.errors import did_you_mean, nearest
from chronicle.types import Column
from views.algebra import Chronicle, Node
from views.parse.binding import conditions_of
from views.parse.catalog import Catalog
from views.parse.codes import Code
from views.parse.findings import Draft, Repair, Report, spot_of
from views.parse.rendering import written


@dataclass(frozen=True, slots=True)
class Source:
    """One part of FROM: a chronicle, whose node it is, or a relation. `on` are the conditions of a LEFT JOIN."""

    alias: str
    table: exp.Expr
    node: Node | None = None
    relation: str = ""
    definition: RelationDefinition | None = None
    outer: bool = False
    on: tuple[exp.Expr, ...] = ()

    @property
    def columns(self) -> tuple[Column, ...]:
        if self.node is not None:
            return self.node.schema.columns
        assert self.definition is not None
        return self.definition.columns.columns

    @property
    def names(self) -> tuple[str, ...]:
        return (*(column.name for column in self.columns), *(("sn", "chronon") if self.node is not None else ()))


@dataclass(slots=True)
class From:
    """`conditions` are those of inner joins, in the order in which they are written."""

    sources: list[Source]
    conditions: list[exp.Expr]
    using: dict[str, str]
    """A column that USING has merged, and the source that a bare name means."""


BuildQuery = Callable[[exp.Expr], Node | None]
CommonTables = dict[str, Node | None]


def read_from(
    query: exp.Select, catalog: Catalog, tables: CommonTables, build: BuildQuery, report: Report
) -> From | None:
    """None after a finding that leaves nothing to join."""
    clause = query.args.get("from_")
    if clause is None:
        report.add(Code.NO_CHRONICLE, "there is no FROM, so no chronicle", spot_of(query))
        return None
    reader = _Reader(catalog, tables, build, report, From([], [], {}))
    whole = reader.table(clause.this) is not None
    for join in query.args.get("joins") or ():
        whole = reader.join(join) and whole
    return reader.result if whole and reader.aliases_differ() else None


@dataclass(slots=True)
class _Reader:
    catalog: Catalog
    tables: CommonTables
    build: BuildQuery
    report: Report
    result: From

    def table(self, table: exp.Expr) -> Source | None:
        source = self.source(table)
        if source is not None:
            self.result.sources.append(source)
        return source

    def source(self, table: exp.Expr) -> Source | None:
        match table:
            case exp.Table():
                return self.named(table)
            case exp.Subquery():
                node = self.build(table.unnest())
                alias = table.alias or f"q{len(self.result.sources) + 1}"
                return None if node is None else Source(alias, table, node)
            case _:
                self.unsupported(table, table.key.upper())
                return None

    def named(self, table: exp.Table) -> Source | None:
        name, alias = table.name, table.alias or table.name
        if version := table.args.get("version") or table.args.get("when"):
            what = "the version of a relation at another time than the tuple's chronon"
            self.report.add(Code.AS_OF, what, spot_of(version), _without_version(table))
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            self.unsupported(table, f"the table {written(table)}")
            return None
        if name.casefold() in self.tables:
            common = self.tables[name.casefold()]
            return None if common is None else Source(alias, table, common)
        if (chronicle := self.catalog.chronicle(name)) is not None:
            return Source(alias, table, Chronicle(chronicle, self.catalog.chronicles[chronicle]))
        if (relation := self.catalog.relation(name)) is not None:
            definition = self.catalog.relations[relation]
            return Source(alias, table, None, relation, definition)
        self.unknown(table, name)
        return None

    def unknown(self, table: exp.Table, name: str) -> None:
        if (view := self.catalog.view(name)) is not None:
            self.report.add(Code.READS_A_VIEW, f"'{view}' is a view, and this one reads it", spot_of(table))
            return
        known = [*self.catalog.tables, *self.tables]
        near = nearest(name, known)

        def repair(draft: Draft) -> None:
            if near is not None:
                table.set("this", exp.to_identifier(near))
                if not table.alias and _qualifies(name, table):
                    table.set("alias", exp.TableAlias(this=exp.to_identifier(name)))

        what = f"there is no chronicle or relation '{name}'{did_you_mean(name, known)}"
        self.report.add(Code.UNKNOWN_TABLE, what, spot_of(table), repair)

    def join(self, join: exp.Join) -> bool:
        if (
            join.args.get("method")
            or join.args.get("match_condition")
            or (join.kind or "") not in ("", "INNER", "OUTER", "CROSS")
        ):
            kind = " ".join(filter(None, (join.args.get("method"), join.kind)))
            self.unsupported(join, f"a {kind} JOIN")
            return False
        source = self.source(join.this)
        if source is None:
            return False
        conditions = [*conditions_of(join.args.get("on")), *self.using(join, source)]
        side = (join.side or "").upper()
        if side == "":
            self.result.sources.append(source)
            self.result.conditions.extend(conditions)
            return True
        return self.outer(join, source, side, tuple(conditions))

    def outer(self, join: exp.Join, source: Source, side: str, on: tuple[exp.Expr, ...]) -> bool:
        """LEFT JOIN of a relation keeps the tuple; `relation RIGHT JOIN chronicle` says the same."""
        sources = self.result.sources
        alone = len(sources) == 1 and sources[0].node is None and not sources[0].outer
        if side == "LEFT" and source.node is None and any(s.node is not None for s in sources):
            sources.append(replace(source, outer=True, on=on))
            return True
        if side == "RIGHT" and source.node is not None and alone:
            self.result.sources = [source, replace(sources[0], outer=True, on=on)]
            return True
        chronicles = source.node is not None and any(s.node is not None for s in sources)
        code = Code.OUTER_JOIN if chronicles else Code.RELATION_KEPT
        what = f"a {side} JOIN between chronicles" if chronicles else f"a {side} JOIN that keeps rows of a relation"
        self.report.add(
            code,
            what,
            spot_of(join.this),
            _inner(join),
        )
        return False

    def using(self, join: exp.Join, source: Source) -> list[exp.Expr]:
        found: list[exp.Expr] = []
        for identifier in join.args.get("using") or ():
            name = identifier.name
            left = next((s for s in self.result.sources if _has(s, name)), None)
            left_alias = left.alias if left is not None else self.result.sources[0].alias if self.result.sources else ""
            self.result.using[name.casefold()] = left_alias
            equal = exp.EQ(this=exp.column(name, left_alias), expression=exp.column(name, source.alias))
            for part in equal.walk():
                part.meta.update(identifier.meta)
            equal.meta["path"] = join.meta.get("path")
            found.append(equal)
        return found

    def aliases_differ(self) -> bool:
        seen: set[str] = set()
        for source in self.result.sources:
            if source.alias.casefold() in seen:
                self.same_alias(source)
                return False
            seen.add(source.alias.casefold())
        return True

    def same_alias(self, source: Source) -> None:
        other = f"{source.alias}_2"

        def repair(draft: Draft) -> None:
            source.table.set("alias", exp.TableAlias(this=exp.to_identifier(other)))

        what = f"'{source.alias}' stands twice in FROM; call one of them {other}"
        self.report.add(Code.SAME_ALIAS, what, spot_of(source.table), repair)

    def unsupported(self, node: exp.Expr, what: str) -> None:
        self.report.add(Code.UNSUPPORTED, f"{what} is not in the language", spot_of(node))


def _qualifies(name: str, table: exp.Table) -> bool:
    """Whether a column of the query is written with this name before it."""
    query = table.find_ancestor(exp.Select)
    columns = query.find_all(exp.Column) if query is not None else ()
    return any(column.table.casefold() == name.casefold() for column in columns)


def _without_version(table: exp.Table) -> Repair:
    def repair(draft: Draft) -> None:
        table.set("version", None)
        table.set("when", None)

    return repair


def _inner(join: exp.Join) -> Repair:
    def repair(draft: Draft) -> None:
        join.set("side", None)
        join.set("kind", None)

    return repair


def _has(source: Source, name: str) -> bool:
    return name.casefold() in (column.casefold() for column in source.names)
