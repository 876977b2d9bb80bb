"""Where the source ends now: the offset that its next append will get, by slot. With the state's offsets: the lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from chronicle.definitions import JournalSource, KafkaSource
from chronicle.journal import Journal
from chronicle.project import Project
from views.state import Slot

_PATIENCE_MS = 3_000


def end_offsets(project: Project) -> Mapping[Slot, int] | None:
    """None where the source does not answer."""
    match project.definition.source:
        case JournalSource():
            path = project.journal_path
            assert path is not None  # the source is a journal
            if not path.exists():
                return {Slot("journal", 0): 0}
            with Journal.open(path, create=False) as journal:
                return {Slot("journal", 0): journal.next_offset()}
        case KafkaSource() as source:
            return _kafka_ends(source)
        case _ as never:
            assert_never(never)


def _kafka_ends(source: KafkaSource) -> Mapping[Slot, int] | None:
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError

    options = {name.replace(".", "_"): value for name, value in source.options.items()}
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=source.servers.split(","), request_timeout_ms=_PATIENCE_MS * 2,
            api_version_auto_timeout_ms=_PATIENCE_MS, **options,
        )  # fmt: skip
    except (KafkaError, AssertionError, ValueError):
        return None
    try:
        partitions = [
            TopicPartition(topic, number)
            for topic in source.topics
            for number in consumer.partitions_for_topic(topic) or ()
        ]
        ends = consumer.end_offsets(partitions)
    except KafkaError:
        return None
    finally:
        consumer.close()
    return {Slot(partition.topic, partition.partition): end for partition, end in ends.items()}
