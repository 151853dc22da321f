"""For tests: Publishers that do as they are told, Subscribers that record, and scripts of what has to come.

- ``TestPublisher``: emits the signals that the test chooses, and violates a rule on request.
- ``Violation``: the rules that it can violate, by name.
- ``TestSubscriber``: records signals, waits with deadlines, checks the rules of its Publisher.
- ``StepVerifier``: verifies a Publisher's signals step by step, in real or in virtual time.
- ``DroppedAssertions``: asserts on the elements and errors that were dropped during a verification.

``import pyrs`` loads nothing of this.

Examples:
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
