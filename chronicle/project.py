"""A project: a definition with what follows from it: calendars, the verdict on its views, and where its files live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from chronicle.definitions import Definition, JournalSource, Loaded, load
from chronicle.errors import DefinitionError, UsageError

if TYPE_CHECKING:
    from chronicle.definitions.consistency import Calendars
    from views.check import Verdict
    from views.state.storage import Storage


class Project:
    """Read at once, checked when first asked. Relative paths are relative to the (first) definition file."""

    def __init__(self, loaded: Loaded, state: str | Path | None = None) -> None:
        self.loaded = loaded
        self._state = None if state is None else str(state)

    @classmethod
    def load(cls, paths: str | Path | Sequence[str | Path], *, state: str | Path | None = None) -> Project:
        return cls(load(paths), state)

    @property
    def definition(self) -> Definition:
        """The definition; DefinitionError with every fault where it has any."""
        if self.loaded.definition is None or self.loaded.all_faults:
            raise DefinitionError(self.loaded.all_faults)
        return self.loaded.definition

    @property
    def calendars(self) -> Calendars:
        return self.loaded.calendars

    @cached_property
    def verdict(self) -> Verdict:
        """What the checker says of every view; faults of the definition are in it, never raised."""
        from views.check import check

        return check(self.loaded)

    def check(self) -> Verdict:
        return self.verdict

    @property
    def directory(self) -> Path:
        return self.loaded.directory

    @property
    def home(self) -> Storage:
        """Where the state is: a directory, or with the Delta store a prefix of a bucket."""
        from views.state.storage import storage_at

        stated = self._state or self.definition.state
        return storage_at(stated if self._state or "://" in stated else self.directory / stated)

    @property
    def state_dir(self) -> Path:
        """The directory of an embedded state; one that was given (`--state`) is relative to where we are."""
        stated = self._state or self.definition.state
        if "://" not in stated:
            return Path(stated) if self._state else self.directory / stated
        if (url := urlsplit(stated)).scheme != "file":
            raise UsageError(
                f"the state {self.home} is on an object store, and an embedded state is a directory",
                "keep it there with --store delta, or name a directory with --state",
            )
        return Path(url.path)

    @property
    def journal_path(self) -> Path | None:
        """Where the journal is; None when the source is Kafka."""
        source = self.definition.source
        return self.directory / source.path if isinstance(source, JournalSource) else None
