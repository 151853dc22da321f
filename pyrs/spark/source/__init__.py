"""Read a Publisher into Spark, as a streaming source or as small DataFrames.

``publishers`` has ``read_stream``. Spark's planner, a separate process, runs the ``reader``, which sends requests to
the ``server`` in the driver's process. The server answers from the ``buffer``, which the ``intake`` fills, and whose
segments the ``journal`` stores on disk; ``elements`` encodes and counts its elements. ``microframes`` has
``for_each_frame``, which needs none of these.
"""
