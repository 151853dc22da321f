"""Test doubles and verification: TestPublisher, TestSubscriber, StepVerifier.

- ``TestPublisher``: emits the signals that the test chooses, and violates chosen rules.
- ``Violation``: the rules that a ``TestPublisher`` can violate.
- ``TestSubscriber``: records signals, waits with deadlines, checks that its Publisher obeys the rules.
- ``StepVerifier``: verifies a Publisher's signals step by step, in real or in virtual time.
- ``PublisherProbe``: wraps a Publisher, and records subscriptions, cancels and requests.
- ``detect_blocking``: fails if a callback blocks a running asyncio loop; reports it as a ``BlockedLoop``.
- ``DroppedAssertions``: asserts on the elements and errors that were dropped during a verification.

``import pyrs`` does not import this package.

Examples:
    >>> import pyrs
    >>> seconds = StepVerifier.create(pyrs.just(1, 2)).expect_next(1, 2).verify_complete()
"""

from __future__ import annotations

from pyrs.testing.blocking import BlockedLoop, detect_blocking
from pyrs.testing.dropped import DroppedAssertions
from pyrs.testing.probe import PublisherProbe
from pyrs.testing.publisher import TestPublisher
from pyrs.testing.subscriber import TestSubscriber
from pyrs.testing.subscription import Violation
from pyrs.testing.verifier import StepVerifier

__all__ = [
    "BlockedLoop",
    "DroppedAssertions",
    "PublisherProbe",
    "StepVerifier",
    "TestPublisher",
    "TestSubscriber",
    "Violation",
    "detect_blocking",
]
