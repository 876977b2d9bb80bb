"""What a lookup may answer instead of a row; each with its exit code, and its status in `views.http.problems`."""

from __future__ import annotations

from collections.abc import Iterable

from chronicle.appends import Token
from chronicle.errors import ChronicleError, NotFoundError, did_you_mean


class UnknownViewError(NotFoundError, KeyError):
    """The definition has no view of this name."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"there is no view '{name}'{did_you_mean(name, known)}", "`chronicle check` lists the views")

    def __str__(self) -> str:
        return self.message


class PeriodExpiredError(NotFoundError):
    """The period is over for so long that its rows are gone."""

    def __init__(self, view: str, label: str) -> None:
        super().__init__(f"the period {label} of view {view} is expired", "its rows were deleted, by `expire_after`")
        self.label = label


class NotYetError(ChronicleError):
    """The state does not reflect the append of a token yet."""

    def __init__(self, token: Token | str) -> None:
        super().__init__(f"the append {token} is not in the views yet", "is `chronicle run` running? then wait longer")
        self.token = token
