"""What a user says about a Publisher, and how its tests are run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher
from pyrs.tck.environment import LONG_MAX, Skipped, named
from pyrs.tck.manual import ManualSubscriber, UnexpectedSubscriber
from pyrs.tck.verification import Verification

__all__ = ["NO_FAILED_PUBLISHER", "OPTIONAL_NOT_IMPLEMENTED", "PublisherHooks"]

T = TypeVar("T")

NO_FAILED_PUBLISHER = (
    "there is no failed Publisher, and the test needs one: let create_failed_publisher() return one to run this test"
)
OPTIONAL_NOT_IMPLEMENTED = "the Publisher does not do what is optional here"


class PublisherHooks(Verification, Generic[T]):
    """The hooks; only `create_publisher` must be written."""

    def create_publisher(self, elements: int) -> Publisher[T]:
        """Make a Publisher of exactly this many elements.

        Args:
            elements: how many. 2**63 - 1 means without an end. Up to 2**31 - 1 are asked for where few are used, so the
                Publisher should make them as they are requested.
        """
        raise NotImplementedError(f"{type(self).__name__} must define create_publisher(elements)")

    def create_failed_publisher(self) -> Publisher[T] | None:
        """Make a Publisher that calls on_subscribe and then on_error (1.9), or return None to leave out its tests."""
        return None

    def max_elements_from_publisher(self) -> int:
        """Say how many elements the Publisher can publish: tests that need more are skipped.

        `publisher_unable_to_signal_on_complete()` says that the stream never ends: tests that need the end are skipped.
        """
        return LONG_MAX - 1

    def publisher_unable_to_signal_on_complete(self) -> int:
        """Return what `max_elements_from_publisher` says of a stream that never completes."""
        return LONG_MAX

    def bounded_depth_of_on_next_and_request_recursion(self) -> int:
        """Say how deep on_next and request may call one another (3.3)."""
        return 1

    def skip_stochastic_tests(self) -> bool:
        """Say whether to leave out the test that can pass by luck (1.3)."""
        return False

    # How tests run.

    def new_publisher(self, elements: int) -> Publisher[T]:
        """Call `create_publisher` and check what it made."""
        made: Publisher[T] = self.made(
            f"create_publisher({elements})", lambda: self.create_publisher(elements), ("subscribe",)
        )
        return made

    def call_subscribe(self, publisher: Publisher[T], subscriber: Any) -> None:
        """Call ``subscribe``, so that it is known by name when it is late."""
        self.env.timed("subscribe()", lambda: publisher.subscribe(subscriber), is_hook=False)

    def subscribe(self, publisher: Publisher[T], subscriber: UnexpectedSubscriber[T]) -> None:
        """Subscribe, and wait for the Subscription."""
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
        """Return how messages call a Publisher."""
        return f"Publisher {named(publisher)}"

    def needs(self, elements: int, *, completion: bool) -> None:
        """Skip the test if the Publisher cannot publish so many elements, or cannot complete.

        Raises:
            Skipped: it cannot.
        """
        most = min(self.asked(self.max_elements_from_publisher), LONG_MAX)
        if elements > most:
            raise Skipped(f"the test needs {elements} elements, and the Publisher has at most {most}")
        if completion and most == LONG_MAX:
            raise Skipped("the test needs on_complete, and max_elements_from_publisher() says that it never comes")

    def active_publisher_test(self, elements: int, completion: bool, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test of what a Publisher must do."""
        self.needs(elements, completion=completion)
        body(self.new_publisher(elements))
        self.env.verify_no_async_errors_no_delay()

    def optional_publisher_test(self, elements: int, completion: bool, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test of what a Publisher may do: a failure is a skip.

        The Java kit never looks at the recorded errors here, so that an on_complete that does not come is a pass. This
        one looks, and the skip says what was wrong.
        """
        self.needs(elements, completion=completion)
        publisher = self.new_publisher(elements)
        try:
            body(publisher)
            self.env.verify_no_async_errors_no_delay()
        except (Exception, SystemExit) as error:  # to the Java kit a Publisher that exits is one that raises
            raise Skipped(f"{OPTIONAL_NOT_IMPLEMENTED}: {error}") from error

    def failed_publisher_test(self, body: Callable[[Publisher[T]], None]) -> None:
        """Run a test of a failed Publisher, if there is one."""
        failed = self.made("create_failed_publisher()", self.create_failed_publisher, ("subscribe",), none_is_fine=True)
        if failed is None:
            raise Skipped(NO_FAILED_PUBLISHER)
        body(failed)
