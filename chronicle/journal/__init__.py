"""The embedded source: a durable append-only log with Kafka's columns, and no broker."""

from __future__ import annotations

from chronicle.journal.columns import HEADERS_TYPE, SCHEMA
from chronicle.journal.faults import (
    JournalDamagedError,
    JournalError,
    JournalMissingError,
    JournalReplacedError,
    OffsetGoneError,
)
from chronicle.journal.frames import Headers
from chronicle.journal.journal import Journal, Record, records
from chronicle.journal.reader import Extent

__all__ = [
    "Journal",
    "Record",
    "Headers",
    "Extent",
    "records",
    "SCHEMA",
    "HEADERS_TYPE",
    "JournalError",
    "JournalMissingError",
    "JournalDamagedError",
    "JournalReplacedError",
    "OffsetGoneError",
]
