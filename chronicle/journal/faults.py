"""What the journal can say is wrong, each with what to do."""

from __future__ import annotations

from chronicle.errors import ChronicleError


class JournalError(ChronicleError):
    """The journal cannot do what was asked."""


class JournalMissingError(JournalError):
    """There is no journal at the path."""


class JournalDamagedError(JournalError):
    """Bytes that were acknowledged as durable are gone or changed."""


class JournalReplacedError(JournalError):
    """The journal was deleted, or deleted and made anew, while it was open here."""


class OffsetGoneError(JournalError):
    """The offsets asked for were removed by retention, or never existed."""
