"""Spark as the pipeline: DataFrames and streaming queries as Publishers.

``from_dataframe`` streams a DataFrame's rows out of Spark with back pressure; ``from_stream`` does so with a streaming
query, whose batches are acknowledged by demand; ``events`` gives the news of the streaming queries. ``read_stream`` is
a streaming DataFrame of a Publisher's elements. ``attach`` is the bridge to the JVM of the session, and ``supports``
says what works on it.
"""

from __future__ import annotations

try:
    import pyarrow as _pyarrow  # noqa: F401  (imported here, where the error can name the extra to install)
    import pyspark as _pyspark  # noqa: F401
except ImportError as _missing:
    raise ImportError("pyrs.spark needs pyspark and pyarrow: pip install 'pyrs-streams[spark]'") from _missing

from pyrs.spark.executors.operators import apply, for_each_partition
from pyrs.spark.read.dataframes import from_dataframe
from pyrs.spark.read.events import events
from pyrs.spark.read.partitions import PartitionFailed
from pyrs.spark.read.queries import Batch, BatchDiscarded, from_stream
from pyrs.spark.schema.rows import SchemaMisfit
from pyrs.spark.source.journal import JournalDamaged
from pyrs.spark.source.microframes import for_each_frame
from pyrs.spark.source.streams import read_stream
from pyrs.spark.support import attach, supports

__all__ = [
    "Batch",
    "BatchDiscarded",
    "JournalDamaged",
    "PartitionFailed",
    "SchemaMisfit",
    "apply",
    "attach",
    "events",
    "for_each_frame",
    "for_each_partition",
    "from_dataframe",
    "from_stream",
    "read_stream",
    "supports",
]
