"""What a micro-batch costs that does nothing: Spark's own source of rows and an empty foreachBatch.

`python -m benchmarks.contenders.empty_triggers WORK COUNT` prints the seconds between two batches in a session as Spark
has it; with `--tuned` in one with the settings of the job.
"""

from __future__ import annotations

import json
import shutil
import sys
import threading
import time
from itertools import pairwise
from pathlib import Path

from pyspark.sql import DataFrame

from benchmarks.contenders.native import session
from streaming.run import JOB_SETTINGS, RunOptions
from streaming.session import open_session


def main(work: Path, count: int, tuned: bool) -> None:
    master = RunOptions().master
    spark = open_session(master, "empty", log=work / "empty.log", settings=JOB_SETTINGS) if tuned else session(master)
    checkpoint = work / "empty-checkpoint"
    shutil.rmtree(checkpoint, ignore_errors=True)
    ended: list[float] = []
    enough = threading.Event()

    def batch(frame: DataFrame, number: int) -> None:
        ended.append(time.perf_counter())
        if len(ended) > count:
            enough.set()

    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1_000).load()
    stream = rows.writeStream.foreachBatch(batch).option("checkpointLocation", str(checkpoint))
    query = stream.trigger(processingTime="0 seconds").start()
    enough.wait()
    query.stop()
    print(json.dumps([after - before for before, after in pairwise(ended)]))
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), "--tuned" in sys.argv)
