"""Benchmarks of the core, the bridge and Spark, compared with other techniques.

All contenders of a row run alternately in the same process, so that a busy machine slows all of them alike.
docs/benchmarks.md documents the contenders and the limits.
"""
