"""For tests: a Subscriber that records what it is told.

Example:
    >>> import pyrs
    >>> subscriber = TestSubscriber(None)
    >>> pyrs.just(1, 2).subscribe(subscriber)
    >>> subscriber.await_complete()
    [1, 2]
"""

from __future__ import annotations

from pyrs.testing.subscriber import TestSubscriber

__all__ = ["TestSubscriber"]
