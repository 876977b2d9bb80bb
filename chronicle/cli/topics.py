"""`chronicle topics`: the Kafka topics of the definition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from chronicle.cli import output
from chronicle.cli.options import json_option, project_options
from chronicle.errors import UsageError

if TYPE_CHECKING:
    from chronicle.project import Project


@click.group("topics")
def command() -> None:
    """The Kafka topics of the definition: its source's, and those of relations that have their own."""


@command.command("create")
@click.option("--partitions", type=click.IntRange(1), default=4, show_default=True, help="Of each new topic.")
@click.option("--replication", type=click.IntRange(1), help="Copies of each; default: the broker's.")
@click.option("--retain", metavar="DURATION", help="How long messages stay, like P30D; default: for ever.")
@json_option
@project_options
def create(partitions: int, replication: int | None, retain: str | None, as_json: bool, project: Project) -> int:
    """Make the topics that are missing; those that are there stay as they are.

    Views never read a message twice, but `recompute` and relations with `retroactive: correct` need those that are
    retained, and a job that was away longer than they stay refuses to skip them.

    \b
    chronicle topics create
    chronicle topics create --partitions 12 --retain P90D
    """
    from chronicle.appends.target import appendable
    from chronicle.kafka.topics import FOR_EVER, clusters_of, create_topics

    retention = FOR_EVER if retain is None else _milliseconds(retain)

    made: dict[str, bool] = {}
    for cluster in clusters_of(appendable(project)):
        made |= create_topics(cluster, partitions, replication or -1, retention)
    if as_json:
        output.json_line({"created": [topic for topic, new in made.items() if new], "topics": list(made)})
        return 0
    for topic, new in made.items():
        output.result(f"{topic}: created, {partitions} partitions" if new else f"{topic}: is there")
    return 0


@command.command("list")
@json_option
@project_options
def list_topics(as_json: bool, project: Project) -> int:
    """The partitions and offsets of each topic.

    \b
    chronicle topics list
    chronicle topics list --json
    """
    from chronicle.appends.target import appendable
    from chronicle.kafka.topics import Extent, clusters_of, topic_extents

    found: dict[str, dict[int, Extent] | None] = {}
    for cluster in clusters_of(appendable(project)):
        found |= topic_extents(cluster)
    if as_json:
        output.json_line({"topics": {topic: _json(extents) for topic, extents in found.items()}})
        return 0
    for topic, extents in found.items():
        if extents is None:
            output.result(f"{topic}: missing (chronicle topics create)")
            continue
        messages = sum(extent.next - extent.earliest for extent in extents.values())
        output.result(f"{topic}: {len(extents)} partitions, {messages:,} messages")
        for number, extent in extents.items():
            output.result(f"  {number}: offsets {extent.earliest} to {extent.next}")
    return 0


def _milliseconds(text: str) -> int:
    from calendars import CalendarError, parse_duration

    try:
        return int(parse_duration(text).average // 1_000)
    except CalendarError:
        raise UsageError(f"--retain: '{text}' is not a duration", "write P30D, P6M or PT12H") from None


def _json(extents: object) -> object:
    from dataclasses import asdict

    return None if not isinstance(extents, dict) else {str(at): asdict(extent) for at, extent in extents.items()}
