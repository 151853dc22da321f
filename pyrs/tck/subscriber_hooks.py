"""The hooks of a Subscriber's verification, and the helpers of its tests."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Generic

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck.environment import INT_MAX, T, TestEnvironment, described
from pyrs.tck.helper import HelperPublisher
from pyrs.tck.manual import ManualPublisher, ManualSubscriber
from pyrs.tck.verification import NULL_ERRORS, Verification
from pyrs.tck.waiting import Latch

SIGNALS = ("on_subscribe", "on_next", "on_error", "on_complete")


class SubscriberHooks(Verification, Generic[T]):
    """The hooks of both Subscriber verifications."""

    def create_element(self, n: int) -> T:
        """Create an element for the Subscriber, a different one for each number.

        It is called on several threads.
        """
        raise NotImplementedError(f"{type(self).__name__} must define create_element(n)")

    def create_helper_publisher(self, elements: int) -> Publisher[T]:
        """Create the Publisher of the elements.

        The default is asynchronous and calls ``create_element``.

        Args:
            elements: the number of elements; 2**63 - 1 means an endless stream.
        """
        return HelperPublisher(self.env, self.new_element, None if elements > INT_MAX else elements)

    # Helpers of the tests.

    def new_element(self, n: int) -> T:
        """Call ``create_element``, which must return within ``hook_timeout``."""
        return self.call_hook(f"create_element({n})", lambda: self.create_element(n), ())

    def new_helper_publisher(self, elements: int) -> Publisher[T]:
        """Call ``create_helper_publisher`` and check its result."""
        return self.call_hook(
            "create_helper_publisher()", lambda: self.create_helper_publisher(elements), ("subscribe",)
        )

    def must_not_call_inside(self, subscriber: Subscriber[T], signal: str, *arguments: object) -> None:
        """Send a signal in which the Subscriber must not call its Subscription (§2.3)."""
        subscription = TerminalWatch(self.env, signal)
        subscriber.on_subscribe(subscription)
        subscription.deliver(lambda: getattr(subscriber, signal)(*arguments))

    def must_cancel_another(
        self, subscriber: Subscriber[T], which: str = "the second", *, refuses_requests: bool = True, state: str = ""
    ) -> None:
        """Send a further Subscription, which the Subscriber must cancel (§2.5)."""
        other = PassiveSubscription(self.env, refuses_requests=refuses_requests)
        subscriber.on_subscribe(other)
        other.cancelled.expect_close(f"{state}the Subscriber did not cancel {which} Subscription (rule 2.5)")
        self.env.verify_no_async_errors_no_delay()

    def must_refuse_none(self, subscriber: Subscriber[T], signal: str, state: str = "") -> None:
        """Send a signal with None, which must raise TypeError or AttributeError (§2.13)."""
        instead = ""
        try:
            getattr(subscriber, signal)(None)
        except NULL_ERRORS:
            return
        except Exception as error:
            instead = f", but {described(error)}"
        raise AssertionError(f"{signal}(None){state} did not raise TypeError{instead} (rule 2.13)")


class ElementSource(ManualPublisher[T]):
    """Sends elements of the helper Publisher to the Subscriber under test."""

    def __init__(self, test: SubscriberHooks[T]) -> None:
        super().__init__(test.env)
        self._elements: ManualSubscriber[T] = ManualSubscriber(self.env)
        test.new_helper_publisher(2**63 - 1).subscribe(self._elements)
        self._elements.subscription.expect_close("the helper Publisher did not call on_subscribe")
        self.env.verify_no_async_errors_no_delay()

    def next_element(self) -> T:
        """Return a new element."""
        return self._elements.request_next_element("the helper Publisher did not produce an element")

    def signal_next(self) -> T:
        """Send a new element and return it."""
        element = self.next_element()
        self.sub.on_next(element)
        return element


class PassiveSubscription(Subscription):
    """Emits nothing, and records that it is cancelled."""

    def __init__(self, env: TestEnvironment, *, refuses_requests: bool = False) -> None:
        self._env = env
        self._refuses_requests = refuses_requests  # a request is an error, as for a second Subscription (§2.5)
        self.cancelled = Latch(env)

    def request(self, n: int, /) -> None:
        if self._refuses_requests:
            self._env.flop(f"the Subscriber called request({n}) on its second Subscription (rule 2.5)")

    def cancel(self) -> None:
        self.cancelled.close()


class TerminalWatch(Subscription):
    """Records an error when it is called inside on_complete or on_error (§2.3).

    It searches the calling thread's stack for the frame of ``deliver``. The beyond_spec204 tests detect calls on other
    threads.
    """

    def __init__(self, env: TestEnvironment, signal: str) -> None:
        self._env = env
        self._signal = signal

    def deliver(self, call: Callable[[], object]) -> None:
        """Call on_complete or on_error with this frame on the stack."""
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


def tck_error() -> RuntimeError:
    """Return the error that a test sends."""
    return RuntimeError("an error from the TCK")
