"""Definitions that several tests start from."""

from importlib.resources import files

EXAMPLES = ("telecom", "flyer", "bank")

SMALL = """\
chronicle: 1
name: small
chronicles:
  calls:
    columns: {caller: string, seconds: int64, amount: "decimal(12,2)", at: timestamp}
    chronon: at
relations:
  customers:
    key: [number]
    columns: {number: string, zone: string, since: timestamp}
calendars:
  month: {every: P1M, zone: America/New_York}
views:
  usage:
    from: calls
    group_by: [caller]
    select: {seconds: sum(seconds)}
    period: {calendar: month}
"""


def example_text(name: str) -> str:
    return files("chronicle").joinpath("examples", name, "chronicle.yaml").read_text()
