"""Read DataFrames, streaming queries and their events as Publishers.

``dataframes`` has the Publisher of a DataFrame, ``partitions`` reads its partitions, ``execution`` passes the settings
of the session to the jobs, ``showing`` displays the progress. ``queries`` has the Publisher of a streaming query,
``events`` that of the events of all streaming queries.
"""
