"""The same four views by different engines, each its own process: `python -m benchmarks.contenders.NAME WORK`.

A contender reads the calls of the work directory, keeps the four views, and prints one JSON line: the seconds from the
beginning of its first micro-batch to the end of its last (start-up apart), the same without the first micro-batch, and
with `--answers` a digest of its answers. One that needs what is not installed says what: {"missing": "polars"}.
"""
