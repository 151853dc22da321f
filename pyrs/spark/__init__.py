"""DataFrames and streaming queries as Publishers, and Publishers as DataFrames.

Out of Spark: ``from_dataframe`` streams the rows of a DataFrame with back pressure, ``from_stream`` streams the batches
of a streaming query, which the program acknowledges, and ``events`` streams the events of streaming queries.

Into Spark: ``read_stream`` returns a streaming DataFrame of a Publisher's elements, and ``for_each_frame`` calls a
function with small DataFrames of them.

On the executors: ``apply`` runs a stage on each partition, ``apply_by_key`` runs one for each key of a streaming
DataFrame, with state that lasts across micro-batches, ``for_each_partition`` runs Subscribers, and ``from_publishers``
and ``stream_from_publishers`` run Publishers whose elements are the rows of a DataFrame. ``ship`` sends this package to
the executors.

``attach`` returns the bridge to the JVM of a session, and ``supports`` reports which functions work on a session.

The packages are ``read`` (out of Spark), ``source`` (into Spark), ``executors``, ``keyed`` and ``schema``.
"""

from __future__ import annotations

try:
    import pyarrow as _pyarrow  # noqa: F401  (imported here, where the error can name the extra to install)
    import pyspark as _pyspark  # noqa: F401
except ImportError as _missing:
    raise ImportError("pyrs.spark needs pyspark and pyarrow: pip install 'pyrs-streams[spark]'") from _missing

from pyrs.spark.executors.operators import apply, for_each_partition, from_publishers
from pyrs.spark.executors.shipping import ship
from pyrs.spark.executors.streaming import stream_from_publishers
from pyrs.spark.keyed.operators import apply_by_key
from pyrs.spark.read.dataframes import from_dataframe
from pyrs.spark.read.events import events
from pyrs.spark.read.partitions import PartitionFailed
from pyrs.spark.read.queries import Batch, BatchDiscarded, from_stream
from pyrs.spark.schema.rows import SchemaMisfit
from pyrs.spark.source.journal import JournalDamaged
from pyrs.spark.source.microframes import for_each_frame
from pyrs.spark.source.publishers import read_stream
from pyrs.spark.support import attach, supports

__all__ = [
    "Batch",
    "BatchDiscarded",
    "JournalDamaged",
    "PartitionFailed",
    "SchemaMisfit",
    "apply",
    "apply_by_key",
    "attach",
    "events",
    "for_each_frame",
    "for_each_partition",
    "from_dataframe",
    "from_publishers",
    "from_stream",
    "read_stream",
    "ship",
    "stream_from_publishers",
    "supports",
]
