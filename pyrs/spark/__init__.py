"""DataFrames and streaming queries as Publishers, and Publishers as their source.

``from_dataframe`` streams the rows of a DataFrame with back pressure, ``from_stream`` the batches of a streaming query,
which are acknowledged, and ``events`` the events of streaming queries. ``read_stream`` returns a streaming DataFrame of
a Publisher's elements, and ``for_each_frame`` makes small DataFrames of them. ``apply``, ``for_each_partition`` and
``from_publishers`` run stages, Subscribers and Publishers on the executors, to which ``ship`` sends this package;
``stream_from_publishers`` is the streaming form of the latter.
``apply_by_key`` runs a stage for each key of a streaming DataFrame, with state that lasts across micro-batches.
``attach`` returns the bridge to the JVM of the session, and ``supports`` reports which functions work on it.

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
from pyrs.spark.source.streams import read_stream
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
