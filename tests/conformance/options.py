"""Failed streams, and reasons for skips, that several conformance entries and the operator registry share."""

from __future__ import annotations

from typing import Any

import pyrs

__all__ = ["EMPTY", "MERGED", "MULTICAST", "ONE_ELEMENT", "SLOWEST", "failed_stream", "no_failed_stream"]

EMPTY = "optional_spec105_emptyStreamMustTerminateBySignallingOnComplete"
MULTICAST = "optional_spec111"
ONE_ELEMENT = {EMPTY: "it always has one element"}
SLOWEST = {
    MULTICAST + "_registered": "the slowest Subscriber limits all, and one Subscriber of the test does not request",
    MULTICAST + "_multicast": "the slowest Subscriber limits all, and one Subscriber of the test waits for another",
}
MERGED = {MULTICAST + "_multicast": "the order of the merged streams depends on the demand"}


def failed_stream() -> pyrs.Stream[Any]:
    return pyrs.error(ValueError("failed from the start"))


def no_failed_stream() -> None:
    """Return None, for a Publisher that cannot fail before the first request."""
