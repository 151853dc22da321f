"""Benchmarks of the core, the bridge and Spark, compared with other techniques.

All contenders of a row take turns within one run, so that a busy machine slows all of them alike.
docs/benchmarks.md documents the contenders and the limits.
"""
