"""Chronicle from Kafka: `streaming.run` as `chronicle run --once` calls it, durable state in LMDB."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.contenders.ours import keep
from benchmarks.contenders.topic import DEFINITION, batch_of

if __name__ == "__main__":
    directory = Path(sys.argv[1])
    keep(directory / DEFINITION, most=batch_of(directory))
