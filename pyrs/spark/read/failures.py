"""The reason why a partition failed, in one line."""

from __future__ import annotations

import re

from pyrs.spark.read.partitions import PartitionFailed

__all__ = ["partition_failed", "reason_of"]

_OURS = re.compile(r"(?:[\w.]+\.)?PartitionFailed: partition (\d+): (.*)")


def partition_failed(error: BaseException, partition: int | None = None) -> BaseException:
    """Return a ``PartitionFailed`` with Spark's error as its cause.

    Args:
        error: the exception that Spark raised.
        partition: the index of the partition; None to read it from the text of the error. If the text has none, the
            error itself is returned.
    """
    reason = reason_of(error)
    ours = _OURS.match(reason)
    if ours is not None and partition in (None, int(ours[1])):
        partition, reason = int(ours[1]), ours[2]
    if partition is None:
        return error
    failed = PartitionFailed(partition, reason)
    failed.__cause__ = error
    return failed


def reason_of(error: BaseException) -> str:
    """Return the reason of an error in one line: of a Java error, its root cause."""
    text = f"{type(error).__name__}: {error}"
    java = getattr(error, "java_exception", None)
    try:
        while java is not None:
            text, java = java.toString(), java.getCause()
    except Exception:  # the JVM is gone
        pass
    lines = text.strip().splitlines()
    if "Traceback (most recent call last):" in text:  # of a Python worker; the last line has the exception
        lines = [line for line in lines[1:] if line[:1].isalpha()] or lines
        return lines[-1]
    return lines[0]
