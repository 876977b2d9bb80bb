"""Spark: the source, `foreachBatch`, epochs and recovery, recomputation. The only package that imports pyspark."""
