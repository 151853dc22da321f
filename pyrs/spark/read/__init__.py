"""Out of Spark: DataFrames, streaming queries and their events as Publishers.

``dataframes`` has the Publisher of a DataFrame, ``partitions`` reads one partition, ``execution`` gives the jobs their
settings. ``queries`` has the Publisher of a streaming query, ``events`` that of its events.
"""
