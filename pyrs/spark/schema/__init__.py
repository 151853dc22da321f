"""Spark's schemas in Arrow: ``arrow`` decodes batches into rows, ``rows`` encodes rows into batches."""
