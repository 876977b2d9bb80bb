"""How long a caller is ready to wait: `2s`, `500ms`, `1m`, an ISO 8601 duration, or a number of seconds."""

from __future__ import annotations

import re

from calendars import CalendarError, parse_duration
from chronicle.errors import UsageError

_TEXT = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?")
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}


def parse_wait(text: str) -> float:
    """Seconds."""
    if match := _TEXT.fullmatch(text.strip()):
        return float(match[1]) * _SECONDS[match[2]]
    try:
        return parse_duration(text).average / 1_000_000
    except CalendarError:
        raise UsageError(f"'{text}' is not a time to wait", "write 2s, 500ms, 1m or PT2S") from None
