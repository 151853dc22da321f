"""The hooks of a Publisher's verification, and the runners of its tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher
from pyrs.tck.environment import LONG_MAX, Skipped, named
from pyrs.tck.manual import ManualSubscriber, UnexpectedSubscriber
from pyrs.tck.verification import Verification

__all__ = ["NO_FAILED_PUBLISHER", "OPTIONAL_NOT_IMPLEMENTED", "PublisherHooks"]

T = TypeVar("T")

NO_FAILED_PUBLISHER = "the test needs a failed Publisher: override create_failed_publisher() to run it"
OPTIONAL_NOT_IMPLEMENTED = "the Publisher does not implement this optional behaviour"


class PublisherHooks(Verification, Generic[T]):
    """The hooks of a verification of a Publisher. Only ``create_publisher`` is mandatory."""

    def create_publisher(self, elements: int) -> Publisher[T]:
        """Create a Publisher of exactly this number of elements.

        Args:
            elements: the number; 2**63 - 1 means an endless stream. Some tests pass 2**31 - 1 but request few elements,
                so the Publisher should create elements on request.
        """
        raise NotImplementedError(f"{type(self).__name__} must define create_publisher(elements)")

    def create_failed_publisher(self) -> Publisher[T] | None:
        """Create a Publisher that signals on_subscribe and on_error (§1.9); None skips its tests."""
        return None

    def max_elements_from_publisher(self) -> int:
        """Return the largest number of elements that the Publisher can publish.

        Tests that need more are skipped. ``publisher_unable_to_signal_on_complete()`` means that the stream never
        completes, and skips the tests that need on_complete.
        """
        return LONG_MAX - 1

    def publisher_unable_to_signal_on_complete(self) -> int:
        """Return the value of ``max_elements_from_publisher`` for a stream that never completes."""
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
        made: Publisher[T] = self.made(
            f"create_publisher({elements})", lambda: self.create_publisher(elements), ("subscribe",)
        )
        return made

    def call_subscribe(self, publisher: Publisher[T], subscriber: Any) -> None:
        """Call ``subscribe``; a late call is reported by its name."""
        self.env.timed("subscribe()", lambda: publisher.subscribe(subscriber), is_hook=False)

    def subscribe(self, publisher: Publisher[T], subscriber: UnexpectedSubscriber[T]) -> None:
        """Subscribe and wait for on_subscribe."""
        self.call_subscribe(publisher, subscriber)
        subscriber.subscription.expect_completion(
            self.env.timeout, f"{self.name_of(publisher)} did not call on_subscribe"
        )
        self.env.verify_no_async_errors_no_delay()

    def new_manual_subscriber(self, publisher: Publisher[T]) -> ManualSubscriber[T]:
        """Subscribe a new ManualSubscriber."""
        subscriber: ManualSubscriber[T] = ManualSubscriber(self.env)
        self.subscribe(publisher, subscriber)
        return subscriber

    def name_of(self, publisher: Publisher[T]) -> str:
        """Return the Publisher's name for messages."""
        return f"Publisher {named(publisher)}"

    def needs(self, elements: int, *, completion: bool) -> None:
        """Skip the test if the Publisher cannot publish that number of elements, or cannot complete.

        Raises:
            Skipped: the Publisher cannot do so.
        """
        most = min(self.asked(self.max_elements_from_publisher), LONG_MAX)
        if elements > most:
            raise Skipped(f"the test needs {elements} elements, and the Publisher has at most {most}")
        if completion and most == LONG_MAX:
            raise Skipped(
                "the test needs on_complete, but max_elements_from_publisher() says that the stream never completes"
            )

    def active_publisher_test(self, elements: int, completion: bool, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test of required behaviour."""
        self.needs(elements, completion=completion)
        body(self.new_publisher(elements))
        self.env.verify_no_async_errors_no_delay()

    def optional_publisher_test(self, elements: int, completion: bool, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test of optional behaviour; skip it if it fails.

        The official TCK ignores the recorded errors here, so it passes a missing on_complete. The port checks them, and
        the reason of the skip names the error.
        """
        self.needs(elements, completion=completion)
        publisher = self.new_publisher(elements)
        try:
            body(publisher)
            self.env.verify_no_async_errors_no_delay()
        except (Exception, SystemExit) as error:  # SystemExit of a Publisher counts as any other error
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {error}") from error

    def failed_publisher_test(self, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test with a failed Publisher; skip it if there is none."""
        failed = self.made("create_failed_publisher()", self.create_failed_publisher, ("subscribe",), none_is_fine=True)
        if failed is None:
            raise Skipped(NO_FAILED_PUBLISHER)
        body(failed)
