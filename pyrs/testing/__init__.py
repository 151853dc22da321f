"""For tests: Publishers that do as they are told, Subscribers that record, and scripts of what has to come.

=====================  ===============================================================================
``TestPublisher``      signals what the test says, and breaks a rule where the test wants that
``Violation``          the rules that it can break, by name
``TestSubscriber``     records what it is told, waits with deadlines, knows the rules of its Publisher
``StepVerifier``       what a Publisher has to signal, step by step, in real or in virtual time
``DroppedAssertions``  what was dropped while a verification ran
=====================  ===============================================================================

``import pyrs`` loads nothing of this.

Example:
    >>> import pyrs
    >>> seconds = StepVerifier.create(pyrs.just(1, 2)).expect_next(1, 2).verify_complete()
"""

from __future__ import annotations

from pyrs.testing.dropped import DroppedAssertions
from pyrs.testing.link import Violation
from pyrs.testing.publisher import TestPublisher
from pyrs.testing.subscriber import TestSubscriber
from pyrs.testing.verifier import StepVerifier

__all__ = ["DroppedAssertions", "StepVerifier", "TestPublisher", "TestSubscriber", "Violation"]
