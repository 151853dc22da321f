"""Stages whose state Spark keeps for each key, between the micro-batches of a streaming query."""
