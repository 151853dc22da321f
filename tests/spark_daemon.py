"""Spark's daemon of Python workers, with large packages imported before the workers fork.

A worker of Spark's own daemon uses half a second of CPU time for these imports, and the tests start hundreds of
workers.
"""

from __future__ import annotations

import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
