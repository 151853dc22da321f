"""Stages whose state Spark keeps for each key between micro-batches."""
