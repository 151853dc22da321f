"""Fuzz both halves of the link."""

from __future__ import annotations

import logging

from tests.campaigns import fuzz_java, fuzz_python

SHARE_OF_JAVA = 0.6


def run(seed: int, minutes: float, frames: int | None) -> None:
    """Fuzz the Python half and then the Java half, for the given time together or with ``frames`` frames each.

    Raises:
        Violation: an invariant does not hold.
    """
    logging.disable(logging.CRITICAL)  # each refused frame is logged
    seconds = minutes * 60
    try:
        fuzz_python.fuzz(seed, None if frames else seconds * (1 - SHARE_OF_JAVA), frames)
        fuzz_java.fuzz(seed, None if frames else seconds * SHARE_OF_JAVA, frames)
    finally:
        logging.disable(logging.NOTSET)
