"""On the executors: ``operators`` has ``apply`` and ``for_each_partition``, ``tasks`` what a task of them runs."""
