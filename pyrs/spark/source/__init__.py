"""Read a Publisher into Spark, as a streaming source or as small DataFrames.

``publishers`` has ``read_stream``. Spark's planner, a separate process, runs the ``reader``, which sends requests to
the ``server`` in the driver's process. The server answers from the ``buffer``. The ``intake`` receives the elements of
the buffer, ``elements`` encodes and counts them, and the ``journal`` stores them on disk. ``microframes`` has
``for_each_frame``, which needs none of these.
"""
