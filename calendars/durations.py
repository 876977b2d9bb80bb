"""ISO 8601 durations: months and days step on a wall clock, hours, minutes and seconds are elapsed time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction

from calendars.civil import AVERAGE_MONTH, DAY, HOUR, MINUTE, SECOND
from calendars.errors import CalendarError

_MAX_MICROS = 10_000 * 12 * AVERAGE_MONTH
_NUMBER = r"([0-9]+(?:[.,][0-9]+)?)"
_TEXT = re.compile(
    rf"P(?=[0-9T])(?:{_NUMBER}Y)?(?:{_NUMBER}M)?(?:{_NUMBER}W)?(?:{_NUMBER}D)?"
    rf"(?:T(?=[0-9])(?:{_NUMBER}H)?(?:{_NUMBER}M)?(?:{_NUMBER}S)?)?"
)


class Unit(Enum):
    """What a duration is counted in: years are months, and weeks are days, on any wall clock."""

    MONTHS = "months"
    DAYS = "days"
    ELAPSED = "elapsed time"
    MIXED = "several units"


@dataclass(frozen=True, slots=True)
class Duration:
    """Weeks are kept apart from days because a calendar of weeks has its own default anchor."""

    months: int = 0
    weeks: int = 0
    days: int = 0
    micros: int = 0
    text: str = field(default="", compare=False)
    """As it was written; labels and messages repeat it."""

    def __post_init__(self) -> None:
        if not self.text:
            object.__setattr__(self, "text", _canonical(self))

    def __str__(self) -> str:
        return self.text

    @property
    def all_days(self) -> int:
        return 7 * self.weeks + self.days

    @property
    def is_zero(self) -> bool:
        return not (self.months or self.all_days or self.micros)

    @property
    def unit(self) -> Unit:
        match (self.months != 0, self.all_days != 0, self.micros != 0):
            case (True, False, False):
                return Unit.MONTHS
            case (False, True, False):
                return Unit.DAYS
            case (False, False, _):
                return Unit.ELAPSED
            case _:
                return Unit.MIXED

    @property
    def average(self) -> int:
        """Microseconds, with the Gregorian average for a month."""
        return self.months * AVERAGE_MONTH + self.all_days * DAY + self.micros


def parse_duration(text: object) -> Duration:
    """'P1M', 'P2W', 'PT0.5S', 'P1DT12H'. Zero is a duration (a grace of P0D); a negative one is refused."""
    if not isinstance(text, str):
        raise CalendarError(f"{text!r} is not a duration", fix="write an ISO 8601 duration, like P1M or PT15M")
    written = text.strip()
    if written.startswith("-") or re.search(r"[A-Z]-", written):
        raise CalendarError(f"the duration '{text}' is negative", fix="write a positive one, like P1M")
    match = _TEXT.fullmatch(written)
    if not match:
        raise CalendarError(f"'{text}' is not an ISO 8601 duration", fix=_advice(written))
    years, months, weeks, days = (_whole(number, text) for number in match.groups()[:4])
    duration = Duration(12 * years + months, weeks, days, _elapsed(match, text), written)
    if duration.average > _MAX_MICROS:
        raise CalendarError(f"the duration '{text}' is longer than 10,000 years")
    return duration


def _advice(written: str) -> str:
    if re.fullmatch(r"P[0-9.,]+[HS]", written):
        return f"hours, minutes and seconds follow a T: PT{written[1:]}"
    if _TEXT.fullmatch(written.upper()):
        return f"in capitals: {written.upper()}"
    return "write it like P1M, P2W, P1D or PT15M"


def _whole(number: str | None, text: str) -> int:
    if number is None:
        return 0
    if not number.isdigit():
        raise CalendarError(
            f"'{text}' has a fraction of a year, month, week or day",
            "these have no fixed length",
            "use the next smaller unit, or hours",
        )
    return int(number)


def _elapsed(match: re.Match[str], text: str) -> int:
    numbers = [(match[5], HOUR), (match[6], MINUTE), (match[7], SECOND)]
    given = [(Fraction(number.replace(",", ".")), unit) for number, unit in numbers if number]
    if any(value.denominator != 1 for value, _ in given[:-1]):
        raise CalendarError(f"'{text}' has a fraction before its last unit", "ISO 8601 allows it in the last one only")
    total = sum((value * unit for value, unit in given), Fraction())
    if total.denominator != 1:
        raise CalendarError(f"'{text}' is finer than a microsecond")
    return int(total)


def _canonical(duration: Duration) -> str:
    years, months = divmod(duration.months, 12)
    date = [(years, "Y"), (months, "M"), (duration.weeks, "W"), (duration.days, "D")]
    seconds, fraction = divmod(duration.micros, SECOND)
    time = [(seconds // 3600, "H"), (seconds // 60 % 60, "M")]
    text = "P" + "".join(f"{value}{unit}" for value, unit in date if value)
    clock = "".join(f"{value}{unit}" for value, unit in time if value)
    if seconds % 60 or fraction:
        clock += f"{seconds % 60}" + (f".{fraction:06d}".rstrip("0") if fraction else "") + "S"
    if clock:
        return f"{text}T{clock}"
    return text if text != "P" else "P0D"
