"""`python -m benchmarks.suite NAME FILE [--quick]`: one suite, what it measured pickled into the file."""

from __future__ import annotations

import importlib
import pickle
import sys
from pathlib import Path

if __name__ == "__main__":
    name, found, *flags = sys.argv[1:]
    measured = importlib.import_module(f"benchmarks.{name}").run(quick="--quick" in flags)
    Path(found).write_bytes(pickle.dumps(measured))
