"""What a state says about itself: `meta.json`, with its format, shards, and the registries of views, relations, slots.

Ids are given once and never again, so rows of a view that was dropped cannot be taken for another's. The shard
function, the key encoding and the row layout belong to the format: a newer one is refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import orjson

from chronicle.errors import ChronicleError, NotFoundError
from chronicle.sequence import MAX_SLOTS
from views.state.directory import Directory
from views.state.durable import write_whole
from views.state.storage import Storage

FORMAT = 1
META = "meta.json"


class NoStateError(NotFoundError):
    """No job has made the state yet."""

    def __init__(self, home: Path | Storage) -> None:
        super().__init__(f"there is no state at {home}", "run `chronicle run --once` first, or name it with --state")


MAX_IDS = 1 << 16


@dataclass(frozen=True, slots=True)
class Registered:
    """`since` are the high waters by slot when a view was registered: what it has not seen lies below them."""

    id: int
    fingerprint: str
    since: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Slot:
    """A topic-partition of the group, or the journal (topic `journal`, partition 0)."""

    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Meta:
    """`corrected`: by view how many retroactive changes of its relations its rows have been repaired for."""

    group: str
    shards: int
    store: Literal["embedded", "delta"]
    tzdata: str
    id: str
    journal: str | None = None
    views: Mapping[str, Registered] = field(default_factory=dict)
    relations: Mapping[str, Registered] = field(default_factory=dict)
    slots: tuple[Slot, ...] = ()
    next_id: int = 1
    corrected: Mapping[str, int] = field(default_factory=dict)
    format: int = FORMAT


def new_meta(group: str, shards: int, tzdata: str, store: Literal["embedded", "delta"] = "embedded") -> Meta:
    if not 1 <= shards <= 4096:
        raise ChronicleError(f"a state has 1 to 4096 shards, not {shards}", "set `shards` in the definition")
    return Meta(group, shards, store, tzdata, uuid4().hex)


def read_meta(home: Path | Storage) -> Meta:
    storage = Directory(home) if isinstance(home, Path) else home
    try:
        return _decoded(storage, storage.read(META))
    except FileNotFoundError:
        raise NoStateError(home) from None


def _decoded(home: Storage, written: bytes) -> Meta:
    try:
        content: dict[str, Any] = orjson.loads(written)
    except orjson.JSONDecodeError as error:
        raise ChronicleError(f"{home.named(META)} is damaged: {error}", "restore it from a backup") from None
    if content.get("format", 0) > FORMAT:
        raise ChronicleError(
            f"the state at {home} has format {content['format']}, this version reads up to {FORMAT}",
            "upgrade chronicle",
        )
    content["views"] = {name: Registered(**each) for name, each in content["views"].items()}
    content["relations"] = {name: Registered(**each) for name, each in content["relations"].items()}
    content["slots"] = tuple(Slot(**each) for each in content["slots"])
    return Meta(**content)


def write_meta(directory: Path, meta: Meta) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    write_whole(directory / META, _encoded(meta))


def _encoded(meta: Meta) -> bytes:
    return orjson.dumps(asdict(meta), option=orjson.OPT_INDENT_2)


def replace_meta(home: Storage, held: Meta | None, meta: Meta) -> None:
    """For a Delta state, which a job that was taken over may still believe to be its own: refused where the registry is
    not the one that this job holds (None: there is none)."""

    def change(written: bytes | None) -> bytes:
        found = None if written is None else _decoded(home, written)
        if found not in (held, meta):
            raise ChronicleError(
                f"another job has changed {home.named(META)}", "let only one job have the state; start this one again"
            )
        return _encoded(meta)

    home.update(META, change)


@dataclass(frozen=True, slots=True)
class Drift:
    """How a definition differs from a state: names that are new, that mean something else now, and that are gone."""

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]


def drift(registered: Mapping[str, Registered], wanted: Mapping[str, str]) -> Drift:
    """`wanted`: name -> fingerprint."""
    added = tuple(name for name in wanted if name not in registered)
    changed = tuple(n for n, print_ in wanted.items() if n in registered and registered[n].fingerprint != print_)
    return Drift(added, changed, tuple(name for name in registered if name not in wanted))


def register(
    meta: Meta, views: Mapping[str, str], relations: Mapping[str, str], since: Mapping[str, int] | None = None
) -> Meta:
    """The meta with ids for the names that are new; `views` and `relations` are name -> fingerprint. A view that is no
    longer wanted is forgotten: if it comes back, it has missed appends and begins anew."""
    known_views = {name: known for name, known in meta.views.items() if name in views}
    next_id, known_relations = meta.next_id, dict(meta.relations)
    for known, wanted in ((known_views, views), (known_relations, relations)):
        for name, fingerprint in wanted.items():
            if name not in known:
                known[name] = Registered(next_id, fingerprint, dict(since or {}))
                next_id += 1
    if next_id > MAX_IDS:
        raise ChronicleError("a state has at most 65,535 views and relations over its life", "start a new state")
    return replace(meta, views=known_views, relations=known_relations, next_id=next_id)


def with_new_ids(meta: Meta, views: Iterable[str]) -> Meta:
    """The meta in which these views have ids that were never used: for rows built anew beside the old ones."""
    known, next_id = dict(meta.views), meta.next_id
    for name in views:
        known[name] = Registered(next_id, known[name].fingerprint)
        next_id += 1
    return replace(meta, views=known, next_id=next_id)


def register_slots(meta: Meta, topics: Mapping[str, int]) -> Meta:
    """The meta with a slot for every partition of `topics` (name -> number of partitions); known ones keep theirs."""
    slots = list(meta.slots)
    for topic, partitions in topics.items():
        slots += [slot for n in range(partitions) if (slot := Slot(topic, n)) not in meta.slots]
    if len(slots) > MAX_SLOTS:
        raise ChronicleError(f"a group has at most {MAX_SLOTS} topic-partitions, not {len(slots)}")
    return replace(meta, slots=tuple(slots))
