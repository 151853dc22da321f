"""Spark's daemon of Python workers, with large packages imported before the workers fork, and without zip files.

A worker of Spark's own daemon uses half a second of CPU time for these imports. Spark puts the zip files of PySpark and
a jar first on the path of modules. Python then compiles the modules of PySpark in each process, and reads the
directories of these files again before each task. The tests start hundreds of workers, and thousands of tasks.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":
    sys.path[:] = [path for path in sys.path if not path.endswith((".zip", ".jar"))]
    sys.path_importer_cache.clear()

import pandas  # noqa: F401
import pyarrow  # noqa: F401
from pyspark.daemon import manager

if __name__ == "__main__":
    manager()
