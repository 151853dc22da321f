"""Subscribers and a Publisher that do only what the test tells them, and record the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.tck.environment import TestEnvironment, milliseconds, named
from pyrs.tck.waiting import BufferOverflow, Latch, Promise, Receptacle

__all__ = ["BlackholeSubscriber", "ManualPublisher", "ManualSubscriber", "UnexpectedSubscriber"]

T = TypeVar("T")
E = TypeVar("E", bound=BaseException)

_NO_ELEMENT = "did not receive the expected element"
_NO_COMPLETION = "did not receive the expected on_complete"


class UnexpectedSubscriber(Subscriber[T], Generic[T]):
    """Expects nothing: every signal is wrong. Tests say which are not."""

    def __init__(self, env: TestEnvironment) -> None:
        self.env = env
        self.subscription: Promise[Subscription] = Promise(env)

    def __str__(self) -> str:
        return f"{type(self).__name__}@{id(self):x}"

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.env.flop(f"unexpected on_subscribe({named(subscription)})")

    def on_next(self, element: T, /) -> None:
        self.env.flop(f"unexpected on_next({named(element)})")

    def on_error(self, error: BaseException, /) -> None:
        given: object = error
        if isinstance(given, BaseException):
            self.env.flop(f"unexpected on_error({given!r})", given)
        else:
            self.env.flop(f"on_error({given!r}): the argument is no exception")

    def on_complete(self) -> None:
        self.env.flop("unexpected on_complete()")

    def cancel(self) -> None:
        """Cancel the Subscription; flop if there is none."""
        if self.subscription.is_completed:
            self.subscription.value.cancel()
        else:
            self.env.flop("cannot cancel a Subscription before it came")


class ManualSubscriber(UnexpectedSubscriber[T]):
    """Requests what the test says, and keeps what comes until the test takes it."""

    def __init__(self, env: TestEnvironment) -> None:
        super().__init__(env)
        self.received: Receptacle[T] = Receptacle(env)

    # What the Publisher calls.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.env.debug(f"{self}.on_subscribe({named(subscription)})")
        self._refuse_none("on_subscribe", subscription)
        if self.subscription.is_completed:
            self.env.flop("on_subscribe was called on a Subscriber that has a Subscription (rule 2.12)")
        else:
            self.subscription.complete(subscription)

    def on_next(self, element: T, /) -> None:
        self.env.debug(f"{self}.on_next({named(element)})")
        self._refuse_none("on_next", element)
        if not self.subscription.is_completed:
            self.env.flop(f"on_next({named(element)}) was called before on_subscribe (rule 1.9)")
            return
        try:
            self.received.add(element)
        except BufferOverflow as overflow:
            message = (
                f"received more than {self.received.capacity} on_next signals, the size of the test's buffer: "
                "the Publisher probably emitted more than was requested"
            )
            # A Publisher may swallow what its Subscriber raises, so it is recorded too.
            self.env.flop(message)
            raise BufferOverflow(message) from overflow

    def on_error(self, error: BaseException, /) -> None:
        self.env.debug(f"{self}.on_error({error!r})")
        self._refuse_none("on_error", error)
        if self.subscription.is_completed:
            super().on_error(error)
        else:
            self.env.flop(f"on_error({error!r}) was called before on_subscribe (rule 1.9)")

    def on_complete(self) -> None:
        self.env.debug(f"{self}.on_complete()")
        if self.subscription.is_completed:
            self.received.complete()
        else:
            self.env.flop("on_complete() was called before on_subscribe (rule 1.9)")

    def _refuse_none(self, signal: str, value: object) -> None:
        if value is None:
            self.env.flop(f"the Publisher called {signal}(None) (rule 2.13)")
            raise NullSignal(f"{signal}(None)")

    # What the test calls.

    def request(self, n: int) -> None:
        """Request n elements."""
        self.subscription.value.request(n)

    def request_next_element(self, message: str = _NO_ELEMENT) -> T:
        """Request one element and wait for it."""
        self.request(1)
        return self.next_element(message)

    def request_next_element_or_end_of_stream(self, message: str = _NO_COMPLETION) -> Any:
        """Request one element and wait for it, or for the end."""
        self.request(1)
        return self.received.next_or_end_of_stream(self.env.timeout, message)

    def request_end_of_stream(self, message: str = _NO_COMPLETION) -> None:
        """Request one element and wait for the end, which should come instead."""
        self.request(1)
        self.expect_completion(message)

    def next_element(self, message: str = _NO_ELEMENT) -> T:
        """Wait for an element."""
        return self.received.next(self.env.timeout, message)

    def next_elements(self, count: int, message: str = _NO_ELEMENT) -> list[T]:
        """Wait for this many elements."""
        return self.received.next_n(count, self.env.timeout, message)

    def expect_completion(self, message: str = _NO_COMPLETION) -> None:
        """Wait for the end."""
        self.received.expect_completion(self.env.timeout, message)

    def expect_none(self, message: str = "did not expect an element but got element") -> None:
        """Wait a little; nothing may come."""
        self.received.expect_none(self.env.no_signals_timeout, message)

    def expect_error(self, kind: type[E]) -> E:
        """Wait for an error of this kind."""
        error = self.env.await_async_error(self.env.timeout)
        expected = f"expected on_error({kind.__name__})"
        if error is None:
            self.env.flop_and_fail(f"{expected} {milliseconds(self.env.timeout)}")
        if not isinstance(error, kind):
            self.env.flop_and_fail(f"{expected} but got {type(error).__name__}: {error}")
        return error

    def expect_error_with_message(self, kind: type[E], parts: Sequence[str]) -> E:
        """Wait for an error of this kind whose text holds one of the parts."""
        error = self.expect_error(kind)
        if not any(part in str(error) for part in parts):
            raise AssertionError(
                f"got the expected {kind.__name__}, but its message has none of {list(parts)}; it is {str(error)!r}"
            )
        return error


class BlackholeSubscriber(ManualSubscriber[T]):
    """Keeps no elements, to drain a Publisher."""

    def on_next(self, element: T, /) -> None:
        if not self.subscription.is_completed:
            self.env.flop(f"on_next({named(element)}) was called before on_subscribe (rule 1.9)")


class ManualPublisher(Publisher[T], Generic[T]):
    """Sends one Subscriber what the test says, and keeps what that one requests."""

    def __init__(self, env: TestEnvironment) -> None:
        self.env = env
        self.subscriber: Promise[Subscriber[T]] = Promise(env)
        # Without a limit, unlike the Java kit's: a Subscriber may well request one by one.
        self.requests: Receptacle[int] = Receptacle(env, capacity=None)
        self.cancelled = Latch(env)

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        """Hand out a Subscription, once."""
        if self.subscriber.is_completed:
            self.env.flop("the test's Publisher supports one Subscriber only")
        else:
            self.subscriber.complete(subscriber)
            subscriber.on_subscribe(_ManualSubscription(self))

    def send_next(self, element: T) -> None:
        """Call on_next."""
        self.subscriber.value.on_next(element)

    def send_completion(self) -> None:
        """Call on_complete."""
        self.subscriber.value.on_complete()

    def send_error(self, error: BaseException) -> None:
        """Call on_error."""
        self.subscriber.value.on_error(error)

    def expect_request(self, addendum: str = "") -> int:
        """Wait for a request, and return how many elements it is for."""
        message = "did not receive the expected call of request()"
        requested: object = self.requests.next(self.env.timeout, f"{message}. {addendum}" if addendum else message)
        if not isinstance(requested, int) or isinstance(requested, bool):
            self.env.flop_and_fail(f"request({requested!r}): an int is due")
        if requested <= 0:
            self.env.flop_and_fail(f"requests must be positive, but received request({requested}) (rule 3.9)")
        return requested

    def expect_cancelling(self) -> None:
        """Wait for the cancel."""
        self.cancelled.expect_close("did not receive the expected cancel of the upstream Subscription")


class _ManualSubscription(Subscription):
    def __init__(self, publisher: ManualPublisher[Any]) -> None:
        self._publisher = publisher

    def __str__(self) -> str:
        return "the test's Subscription"

    def request(self, n: int, /) -> None:
        self._publisher.env.debug(f"request({n})")
        self._publisher.requests.add(n)

    def cancel(self) -> None:
        self._publisher.env.debug("cancel()")
        self._publisher.cancelled.close()
