"""What Spark says of a partition that failed, in one line."""

from __future__ import annotations

import re

from pyrs.spark.read.partitions import PartitionFailed

__all__ = ["partition_failed"]

_OURS = re.compile(r"(?:[\w.]+\.)?PartitionFailed: partition (\d+): (.*)")


def partition_failed(error: BaseException, partition: int | None = None) -> BaseException:
    """Return the ``PartitionFailed`` that Spark's error is, with that as its cause.

    Args:
        error: what Spark raised.
        partition: which partition it was; None to have it from the text, where the error itself is returned if that
            does not say so.
    """
    reason = _reason(error)
    ours = _OURS.match(reason)
    if ours is not None and partition in (None, int(ours[1])):
        partition, reason = int(ours[1]), ours[2]
    if partition is None:
        return error
    failed = PartitionFailed(partition, reason)
    failed.__cause__ = error
    return failed


def _reason(error: BaseException) -> str:
    """Return in one line what went wrong: of an error that comes from Java, its first cause."""
    text = f"{type(error).__name__}: {error}"
    java = getattr(error, "java_exception", None)
    try:
        while java is not None:
            text, java = java.toString(), java.getCause()
    except Exception:  # the JVM is gone
        pass
    lines = text.strip().splitlines()
    if "Traceback (most recent call last):" in text:  # of a Python worker: what was raised there is its last line
        lines = [line for line in lines[1:] if line[:1].isalpha()] or lines
        return lines[-1]
    return lines[0]
