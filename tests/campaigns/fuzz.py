"""Fuzz both sides of the link, with random frames and with inputs that coverage feedback selects."""

from __future__ import annotations

import logging

from tests.campaigns import fuzz_java, fuzz_python, guided

SHARE_OF_GUIDED = 0.35
SHARE_OF_PYTHON = 0.25
INPUTS_PER_FRAME = 0.1
"""The guided fuzzers run this number of inputs for each frame of ``--frames``. An input has about ten frames."""


def run(seed: int, minutes: float, frames: int | None) -> None:
    """Run the random and the guided fuzzers of both sides.

    They run for the given time in total, or with ``frames`` frames each.

    Raises:
        Violation: an invariant does not hold.
    """
    logging.disable(logging.CRITICAL)  # otherwise each refused frame is logged
    seconds = minutes * 60
    try:
        if frames:
            fuzz_python.fuzz(seed, None, frames)
            guided.fuzz(seed, None, round(frames * INPUTS_PER_FRAME) or 1)
            fuzz_java.fuzz(seed, None, frames)
        else:
            fuzz_python.fuzz(seed, seconds * SHARE_OF_PYTHON, None)
            guided.fuzz(seed, seconds * SHARE_OF_GUIDED, None)
            fuzz_java.fuzz(seed, seconds * (1 - SHARE_OF_PYTHON - SHARE_OF_GUIDED), None)
    finally:
        logging.disable(logging.NOTSET)
