"""The same four views by different engines, each its own process: `python -m benchmarks.contenders.NAME WORK`.

A contender reads the calls of the work directory, keeps the four views, and prints one JSON line: the seconds from its
first micro-batch to its last (start-up apart), the same without the first micro-batch, and its answers' digest.
"""
