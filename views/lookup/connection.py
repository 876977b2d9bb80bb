"""The way in: a project's views by name, opened when they are first asked for, and opened anew when the state is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from chronicle.appends import Token, parse_token
from chronicle.errors import ChronicleError, DefinitionError, NotFoundError, UsageError
from chronicle.project import Project
from views.checked import CheckedView
from views.lookup.faults import NotYetError, UnknownViewError
from views.lookup.ledger import Ledger, read_ledger
from views.lookup.view import View
from views.state import RelationLayout, Shard, Slot, State, ViewLayout, layout_of, read_meta
from views.state.directory import Directory
from views.state.meta import META
from views.state.storage import Storage, storage_at

_REFRESH_SECONDS = 1.0
_POLL_SECONDS = 0.002


def connect(project: Project | str | Path, state: str | Path | None = None) -> Views:
    """Lookups on a project's views. The state need not be there yet; a lookup before it is raises NotFoundError."""
    opened = project if isinstance(project, Project) else Project.load(project)
    return Views(opened, opened.home if state is None else storage_at(state))


class Views(Mapping[str, View]):
    """Views by name; safe to share among threads. Iterating gives the names that the checker admits."""

    def __init__(self, project: Project, home: Storage) -> None:
        self.project = project
        self.home = home
        definition = project.definition  # raises DefinitionError with every fault
        self._verdict = project.check()
        if self._verdict.errors:
            raise DefinitionError(self._verdict.errors)
        self._checked: dict[str, CheckedView] = self._verdict.admitted
        self._layouts: dict[str, ViewLayout] = {name: layout_of(view) for name, view in self._checked.items()}
        self._relations = [
            RelationLayout(name, relation.columns.columns, tuple(relation.key))
            for name, relation in definition.relations.items()
        ]
        self._state: State | None = None
        self._stamp: str | None = None
        self._looked = 0.0
        self._views: dict[str, View] = {}

    def __getitem__(self, name: str) -> View:
        if time.monotonic() - self._looked > _REFRESH_SECONDS:
            self._refresh()
        return self._views.get(name) or self._opened(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._checked)

    def __len__(self) -> int:
        return len(self._checked)

    @property
    def checked(self) -> Mapping[str, CheckedView]:
        return self._checked

    @property
    def state(self) -> State:
        """The state; NoStateError before a job has made it."""
        self._refresh()
        if self._state is None:
            self._state = State.open(self._readable(), self._layouts.values(), self._relations)
        return self._state

    def _readable(self) -> Path:
        """Where the rows are: of a Delta state in an index that follows it."""
        if isinstance(self.home, Directory) and read_meta(self.home).store == "embedded":
            return self.home.path
        from views.replica import readable

        return readable(self.project, self.home)

    def ledger(self, fate: str | None = None, limit: int | None = None) -> Ledger:
        return read_ledger(self.state, fate, limit)

    def slot_of(self, token: str | Token) -> tuple[int, int]:
        """The slot and the offset that a token names; UsageError where the state has no such slot."""
        parsed = parse_token(token) if isinstance(token, str) else token
        slot = Slot(parsed.topic or "journal", parsed.partition)
        if slot not in self.state.meta.slots:
            if any(each.topic == slot.topic for each in self.state.meta.slots):
                raise NotYetError(parsed)  # a partition that the job has not met yet
            known = ", ".join(f"{each.topic}-{each.partition}" for each in self.state.meta.slots)
            raise UsageError(f"the token {parsed} is not of this group", f"its slots: {known}")
        return self.state.meta.slots.index(slot), parsed.offset

    def wait_for(self, shard: Shard, token: str | Token, wait: float) -> None:
        """Returns once the shard reflects the append; NotYetError when `wait` seconds have passed."""
        slot, offset = self.slot_of(token)
        until = time.monotonic() + wait
        while not shard.standing().reflects(slot, offset):
            if time.monotonic() >= until:
                raise NotYetError(token)
            time.sleep(_POLL_SECONDS)

    def _opened(self, name: str) -> View:
        if name not in self._checked:
            refused = self._verdict.views.get(name)
            raise DefinitionError(refused.refusals) if refused else UnknownViewError(name, self._checked)
        registered = self.state.meta.views.get(name)
        if registered is None:
            raise NotFoundError(f"view {name} is not in the state yet", "`chronicle run` adds it")
        layout = self._layouts[name]
        if registered.fingerprint != layout.fingerprint:
            raise ChronicleError(
                f"view {name} no longer means what the state at {self.home} holds",
                "give the changed view another name, or start a new state with --state",
            )
        view = self._views[name] = View(self, self.state, self._checked[name], layout)
        return view

    def _refresh(self) -> None:
        """Notices that the job has registered something new, or that the state was replaced."""
        self._looked = time.monotonic()
        stamp = self.home.stamp(META)
        if stamp == self._stamp:
            return
        before, self._stamp, self._state, self._views = self._state, stamp, None, {}
        if before is not None and (stamp is None or self.state.meta.id != before.meta.id):
            before.close()
