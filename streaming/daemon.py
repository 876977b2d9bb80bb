"""Spark's daemon of Python workers, with everything imported that a task needs: `python -m streaming.daemon MODULE`.

A worker is a fork of its daemon. Spark's own imports nothing before it forks, so that each worker imports for itself:
half a second of a core, and again whenever one dies. What is imported here starts no thread that a fork would miss:
OpenBLAS is kept to one, and Arrow makes its pools anew in a child. DuckDB and LMDB are opened by workers only.
"""

from __future__ import annotations

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from pyspark import daemon, worker

from streaming import tasks
from streaming.delta import tasks as delta_tasks

PRELOADED = (worker, tasks, delta_tasks)

if __name__ == "__main__":
    gc.freeze()
    daemon.manager()
