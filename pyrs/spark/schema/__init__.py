"""Convert between Spark's rows and Arrow batches by Spark's schemas.

``arrow`` decodes batches into rows, ``rows`` encodes rows into batches with ``columns``. ``casting``, ``lists`` and
``zones`` convert columns.
"""
