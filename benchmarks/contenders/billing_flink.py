"""Flink SQL from Kafka: a temporal join with the last change of each customer, a text for the month, and a hopping
window of thirty days in the session's zone. The customers' topic has one partition: a version that Flink meets after a
later one of its customer is lost.
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.contenders.billing import ZONE
from benchmarks.contenders.flink_kafka import View, race, reading, servers_of

CALLS = "caller STRING, seconds BIGINT, `at` TIMESTAMP_LTZ(3), WATERMARK FOR `at` AS `at` - INTERVAL '0.001' SECOND"
CUSTOMERS = (
    "number STRING, state STRING, `_from` TIMESTAMP_LTZ(3), WATERMARK FOR `_from` AS `_from` - INTERVAL '0.001' SECOND"
)
IN_FORCE = (
    "CREATE VIEW in_force AS SELECT number, state, `_from` FROM (SELECT *, ROW_NUMBER() OVER "
    "(PARTITION BY number ORDER BY `_from` DESC) AS place FROM customers) WHERE place = 1"
)
VALUES = "count(*), sum(seconds), max(seconds)"
VIEWS = {
    "jersey": View(
        1,
        f"SELECT caller, {VALUES} FROM calls JOIN in_force FOR SYSTEM_TIME AS OF calls.`at` "
        "ON caller = number WHERE state = 'NJ' GROUP BY caller",
    ),
    "monthly": View(
        2,
        f"SELECT caller, DATE_FORMAT(`at`, 'yyyy-MM'), {VALUES} FROM calls "
        "GROUP BY caller, DATE_FORMAT(`at`, 'yyyy-MM')",
    ),
    "moving": View(
        2,
        f"SELECT caller, DATE_FORMAT(window_start, 'yyyy-MM-dd'), {VALUES} FROM "
        "TABLE(HOP(TABLE calls, DESCRIPTOR(`at`), INTERVAL '1' DAY, INTERVAL '30' DAY)) "
        "GROUP BY caller, window_start, window_end",
    ),
}


if __name__ == "__main__":
    directory = Path(sys.argv[1])
    servers = servers_of(directory)
    tables = [reading("calls", CALLS, servers), reading("customers", CUSTOMERS, servers), IN_FORCE]
    race(directory, tables, VIEWS, {"table.local-time-zone": ZONE})
