"""Where the source ends now: the offset that its next append will get, by slot. With the state's offsets: the lag."""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from chronicle.definitions import Definition, JournalSource, KafkaSource
from chronicle.errors import ChronicleError
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
        case KafkaSource():
            return _kafka_ends(project.definition)
        case _ as never:
            assert_never(never)


def _kafka_ends(definition: Definition) -> Mapping[Slot, int] | None:
    """Of the source's topics and of those that relations have for themselves; a topic that is missing holds nothing."""
    from chronicle.kafka.topics import clusters_of, topic_extents

    ends: dict[Slot, int] = {}
    try:
        for cluster in clusters_of(definition):
            for topic, extents in topic_extents(cluster, _PATIENCE_MS).items():
                ends |= {Slot(topic, number): extent.next for number, extent in (extents or {}).items()}
    except ChronicleError:
        return None
    return ends
