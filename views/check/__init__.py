"""The checker (chronicle-data-model §4): which views can be kept up to date without reading the chronicle again."""

from views.check.checking import check
from views.check.verdict import Verdict, ViewVerdict

__all__ = ["Verdict", "ViewVerdict", "check"]
