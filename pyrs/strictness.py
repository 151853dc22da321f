"""strict: a guard that reports rule violations of a third-party object."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from pyrs._core.downstream import SIGNALS, awaits_signals
from pyrs._core.guard import GuardedProcessor, GuardedPublisher, GuardedSubscriber
from pyrs.api import Processor, Publisher, Subscriber
from pyrs.stream.stream import Stream

__all__ = ["strict"]

T = TypeVar("T")
R = TypeVar("R")


@overload
def strict(party: Processor[T, R], /) -> Processor[T, R]: ...  # type: ignore[overload-overlap]
@overload
def strict(party: Publisher[T], /) -> Stream[T]: ...
@overload
def strict(party: Subscriber[T], /) -> Subscriber[T]: ...
def strict(party: Any, /) -> Any:
    """Guard a Publisher, Subscriber or Processor and report its rule violations.

    The guard forwards legal signals. It reports a violation as a ``SpecViolation`` with the rule's number, the party
    and the name of its class, and what happened. A violation by a Publisher or its Subscription cancels the stream and
    fails it with ``on_error``, and so does a request for less than 1 element (3.9). The following violations do not
    fail the stream, and are reported to the dropped-errors hook (``pyrs.set_error_hook``): a second ``on_subscribe``
    (2.12), whose Subscription is cancelled; an exception from ``cancel`` (3.15); violations after termination; and
    the other violations by the Subscriber.

    - For a Publisher: 1.1, 1.3, 1.4 (``on_error`` with an object that is not an exception), 1.7, 1.9, 1.10, 2.12, 2.13
      (None), 3.3, 3.15, 3.16, and 2.13 and 3.9 of its Subscribers.
    - For a Subscriber: 2.3 (calls on the Subscription), 2.7, 2.13, 3.1, 3.9, and violations of its Publisher.
    - For a Processor: both.

    A guard cannot check the rules that require something "eventually" (1.5, 1.8, 2.6, 3.12, 3.13), that only recommend
    (2.2, 3.4), or that require a Subscriber to be prepared for a signal (2.8 to 2.11). A request that emits before it
    returns (§3.10) is exempt from 2.7; otherwise a Subscriber could not cancel a synchronous stream.

    Forwards demand unchanged. Buffers nothing. Drops elements that violate a rule.

    Args:
        party: the party to guard. A guarded party is returned unchanged.

    Returns:
        A Stream for a Publisher; otherwise a Subscriber or a Processor. Guard a Subscriber once for each subscription.

    Raises:
        TypeError: ``party`` is not a Publisher, a Subscriber or a Processor, or it has coroutine methods. Guard the
            Publisher of an ``AsyncSubscriber`` instead.

    Rules: 1.1, 1.3, 1.4, 1.7, 1.9, 1.10, 2.3, 2.5, 2.7, 2.12, 2.13, 3.1, 3.3, 3.9, 3.15, 3.16, 4.1.

    Examples:
        >>> from pyrs.testing import StepVerifier, TestPublisher, Violation
        >>> careless = TestPublisher(Violation.REQUEST_OVERFLOW)
        >>> verifier = StepVerifier.create(strict(careless), request=1).then(lambda: careless.next(1, 2))
        >>> _ = verifier.expect_next(1).verify_error(matching="Publisher TestPublisher: on_next without demand")
    """
    if isinstance(party, Stream) and isinstance(party.source, GuardedPublisher):
        return party
    if isinstance(party, (GuardedProcessor, GuardedSubscriber)):
        return party
    publishes = not isinstance(party, type) and callable(getattr(party, "subscribe", None))
    subscribes = not isinstance(party, type) and all(callable(getattr(party, signal, None)) for signal in SIGNALS)
    if subscribes and awaits_signals(party):
        raise TypeError(
            f"party must have plain methods, and {type(party).__name__} has coroutine functions, which a guard cannot "
            "await: subscribe it to the guarded Publisher, strict(publisher).subscribe(...)"
        )
    if publishes and subscribes:
        return GuardedProcessor(party)
    if publishes:
        return Stream(GuardedPublisher(party.source if isinstance(party, Stream) else party))
    if subscribes:
        return GuardedSubscriber(party)
    raise TypeError(f"party must be a Publisher, Subscriber or Processor, not {type(party).__name__}")
