"""Run user code on executors.

``operators`` has the public functions, ``tasks`` the code of their Spark tasks.
"""
