"""Relation versions in memory: what workers that share no disk with the state are sent while it is little.

A copy of what the shards hold, in the order of their keys, so that a lookup is a binary search as it is a seek there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from views.state.keys import view_prefix
from views.state.layout import RelationLayout
from views.state.versions import (
    is_version_of,
    unpack_batches,
    unpack_versions,
    valid_from_in,
    version_key,
    version_prefix,
)

HELD_BELOW = 8_000_000
"""Bytes that the versions of a group take in the state, below which every worker of a cluster holds them. A job takes
some 0.1 s to send as many, after each epoch that changed one (docs/delta.md)."""

_BATCH = 50_000


@dataclass(frozen=True, slots=True)
class HeldVersions:
    """A VersionStore. `relations` are layouts with the ids under which the state keeps them, `keys` and `values` its
    versions as they are stored, `replaced` those in whose place the last epoch put its own."""

    relations: Mapping[str, tuple[int, RelationLayout]] = field(default_factory=dict)
    keys: Sequence[bytes] = ()
    values: Sequence[bytes] = ()
    replaced: Mapping[bytes, bytes] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        relations: Mapping[str, tuple[int, RelationLayout]],
        stored: Mapping[bytes, bytes],
        replaced: Mapping[bytes, bytes],
    ) -> HeldVersions:
        keys = sorted(stored)
        return cls(relations, keys, [stored[key] for key in keys], replaced)

    def versions(self, relation: str, keys: Sequence[bytes] | pa.BinaryArray) -> pa.Table:
        identity, layout = self.relations[relation]
        listed = keys.to_pylist() if isinstance(keys, pa.Array) else list(keys)
        index: list[int] = []
        valid_from: list[int] = []
        values: list[bytes] = []
        for place, key in enumerate(listed):
            for at in self._of(version_prefix(identity, key)):
                index.append(place)
                valid_from.append(valid_from_in(self.keys[at]))
                values.append(self.values[at])
        return unpack_versions(layout, index, valid_from, values)

    def superseded(self, relation: str, keys: Sequence[bytes], valid_from: Sequence[int]) -> pa.Table:
        identity, layout = self.relations[relation]
        asked = [version_key(identity, key, since) for key, since in zip(keys, valid_from, strict=True)]
        found = [place for place, key in enumerate(asked) if key in self.replaced]
        values = [self.replaced[asked[place]] for place in found]
        return unpack_versions(layout, found, [valid_from[place] for place in found], values)

    def scan_versions(self, relation: str) -> Iterator[pa.Table]:
        identity, layout = self.relations[relation]
        first, beyond = (bisect_left(self.keys, view_prefix(each)) for each in (identity, identity + 1))
        own = slice(first, beyond)
        return unpack_batches(layout, zip(self.keys[own], self.values[own], strict=True), _BATCH)

    def _of(self, prefix: bytes) -> Iterator[int]:
        """Where the versions of one key are, oldest first."""
        at = bisect_left(self.keys, prefix)
        while at < len(self.keys) and is_version_of(prefix, self.keys[at]):
            yield at
            at += 1
