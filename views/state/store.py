"""A state as a whole: `.chronicle/` with meta.json, plans.json, lock, and shards/NN, one LMDB environment each.

The driver prepares it (`State.prepare`, under `writer_lock`), workers and readers open it. Relation versions may be
read from every shard by anyone; rows are written only through `State.shard(n).write`, by one task per shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import pyarrow as pa

from chronicle.errors import ChronicleError
from views.state.arrow_keys import shards_of
from views.state.cuts import CutLog
from views.state.environment import MAP_SIZE, close_environment, environment
from views.state.epochs import EpochLog
from views.state.held import HeldVersions
from views.state.layout import RelationLayout, ViewLayout
from views.state.meta import (
    Meta,
    Slot,
    drift,
    new_meta,
    read_meta,
    register,
    register_slots,
    replace_meta,
    with_new_ids,
    write_meta,
)
from views.state.shard import Shard
from views.state.snapshot import Registry, Snapshot
from views.state.standing import Standing
from views.state.storage import Storage
from views.state.versions import version_schema


@dataclass(frozen=True, slots=True)
class State:
    directory: Path
    meta: Meta
    registry: Registry
    map_size: int = MAP_SIZE
    home: Storage | None = None
    """The Delta state of which these shards are an index, in the job that writes it: there the registry is kept."""

    @classmethod
    def open(
        cls,
        directory: Path,
        views: Iterable[ViewLayout] = (),
        relations: Iterable[RelationLayout] = (),
        map_size: int = MAP_SIZE,
    ) -> State:
        """An existing state, seen through the layouts of the current definition. Names that the state does not have
        yet are left out of its registry; one whose meaning changed is refused."""
        meta = read_meta(directory)
        return cls(directory, meta, _registry(meta, tuple(views), tuple(relations)), map_size)

    @classmethod
    def prepare(
        cls,
        directory: Path,
        group: str,
        views: Sequence[ViewLayout],
        relations: Sequence[RelationLayout],
        *,
        shards: int,
        tzdata: str,
        topics: Mapping[str, int],
        store: Literal["embedded", "delta"] = "embedded",
        map_size: int = MAP_SIZE,
    ) -> State:
        """For the job, under the writer's lock: makes the state if there is none, and registers what is new.

        `shards` and `store` count for a new state only. `topics` are the source's topics with their partitions;
        the journal is {"journal": 1}. A view that is added to a state with history starts from now: `meta.views[name]
        .since` says where, and it is the caller's to say so or to rebuild it.
        """
        fresh = not (directory / "meta.json").exists()
        meta = new_meta(group, shards, tzdata, store) if fresh else read_meta(directory)
        if meta.group != group:
            raise ChronicleError(
                f"the state at {directory} belongs to the group {meta.group}, not to {group}", "give --state another"
            )
        refuse_changes(directory, meta, views, relations)
        for index in range(meta.shards):
            environment(_shard_path(directory, index), create=True, map_size=map_size)
        since = _high_waters(directory)
        if fresh and since:
            raise ChronicleError(
                f"the state at {directory} has rows, and its meta.json is gone: what they mean is not known",
                "restore meta.json from a backup, or start a new state with --state",
            )
        prints = {layout.name: layout.fingerprint for layout in views}
        wanted = register(meta, prints, {layout.name: layout.fingerprint for layout in relations}, since)
        wanted = register_slots(wanted, topics)
        if fresh or wanted != meta:
            write_meta(directory, wanted)
        return cls(directory, wanted, _registry(wanted, tuple(views), tuple(relations)), map_size)

    def with_slots(self, new: Iterable[Slot]) -> State:
        """For the job: the same state with further topic-partitions registered, durably."""
        wanted = replace(self.meta, slots=(*self.meta.slots, *(slot for slot in new if slot not in self.meta.slots)))
        self._write(wanted)
        return replace(self, meta=wanted)

    def with_new_ids(self, views: Iterable[str]) -> State:
        """The same state where these views are still to be built, under new ids. The ids are taken durably; readers see
        the old rows until `adopt`."""
        wanted = with_new_ids(self.meta, views)
        self._write(replace(self.meta, next_id=wanted.next_id))
        layouts = tuple(layout for _, layout in self.registry.views.values())
        relations = tuple(layout for _, layout in self.registry.relations.values())
        return replace(self, meta=wanted, registry=_registry(wanted, layouts, relations))

    def adopt(self, corrected: Mapping[str, int]) -> State:
        """Makes what `with_new_ids` began the state that readers see; `corrected` as in Meta."""
        wanted = replace(self.meta, corrected={**self.meta.corrected, **corrected})
        self._write(wanted)
        return replace(self, meta=wanted)

    def of_journal(self, identity: str) -> State:
        """For the job: the state of this journal, and of no other from now on."""
        if self.meta.journal == identity:
            return self
        if self.meta.journal is not None:
            raise ChronicleError(
                f"the journal is not the one that {self.directory} was made from",
                "put the journal back, or start a new state with --state",
            )
        wanted = replace(self.meta, journal=identity)
        self._write(wanted)
        return replace(self, meta=wanted)

    def _write(self, meta: Meta) -> None:
        if self.home is None:
            write_meta(self.directory, meta)
        else:
            replace_meta(self.home, self.meta, meta)

    @property
    def shards(self) -> int:
        return self.meta.shards

    @property
    def epochs(self) -> EpochLog:
        """What is written down before it is run: of a Delta state on the machine of its job, since an epoch is one
        commit there, and who takes the state over needs nothing of one that was not committed."""
        return EpochLog(self.directory)

    @property
    def cuts(self) -> CutLog:
        return CutLog(self.directory if self.home is None else self.home.own)

    def shard(self, index: int) -> Shard:
        opened = environment(_shard_path(self.directory, index), map_size=self.map_size)
        return Shard(index, opened, self.registry)

    def close(self) -> None:
        """Gives up this process's handles: for a state whose files are gone or replaced."""
        for index in range(self.shards):
            close_environment(_shard_path(self.directory, index))

    @property
    def size_bytes(self) -> int:
        """What the shards' files take on disk."""
        paths = (_shard_path(self.directory, index) / "data.mdb" for index in range(self.shards))
        return sum(path.stat().st_size for path in paths)

    def standings(self) -> list[Standing]:
        """Where every shard stands: after a crash some may be one epoch ahead of the others."""
        return [self.shard(index).standing() for index in range(self.shards)]

    def versions(self, relation: str, keys: Sequence[bytes] | pa.BinaryArray) -> pa.Table:
        """As a VersionStore gives them, from all shards: one seek a key."""
        listed = keys.to_pylist() if isinstance(keys, pa.Array) else list(keys)
        tables = [version_schema(self.registry.relations[relation][1]).empty_table()]
        by_shard: dict[int, list[int]] = {}
        for place, shard in enumerate(shards_of(listed, self.shards).tolist()):
            by_shard.setdefault(shard, []).append(place)
        for index, places in by_shard.items():
            with self.shard(index).read() as snapshot:
                tables.append(snapshot.versions(relation, [listed[place] for place in places], places))
        return pa.concat_tables(tables)

    def superseded(self, relation: str, keys: Sequence[bytes], valid_from: Sequence[int]) -> pa.Table:
        """As a VersionStore gives them."""
        tables = [version_schema(self.registry.relations[relation][1]).empty_table()]
        of_key = shards_of(list(keys), self.shards).tolist()
        for index in sorted(set(of_key)):
            own = [place for place, shard in enumerate(of_key) if shard == index]
            with self.shard(index).read() as snapshot:
                asked = [keys[place] for place in own], [valid_from[place] for place in own]
                tables.append(snapshot.superseded(relation, *asked, own))
        return pa.concat_tables(tables)

    def scan_versions(self, relation: str) -> Iterator[pa.Table]:
        """All versions of a relation, shard by shard and batch by batch."""
        for index in range(self.shards):
            with self.shard(index).read() as snapshot:
                yield from snapshot.scan_versions(relation)

    def versions_changed_at(self) -> tuple[int, ...]:
        """The last epoch that brought a version to each shard: as long as it is the same, so are all versions."""
        return tuple(snapshot.changed_at() for snapshot in self._snapshots())

    @property
    def version_bytes(self) -> int:
        """What the versions of all relations take in the shards' files; nothing is scanned for it."""
        return sum(snapshot.version_bytes() for snapshot in self._snapshots())

    def held_versions(self, relations: Iterable[str]) -> HeldVersions:
        """A copy of the versions of these relations, for who has no shards to read: O(|R|)."""
        ids = {name: identity for name, (identity, _) in self.registry.relations.items() if name in relations}
        stored: dict[bytes, bytes] = {}
        replaced: dict[bytes, bytes] = {}
        for snapshot in self._snapshots():
            for identity in ids.values():
                stored.update(snapshot.stored_versions(identity))
            replaced |= snapshot.replaced_versions()
        layouts = {name: self.registry.relations[name] for name in ids}
        return HeldVersions.of(layouts, stored, replaced)

    def _snapshots(self) -> Iterator[Snapshot]:
        for index in range(self.shards):
            with self.shard(index).read() as snapshot:
                yield snapshot


def _shard_path(directory: Path, index: int) -> Path:
    return directory / "shards" / f"{index:02d}"


def _registry(meta: Meta, views: tuple[ViewLayout, ...], relations: tuple[RelationLayout, ...]) -> Registry:
    return Registry(
        {layout.name: (meta.views[layout.name].id, layout) for layout in views if layout.name in meta.views},
        {
            layout.name: (meta.relations[layout.name].id, layout)
            for layout in relations
            if layout.name in meta.relations
        },
    )


def refuse_changes(
    home: Path | Storage, meta: Meta, views: Sequence[ViewLayout], relations: Sequence[RelationLayout]
) -> None:
    """Raises where a view or a relation has kept its name and not its meaning."""
    for what, known, layouts in (("view", meta.views, views), ("relation", meta.relations, relations)):
        wanted = {layout.name: layout.fingerprint for layout in layouts}
        if changed := drift(known, wanted).changed:
            raise ChronicleError(
                f"the {what} {', '.join(changed)} no longer means what the state at {home} holds",
                f"give the changed {what} another name, or start a new state with --state",
            )


def _high_waters(directory: Path) -> dict[str, int]:
    opened = environment(_shard_path(directory, 0))
    standing = Shard(0, opened, Registry({}, {})).standing()
    return {str(slot): at.next_offset for slot, at in standing.slots.items()}
