"""Into Spark: a Publisher as a streaming source, or as small DataFrames.

``streams`` has ``read_stream``. Spark's planner, in a process of its own, runs the ``reader``, which asks the
``server`` of the driver's process; that answers from the ``buffer``, which the ``intake`` fills and the ``journal``
keeps on disk. ``microframes`` has ``for_each_frame``, which needs none of these.
"""
