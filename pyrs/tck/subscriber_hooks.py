"""What a user says about a Subscriber, and what the tests of Subscribers share."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck.environment import INT_MAX, TestEnvironment
from pyrs.tck.helper import HelperPublisher
from pyrs.tck.manual import ManualPublisher, ManualSubscriber
from pyrs.tck.verification import NULL_ERRORS, Verification

__all__ = ["SIGNALS", "ElementSource", "InertSubscription", "SubscriberHooks", "TerminalWatch", "must_raise"]

T = TypeVar("T")

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")


class SubscriberHooks(Verification, Generic[T]):
    """The hooks that both verifications of Subscribers have."""

    def create_element(self, n: int) -> T:
        """Make an element that the Subscriber can take: another for each number. Called on several threads at once."""
        raise NotImplementedError(f"{type(self).__name__} must define create_element(n)")

    def create_helper_publisher(self, elements: int) -> Publisher[T]:
        """Make the Publisher that the elements come from; by default one that is asynchronous.

        Args:
            elements: how many; 2**63 - 1 means without an end.
        """
        return HelperPublisher(self.env, self.new_element, None if elements > INT_MAX else elements)

    # How tests run.

    def new_element(self, n: int) -> T:
        """Call `create_element`."""
        return self.call_hook(f"create_element({n})", lambda: self.create_element(n))


class ElementSource(ManualPublisher[T]):
    """Sends the Subscriber under test elements of the helper Publisher, when the test says so."""

    def __init__(self, test: SubscriberHooks[T]) -> None:
        super().__init__(test.env)
        self._test = test
        self._elements: ManualSubscriber[T] | None = None

    def open_source(self) -> None:
        """Subscribe to the helper Publisher."""
        test = self._test
        helper = test.made("create_helper_publisher()", lambda: test.create_helper_publisher(2**63 - 1), ("subscribe",))
        self._elements = ManualSubscriber(self.env)
        helper.subscribe(self._elements)
        self._elements.subscription.expect_completion(
            self.env.timeout, "the helper Publisher did not call on_subscribe"
        )
        self.env.verify_no_async_errors_no_delay()

    def next_element(self) -> T:
        """Return a new element."""
        if self._elements is None:
            self.open_source()
        assert self._elements is not None
        return self._elements.request_next_element("the helper Publisher did not produce an element")

    def signal_next(self) -> T:
        """Send a new element, and return it."""
        element = self.next_element()
        self.send_next(element)
        return element

    @property
    def sub(self) -> Subscriber[T]:
        """The Subscriber under test."""
        return self.subscriber.value


class InertSubscription(Subscription):
    """Does nothing."""

    def request(self, n: int, /) -> None:
        """Nothing."""

    def cancel(self) -> None:
        """Nothing."""


class TerminalWatch(Subscription):
    """Flops when it is called from inside of on_complete or on_error, however deep (2.3).

    It looks for the frame of `deliver` on the calling thread's stack. What a Subscriber does on another thread is seen
    by the beyond_spec204 tests.
    """

    def __init__(self, env: TestEnvironment, signal: str) -> None:
        self._env = env
        self._signal = signal

    def deliver(self, call: Callable[[], object]) -> None:
        """Call on_complete or on_error, with this frame on the stack."""
        call()

    def request(self, n: int, /) -> None:
        self._assert_not_inside("request", sys._getframe(1))

    def cancel(self) -> None:
        self._assert_not_inside("cancel", sys._getframe(1))

    def _assert_not_inside(self, method: str, caller: FrameType) -> None:
        frame: FrameType | None = caller
        while frame is not None:
            if frame.f_code is TerminalWatch.deliver.__code__:
                where = f"{caller.f_code.co_filename}:{caller.f_lineno} in {caller.f_code.co_name}"
                self._env.flop(
                    f"Subscription.{method} must not be called from Subscriber.{self._signal} (rule 2.3): {where}"
                )
                return
            frame = frame.f_back


def must_raise(env: TestEnvironment, signal: str, call: Callable[[Any], object]) -> None:
    """Call a signal with None, which must raise (2.13): a TypeError, or the AttributeError of using None."""
    try:
        call(None)
    except NULL_ERRORS:
        pass
    else:
        raise AssertionError(f"{signal}(None) did not raise (rule 2.13)")
    env.verify_no_async_errors_no_delay()
