"""Stages whose state Spark keeps for each key of a streaming query.

The state lasts from one micro-batch to the next.
"""
