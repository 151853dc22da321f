"""Run user code on executors.

``operators``, ``streaming`` and ``shipping`` have the public functions, ``tasks`` has the code of the Spark tasks.
"""
