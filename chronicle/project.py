"""A project: a definition with what follows from it: calendars, the verdict on its views, and where its files live."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from chronicle.definitions import Definition, JournalSource, Loaded, load
from chronicle.errors import DefinitionError

if TYPE_CHECKING:
    from chronicle.definitions.consistency import Calendars
    from views.check import Verdict


class Project:
    """Read at once, checked when first asked. Relative paths are relative to the (first) definition file."""

    def __init__(self, loaded: Loaded, state: str | Path | None = None) -> None:
        self.loaded = loaded
        self._state = None if state is None else Path(state)

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
    def state_dir(self) -> Path:
        """Where views, ledger and checkpoint live; one that was given (`--state`) is relative to where we are."""
        return self._state if self._state is not None else self.directory / self.definition.state

    @property
    def journal_path(self) -> Path | None:
        """Where the journal is; None when the source is Kafka."""
        source = self.definition.source
        return self.directory / source.path if isinstance(source, JournalSource) else None
