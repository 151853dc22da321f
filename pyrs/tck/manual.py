"""Subscribers and a Publisher that a test controls."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.tck.concurrent_signals import SerialGuard
from pyrs.tck.environment import T, TestEnvironment, described, named, overdue, quoted
from pyrs.tck.trace import RecordedSubscriber
from pyrs.tck.waiting import Latch, ProbeOverflow, Promise, Receptacle

_NO_ELEMENT = "did not receive the expected element (rule 1.2)"
_NO_COMPLETION = "did not receive the expected on_complete (rule 1.5)"


class UnexpectedSubscriber(Subscriber[T]):
    """Records each signal as an error; subclasses override the expected ones."""

    def __init__(self, env: TestEnvironment) -> None:
        self.env = env
        self.subscription: Promise[Subscription] = Promise(env)
        self.recorded: RecordedSubscriber | None = None  # the object that subscribes for this one

    def __str__(self) -> str:
        return f"{type(self).__name__}@{id(self):x}"

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.env.flop(f"unexpected on_subscribe({named(subscription)})")

    def on_next(self, element: T, /) -> None:
        self.env.flop(f"unexpected on_next({named(element)})")

    def on_error(self, error: BaseException, /) -> None:
        given: object = error
        if isinstance(given, BaseException):
            self.env.flop(f"unexpected on_error({quoted(given)})", given)
        else:
            self.env.flop(f"on_error({quoted(given)}): the argument is not an exception")

    def on_complete(self) -> None:
        self.env.flop("unexpected on_complete()")

    def cancel(self) -> None:
        """Cancel the Subscription; record an error if there is none."""
        if self.subscription.is_closed:
            self.env.timed("cancel()", self.subscription.value.cancel)
        else:
            self.env.flop("cannot cancel before on_subscribe")

    def act(self, text: str, action: Callable[[Any], object]) -> None:
        """Call ``action``; record its exception, which a Publisher might suppress."""
        try:
            action(self)
        except Exception as error:
            self.env.flop(f"{text} raised {described(error)} (rules 3.15, 3.16)")

    def __enter__(self) -> None:
        """Cancel at the end of the block."""

    def __exit__(self, *error: object) -> None:
        self.cancel()


class Failing(UnexpectedSubscriber[T]):
    """Expects on_subscribe and then on_error, once each."""

    def __init__(self, env: TestEnvironment, name: str) -> None:
        super().__init__(env)
        self._name = name
        self.subscribed = Latch(env)
        self.failed = Latch(env)
        self.argument: object = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscribed.assert_open("on_subscribe was called twice on one Subscriber (rule 2.12)")
        given: object = subscription
        if given is not None and not self.subscribed.is_closed:
            self.subscription.complete(subscription)
        self.subscribed.close()

    def on_error(self, error: BaseException, /) -> None:
        self.subscribed.assert_closed("on_error was called before on_subscribe (rule 1.9)")
        self.failed.assert_open(f"failed {self._name} called on_error twice (rule 1.7)")
        self.argument = error
        self.failed.close()


class ManualSubscriber(UnexpectedSubscriber[T]):
    """Requests when the test calls ``request``, and buffers the received elements."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self.received: Receptacle[T] = Receptacle(env)

    # Called by the Publisher.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._refuse_none("on_subscribe", subscription)
        if self.subscription.is_closed:
            self.env.flop("on_subscribe was called twice on one Subscriber (rule 2.12)")
        else:
            self.subscription.complete(subscription)

    def on_next(self, element: T, /) -> None:
        self._refuse_none("on_next", element)
        if not self.subscription.is_closed:
            self.env.flop(f"on_next({named(element)}) was called before on_subscribe (rule 1.9)")
            return
        try:
            self.received.add(element)
        except ProbeOverflow as overflow:
            message = (
                f"received more than {self.received.capacity} on_next signals, the capacity of the test's buffer: "
                "the Publisher probably emitted more elements than were requested (rule 1.1)"
            )
            # A Publisher may suppress the exceptions of its Subscriber, so the overflow is also recorded.
            self.env.flop(message)
            raise ProbeOverflow(message) from overflow

    def on_error(self, error: BaseException, /) -> None:
        self._refuse_none("on_error", error)
        if self.subscription.is_closed:
            super().on_error(error)
        else:
            self.env.flop(f"on_error({quoted(error)}) was called before on_subscribe (rule 1.9)")

    def on_complete(self) -> None:
        if self.subscription.is_closed:
            self.received.complete()
        else:
            self.env.flop("on_complete() was called before on_subscribe (rule 1.9)")

    def _refuse_none(self, signal: str, value: object) -> None:
        if value is None:
            self.env.flop(f"the Publisher called {signal}(None) (rule 2.13)")
            raise NullSignal(f"{signal}(None)")

    # Called by the test.

    def request(self, n: int) -> None:
        self.env.timed(f"request({n})", lambda: self.subscription.value.request(n))

    def request_next_element(self, message: str = _NO_ELEMENT) -> T:
        self.request(1)
        return self.next_element(message)

    def request_next_element_or_end_of_stream(self, message: str = _NO_COMPLETION) -> Any:
        self.request(1)
        return self.received.next_or_end_of_stream(message)

    def request_end_of_stream(self, message: str = _NO_COMPLETION) -> None:
        self.request(1)
        self.expect_completion(message)

    def next_element(self, message: str = _NO_ELEMENT) -> T:
        return self.received.next(message)

    def next_elements(self, count: int, message: str = _NO_ELEMENT) -> list[T]:
        return self.received.next_n(count, message)

    def expect_completion(self, message: str = _NO_COMPLETION) -> None:
        self.received.expect_completion(message)

    def expect_none(self, message: str = "expected no element but received") -> None:
        """Wait for ``no_signals_timeout``; record an error if anything arrives."""
        self.received.expect_none(message)

    def expect_error(self, kind: type[BaseException]) -> BaseException:
        """Wait for an error of a type."""
        error = self.env.await_async_error(self.env.timeout)
        expected = f"expected on_error({kind.__name__})"
        if error is None:
            self.env.flop_and_fail(overdue(expected, self.env.timeout))
        if not isinstance(error, kind):
            self.env.flop_and_fail(f"{expected} but received {described(error)}")
        return error


class Watching(ManualSubscriber[T]):
    """Counts the signals, and checks that they are serial and in order."""

    def __init__(self, env: TestEnvironment, total: int = 0) -> None:
        super().__init__(env)
        self._total = total  # the number of elements after which ``all_received`` is closed
        self._guard = SerialGuard(env, "1.3")
        self.signals = 0
        self.elements = 0
        self.last = ""
        self.error: BaseException | None = None
        self.ended = Latch(env)
        self.all_received = Latch(env)

    def on_next(self, element: T, /) -> None:
        with self._signal(f"on_next({named(element)})"):
            self._refuse_none("on_next", element)
            self.elements += 1
            self._assert_not_ended("on_next")
            if self.elements == self._total:
                self.all_received.close()

    def expect(self, total: int) -> None:
        """Open ``all_received`` again until this number of elements has arrived."""
        self._total = total
        self.all_received = Latch(self.env)
        if self.elements >= total:
            self.all_received.close()

    def receives_all(self, until: float = math.inf) -> bool:
        """Wait for all expected elements, as ``Latch.closes_while`` does."""
        return self.all_received.closes_while(lambda: self.elements, until)

    def ends(self, message: str = "") -> bool:
        """Wait for the end while elements arrive; return whether it came.

        If it did not, the message is recorded, unless it is empty.
        """
        ended = self.ended.closes_while(lambda: self.elements)
        if message and not ended:
            self.env.flop(overdue(message, self.env.timeout))
        return ended

    def on_error(self, error: BaseException, /) -> None:
        with self._signal(f"on_error({quoted(error)})"):
            self._assert_not_ended("on_error")
            self.error = error
            self.ended.close()

    def on_complete(self) -> None:
        with self._signal("on_complete()"):
            self._assert_not_ended("on_complete")
            self.ended.close()

    def _signal(self, call: str) -> Any:
        self.signals += 1
        self.last = call
        return self._guard.during(call)

    def _assert_not_ended(self, signal: str) -> None:
        if not self.subscription.is_closed:
            self.env.flop(f"{signal} was called before on_subscribe (rule 1.9)")
        self.ended.assert_open(f"{signal} was called after the terminal signal (rule 1.7)")


class Acting(Watching[T]):
    """Runs an action inside on_next of element ``at``, inside on_subscribe for 0.

    A negative number means never. ``acted`` is closed after the action.
    """

    def __init__(self, env: TestEnvironment, action: Callable[[Any], object], at: int = 0) -> None:
        super().__init__(env)
        self._action = action
        self._at = at
        self.acted = Latch(env)

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        if self._at == 0:
            self._run("on_subscribe")

    def on_next(self, element: T, /) -> None:
        super().on_next(element)
        if self.elements == self._at:
            self._run("on_next")

    def _run(self, signal: str) -> None:
        self.act(f"a call inside {signal}", self._action)
        self.acted.close()


class ManualPublisher(Publisher[T]):
    """Signals one Subscriber, by calls of the test, and records its requests."""

    def __init__(self, env: TestEnvironment) -> None:
        self.env = env
        self.subscriber: Promise[Subscriber[T]] = Promise(env)
        # Unbounded, unlike in the official TCK: a Subscriber may request elements one by one.
        self.requests: Receptacle[int] = Receptacle(env, capacity=None)
        self.cancelled = Latch(env)

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Signal on_subscribe; record an error for a second Subscriber."""
        if self.subscriber.is_closed:
            self.env.flop("the test's Publisher supports one Subscriber only")
        else:
            recorded = RecordedSubscriber(self.env.trace, subscriber)
            self.subscriber.complete(recorded)
            recorded.on_subscribe(_ManualSubscription(self))

    @property
    def sub(self) -> Subscriber[T]:
        """The Subscriber under test."""
        return self.subscriber.value

    def expect_request(self, addendum: str = "") -> int:
        """Wait for a request, and return its number of elements."""
        message = "the Subscriber did not call request() (rule 2.1)"
        requested: object = self.requests.next(f"{message}. {addendum}" if addendum else message)
        if not isinstance(requested, int) or isinstance(requested, bool):
            self.env.flop_and_fail(f"request({requested!r}): the argument must be an int (rule 2.1)")
        if requested <= 0:
            self.env.flop_and_fail(f"request({requested}): the argument must be positive (rule 3.9)")
        return requested

    def expect_cancelling(self) -> None:
        self.cancelled.expect_close("the Subscriber did not cancel its Subscription (rule 2.6)")


class _ManualSubscription(Subscription):
    def __init__(self, publisher: ManualPublisher[Any]) -> None:
        self._publisher = publisher

    def __str__(self) -> str:
        return "the test's Subscription"

    def request(self, n: int, /) -> None:
        self._publisher.requests.add(n)

    def cancel(self) -> None:
        self._publisher.cancelled.close()
