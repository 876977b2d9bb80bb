"""What `spark-submit` and the Spark operator start: `chronicle run` with the options that follow this file's name."""

from __future__ import annotations

import sys

from chronicle.cli.main import main

if __name__ == "__main__":
    main(["run", *sys.argv[1:]])
