"""Lookups: rows of persistent views, straight from the state; no Spark, no Java, microseconds (docs/lookups.md).

views = connect("chronicle.yaml")
row = views["usage"].get(caller="c1")      # Row | None
"""

from views.lookup.connection import Views, connect
from views.lookup.faults import NotYetError, PeriodExpiredError, UnknownViewError
from views.lookup.ledger import Ledger
from views.lookup.row import AsOf, Row, RowPeriod
from views.lookup.status import Status, status_of
from views.lookup.view import View

__all__ = [
    "AsOf",
    "Ledger",
    "NotYetError",
    "PeriodExpiredError",
    "Row",
    "RowPeriod",
    "Status",
    "UnknownViewError",
    "View",
    "Views",
    "connect",
    "status_of",
]
