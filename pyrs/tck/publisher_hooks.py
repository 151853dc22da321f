"""The hooks of a Publisher's verification, and the runners of its tests."""

from __future__ import annotations

import gc
import time
import weakref
from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher
from pyrs.tck.environment import LONG_MAX, Skipped, T, described, named, remaining
from pyrs.tck.manual import Failing, ManualSubscriber, UnexpectedSubscriber, Watching
from pyrs.tck.trace import RecordedSubscriber
from pyrs.tck.verification import NULL_ERRORS, Verification

_SAMPLE = 10  # the elements from which the pace of a Publisher is measured

U = TypeVar("U", bound=UnexpectedSubscriber[Any])
S = TypeVar("S", bound="PublisherHooks[Any]")

NO_FAILED_PUBLISHER = "the test needs a failed Publisher: override create_failed_publisher() to run it"
OPTIONAL_NOT_IMPLEMENTED = "the Publisher does not implement this optional behaviour"


class PublisherHooks(Verification, Generic[T]):
    """The hooks of a Publisher's verification; only ``create_publisher`` is mandatory."""

    def create_publisher(self, elements: int) -> Publisher[T]:
        """Create a Publisher of exactly this number of elements.

        Args:
            elements: the number; 2**63 - 1 means an endless stream. Some tests pass 2**31 - 1 but request few elements,
                so the Publisher should create elements on request.
        """
        raise NotImplementedError(f"{type(self).__name__} must define create_publisher(elements)")

    def create_failed_publisher(self) -> Publisher[T] | None:
        """Create a Publisher that signals on_error at once (§1.9); None skips its tests."""
        return None

    def max_elements_from_publisher(self) -> int:
        """Return the largest number of elements that the Publisher can publish.

        Tests that need more are skipped. If the stream never completes, return
        ``publisher_unable_to_signal_on_complete()``, which skips the tests that need on_complete.
        """
        return LONG_MAX - 1

    def publisher_unable_to_signal_on_complete(self) -> int:
        """Return ``LONG_MAX``, which marks a stream that never completes.

        It is the value of ``max_elements_from_publisher`` for such a stream.
        """
        return LONG_MAX

    def bounded_depth_of_on_next_and_request_recursion(self) -> int:
        """Return the allowed depth of nested on_next and request calls (§3.3)."""
        return 1

    def skip_stochastic_tests(self) -> bool:
        """Return whether to skip the stochastic test of §1.3."""
        return False

    # Runners.

    def new_publisher(self, elements: int) -> Publisher[T]:
        """Call ``create_publisher`` and check its result."""
        return self.call_hook(f"create_publisher({elements})", lambda: self.create_publisher(elements), ("subscribe",))

    def new_failed_publisher(self) -> Publisher[T] | None:
        """Call ``create_failed_publisher`` and check its result."""
        make = self.create_failed_publisher
        return self.call_hook("create_failed_publisher()", make, ("subscribe",), none_is_fine=True)

    def call_subscribe(self, publisher: Publisher[T], subscriber: Any) -> None:
        """Call ``subscribe`` with a recorded Subscriber; a late call is reported."""
        given = None
        if subscriber is not None:
            # The Subscriber refers to its wrapper, because a Publisher may hold its Subscribers weakly.
            given = subscriber.recorded = RecordedSubscriber(self.env.trace, subscriber)
        self.env.timed("subscribe()", lambda: publisher.subscribe(given))  # type: ignore[arg-type]  # None (§1.9)

    def subscribe(self, publisher: Publisher[T], subscriber: U) -> U:
        """Subscribe, wait for on_subscribe and return the Subscriber."""
        self.call_subscribe(publisher, subscriber)
        subscriber.subscription.expect_close(f"{self.name_of(publisher)} did not call on_subscribe (rule 1.9)")
        self.env.verify_no_async_errors_no_delay()
        return subscriber

    def new_manual_subscriber(self, publisher: Publisher[T]) -> ManualSubscriber[T]:
        """Subscribe a new ManualSubscriber."""
        return self.subscribe(publisher, ManualSubscriber[T](self.env))

    def subscribe_failed(self, publisher: Publisher[T]) -> Failing[T]:
        """Return a Subscriber of a failed Publisher, after on_subscribe and on_error."""
        name = self.name_of(publisher)
        subscriber: Failing[T] = Failing(self.env, name)
        self.call_subscribe(publisher, subscriber)
        subscriber.subscribed.expect_close(f"{name} did not call on_subscribe (rule 1.9)")
        subscriber.failed.expect_close(f"failed {name} did not call on_error (rule 1.4)")
        return subscriber

    def affordable(self, publisher: Publisher[T], demand: int, seconds: float) -> int:
        """Return a demand that the Publisher fulfils within ``seconds``.

        It is at most ``demand``, and at least the number of elements that measure the pace. ``request`` of a
        synchronous Publisher blocks for that time.
        """
        subscriber = self.subscribe(publisher, Watching[T](self.env, 1))
        subscriber.request(1)  # the first element may take longer than the others, for example to connect
        subscriber.receives_all()
        subscriber.expect(_SAMPLE)
        began = time.monotonic()
        subscriber.request(_SAMPLE - 1)
        subscriber.receives_all()
        pace = max(time.monotonic() - began, 1e-6) / (_SAMPLE - 1)  # a coarse clock may show no difference
        subscriber.cancel()
        return max(_SAMPLE, min(demand, int(seconds * self.env.scale / pace)))

    def must_refuse_none_subscriber(self, publisher: Publisher[T]) -> None:
        """Call ``subscribe(None)``, which must raise TypeError or AttributeError (§1.9)."""
        instead = ""
        try:
            self.call_subscribe(publisher, None)
        except NULL_ERRORS:
            return
        except Exception as error:
            instead = f", but {described(error)}"
        self.env.flop(f"{self.name_of(publisher)} did not raise TypeError for subscribe(None){instead} (rule 1.9)")

    def name_of(self, publisher: Publisher[T]) -> str:
        """Return the Publisher's name for messages."""
        return f"Publisher {named(publisher)}"

    def must_drop(self, publisher: Publisher[T], use: Callable[[], Any], signal: str) -> None:
        """Wait until the Publisher has released the Subscriber that ``use`` returns."""
        reference = weakref.ref(use())
        deadline = time.monotonic() + self.env.reference_timeout
        pause = 0.001
        gc.collect()
        while reference() is not None:
            if not remaining(deadline):
                self.env.flop(f"{self.name_of(publisher)} did not release the Subscriber after {signal}")
                return
            time.sleep(min(pause, remaining(deadline)))  # a weak reference cannot be waited for
            pause *= 2
            gc.collect()

    def needs(self, elements: int, *, completion: bool) -> None:
        """Skip the test if the Publisher has fewer elements or cannot complete."""
        most = min(self.call_number_hook(self.max_elements_from_publisher), LONG_MAX)
        if elements > most:
            raise Skipped(f"the test needs {elements} elements, but the Publisher has at most {most}")
        if completion and most == LONG_MAX:
            raise Skipped("the test needs on_complete, but by max_elements_from_publisher() the stream never completes")


def publisher_test(
    elements: int, *, completes: bool = False, optional: bool = False
) -> Callable[[Callable[[S, Publisher[Any]], None]], Callable[[S], None]]:
    """Make a test of a method that takes a Publisher.

    Args:
        elements: the number of elements; the test is skipped if the Publisher has fewer.
        completes: skip the test if the Publisher never completes.
        optional: skip the test if it fails. The official TCK ignores the recorded errors here, so it passes a missing
            on_complete. The port checks them, and the reason of the skip names the error.
    """

    def decorate(body: Callable[[S, Publisher[Any]], None]) -> Callable[[S], None]:
        def test(self: S) -> None:
            self.needs(elements, completion=completes)
            publisher = self.new_publisher(elements)
            try:
                body(self, publisher)
                self.env.verify_no_async_errors_no_delay()
            except (Exception, SystemExit) as error:  # SystemExit of a Publisher counts as any other error
                if not optional:
                    raise
                self.env.clear_async_errors()  # the reason names the first one
                raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {named(error)}") from error

        return _like(body, test)

    return decorate


def failed_publisher_test(body: Callable[[S, Publisher[Any]], None]) -> Callable[[S], None]:
    """Make a test of a method that takes a failed Publisher; skip it without one."""

    def test(self: S) -> None:
        failed = self.new_failed_publisher()
        if failed is None:
            raise Skipped(NO_FAILED_PUBLISHER)
        body(self, failed)

    return _like(body, test)


def _like(body: Callable[[S, Publisher[Any]], None], test: Callable[[S], None]) -> Callable[[S], None]:
    update_wrapper(test, body)
    del test.__wrapped__  # type: ignore[attr-defined]  # pytest would look for a fixture named publisher
    return test
