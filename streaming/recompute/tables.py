"""The chronicle database as tables of Spark: every chronicle, and every relation with all its versions (§2.3).

| table          | columns                                                                                        |
|----------------|------------------------------------------------------------------------------------------------|
| admitted       | slot, offset, sn, `@place`, `@clock`, `@group`: the admitted appends (`admission`)             |
| appends        | those with a chronon: sn, `@at` (the chronon in microseconds), `@place`, `@clock`              |
| chronicle_NAME | sn, chronon, `@pos`, and the chronicle's columns                                               |
| changes_NAME   | `@place`, `@nth`, `@from` (as it took effect), `@deleted`, and the relation's columns          |
| versions_NAME  | in force in [`@from`, `@to`), and the relation's columns                                       |
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

from chronicle.definitions import Definition
from chronicle.expressions import SPARK_SETTINGS
from streaming.recompute.admission import Admission, admit, heads
from streaming.recompute.aggregates import register_functions
from streaming.recompute.decoding import chronicle_column, decoded, relation_column
from views.state import Stretch

FOREVER = (1 << 63) - 1

_PARTITIONS_A_CORE = 4


def chronicle_table(name: str) -> str:
    return f"chronicle_{name}"


def changes_table(name: str) -> str:
    return f"changes_{name}"


def versions_table(name: str) -> str:
    return f"versions_{name}"


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables belong to `session`, which nobody else uses; `close` lets go of what it holds."""

    session: SparkSession
    definition: Definition
    admission: Admission
    decoded: DataFrame

    def close(self) -> None:
        self.decoded.unpersist()


def session_of(spark: SparkSession) -> SparkSession:
    """A session of its own in the same application: settings and temporary tables are not shared."""
    session = spark.newSession()
    for name, value in SPARK_SETTINGS.items():
        session.conf.set(name, value)
    session.conf.set("spark.sql.caseSensitive", "true")
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.conf.set("spark.sql.shuffle.partitions", str(_PARTITIONS_A_CORE * spark.sparkContext.defaultParallelism))
    register_functions(session)
    return session


def load(
    session: SparkSession,
    definition: Definition,
    records: DataFrame,
    topics: Sequence[str] = ("journal",),
    stretches: Sequence[Stretch] = (),
) -> Tables:
    """Decodes and admits the records, and lays the tables out; `session` comes from `session_of`. `topics` are those of
    the slots, `stretches` how these were read beside each other."""
    messages = decoded(records, definition, topics).persist(StorageLevel.MEMORY_AND_DISK)
    admission = admit(heads(messages, definition, stretches), stretches)
    messages.createOrReplaceTempView("decoded")
    session.createDataFrame(admission.table()).createOrReplaceTempView("admitted")
    _register(
        session,
        "appends",
        "SELECT a.sn, d.chronon AS `@at`, a.`@place`, a.`@clock` FROM decoded d "
        "JOIN admitted a ON a.slot = d.slot AND a.offset = d.offset WHERE d.chronon IS NOT NULL",
    )
    for name, chronicle in definition.chronicles.items():
        columns = ", ".join(f"`@item`.`{column}` AS `{column}`" for column in chronicle.columns.names)
        _register(
            session,
            chronicle_table(name),
            f"SELECT a.sn, timestamp_micros(d.chronon) AS chronon, array(d.`@index`) AS `@pos`, {columns} FROM "
            f"(SELECT slot, offset, chronon, posexplode(`{chronicle_column(name)}`) AS (`@index`, `@item`) "
            "FROM decoded) d JOIN admitted a ON a.slot = d.slot AND a.offset = d.offset",
        )
    for name in definition.relations:
        _register(session, changes_table(name), _changes(definition, name))
        _register(session, versions_table(name), _versions(definition, name))
    return Tables(session, definition, admission, messages)


def _register(session: SparkSession, name: str, sql: str) -> None:
    session.sql(sql).createOrReplaceTempView(name)


def _changes(definition: Definition, name: str) -> str:
    """As they took effect: `clamp` moves a retroactive one to just after the clock."""
    relation = definition.relations[name]
    since = "d.`@change`.`@from`"
    if relation.retroactive == "clamp":
        since = f"CASE WHEN {since} <= a.`@group` THEN a.`@group` + 1 ELSE {since} END"
    columns = ", ".join(f"d.`@change`.`{column}` AS `{column}`" for column in relation.columns.names)
    return (
        f"SELECT a.`@place`, d.`@change`.`@nth` AS `@nth`, {since} AS `@from`, "
        f"d.`@change`.`@deleted` AS `@deleted`, {columns} FROM "
        f"(SELECT slot, offset, explode(`{relation_column(name)}`) AS `@change` FROM decoded) d "
        "JOIN admitted a ON a.slot = d.slot AND a.offset = d.offset"
    )


def _versions(definition: Definition, name: str) -> str:
    """A version holds until the next of its key; of two with the same `@from` the later append wins. Whether an append
    knew a version need not be asked: one that it did not know begins after the clock, so after the append's chronon
    (and `correct` means that all are known)."""
    key = ", ".join(f"`{column}`" for column in definition.relations[name].key)
    last = (
        f"SELECT *, row_number() OVER (PARTITION BY {key}, `@from` ORDER BY `@place` DESC, `@nth` DESC) AS `@rank` "
        f"FROM {changes_table(name)}"
    )
    until = f"coalesce(lead(`@from`) OVER (PARTITION BY {key} ORDER BY `@from`), {FOREVER}L)"
    return (
        f"SELECT * EXCEPT (`@rank`, `@deleted`, `@place`, `@nth`) FROM "
        f"(SELECT *, {until} AS `@to` FROM ({last}) WHERE `@rank` = 1) WHERE NOT `@deleted`"
    )
