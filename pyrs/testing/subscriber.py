"""TestSubscriber: a Subscriber that records signals and checks its Publisher."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from operator import index
from threading import Condition
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from pyrs._core.demand import UNBOUNDED
from pyrs._core.states import Signal
from pyrs._core.validation import checked_callable, checked_integer, checked_timeout
from pyrs.api import Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.testing import overlap
from pyrs.testing.signal_log import SignalLog

if TYPE_CHECKING:
    from datetime import timedelta

T = TypeVar("T")


class TestSubscriber(Subscriber[T], Generic[T]):
    """Records every signal and every rule that the Publisher violates.

    It requests only what the test requests. Every wait has a deadline and raises AssertionError when it expires; the
    assertions also fail on a rule violation (1.1, 1.3, 1.4, 1.7, 1.9, 2.12, 2.13).

    Args:
        request: the initial demand; 0 for none, None for unbounded.
        on_element: called with this subscriber and each recorded element, to request, cancel or raise.
        timeout: the deadline of each wait, in seconds or as a timedelta.

    Raises:
        TypeError: ``request`` is not an integer, ``on_element`` is not callable, or ``timeout`` is neither a number nor
            a timedelta.
        ValueError: ``timeout`` is negative or not finite.

    Attributes:
        elements: the received elements.
        error: the received error, or None.
        completed: whether ``on_complete`` was received.
        subscription: a Subscription that records its calls and forwards them to the received one; None before that.
        violations: one line for each rule violation.
        thread_names: the names of the threads that emitted signals.

    Rules: 2.1, 2.3, 2.5, 2.13.

    Examples:
        >>> import pyrs
        >>> subscriber = TestSubscriber()
        >>> pyrs.range(3).subscribe(subscriber)
        >>> subscriber.request(2)
        >>> subscriber.assert_elements(0, 1).assert_live()
        <TestSubscriber: active, 2 elements>
    """

    __test__ = False  # pytest would collect the class because of its name

    def __init__(
        self,
        request: int | None = 0,
        *,
        on_element: Callable[[TestSubscriber[T], T], object] | None = None,
        timeout: float | timedelta = 10.0,
    ) -> None:
        self.elements: list[T] = []
        self.error: BaseException | None = None
        self.completed = False
        self.subscription: Subscription | None = None
        self._log = SignalLog()
        self.violations = self._log.violations
        self.thread_names = self._log.thread_names
        self._first_request = UNBOUNDED if request is None else checked_integer(request, "request")
        self._on_element = on_element if on_element is None else checked_callable(on_element, "on_element")
        self._timeout = checked_timeout(timeout, "timeout")
        self._changed = Condition()

    def __repr__(self) -> str:
        return f"<TestSubscriber: {self._log.state.value}, {len(self.elements)} elements>"

    # The Subscriber

    def on_subscribe(self, subscription: Subscription, /) -> None:
        """Record the Subscription and request; cancel a second Subscription (§2.5)."""
        self._enter(Signal.ON_SUBSCRIBE, subscription)
        try:
            if self.subscription is not None:
                subscription.cancel()
                return
            with self._changed:
                self.subscription = _RecordingSubscription(subscription, self._log, self._changed)
                self._changed.notify_all()
            if self._first_request:
                self.request(self._first_request)
        finally:
            self._leave()

    def on_next(self, element: T, /) -> None:
        """Record the element."""
        self._enter(Signal.ON_NEXT, element)
        try:
            with self._changed:
                self.elements.append(element)
                self._changed.notify_all()
            overlap.hold()
            if self._on_element is not None:
                self._on_element(self, element)
        finally:
            self._leave()

    def on_error(self, error: BaseException, /) -> None:
        """Record the error."""
        self._enter(Signal.ON_ERROR, error)
        self.error = error
        self._leave()

    def on_complete(self) -> None:
        """Record the completion."""
        self._enter(Signal.ON_COMPLETE)
        self.completed = True
        self._leave()

    # Demand

    def request(self, n: int) -> None:
        """Request ``n`` more elements; wait for ``on_subscribe`` first."""
        n = checked_integer(n, "n")
        self.await_subscription().request(n)

    def cancel(self) -> None:
        """Cancel the Subscription; wait for ``on_subscribe`` first."""
        self.await_subscription().cancel()

    # Waiting

    def await_until(
        self, condition: Callable[[], object], what: str, timeout: float | timedelta | None = None
    ) -> TestSubscriber[T]:
        """Wait until a signal makes the condition true, up to the deadline."""
        seconds = self._timeout if timeout is None else checked_timeout(timeout, "timeout")
        with self._changed:
            if not self._changed.wait_for(condition, seconds):
                raise AssertionError(f"{what} did not arrive within {seconds} seconds: {self._summary()}")
        return self

    def await_subscription(self, timeout: float | timedelta | None = None) -> Subscription:
        """Wait for ``on_subscribe`` and return the Subscription."""
        self.await_until(lambda: self.subscription is not None, "on_subscribe", timeout)
        assert self.subscription is not None
        return self.subscription

    def await_count(self, count: int, timeout: float | timedelta | None = None) -> list[T]:
        """Wait for at least ``count`` elements and return all received elements."""
        self.await_until(lambda: len(self.elements) >= count or self.ended, f"{count} elements", timeout)
        if len(self.elements) < count:
            raise AssertionError(f"the stream terminated before {count} elements: {self._summary()}")
        return list(self.elements)

    def await_end(self, timeout: float | timedelta | None = None) -> TestSubscriber[T]:
        """Wait for ``on_error`` or ``on_complete``."""
        return self.await_until(lambda: self.ended, "a terminal signal", timeout)

    def await_complete(self, timeout: float | timedelta | None = None) -> list[T]:
        """Wait for ``on_complete`` and return the elements."""
        self.await_end(timeout).assert_complete()
        return list(self.elements)

    def await_error(
        self, kind: type[BaseException] = BaseException, timeout: float | timedelta | None = None
    ) -> BaseException:
        """Wait for ``on_error`` and return the error, which must be of that type."""
        return self.await_end(timeout).assert_error(kind)

    # Assertions

    @property
    def ended(self) -> bool:
        """Return whether a terminal signal was received."""
        return self.completed or self.error is not None

    def assert_elements(self, *expected: Any) -> TestSubscriber[T]:
        """Assert that exactly these elements were received."""
        self.assert_rules()
        if self.elements != list(expected):
            raise AssertionError(f"expected {list(expected)!r}: {self._summary()}")
        return self

    def assert_complete(self) -> TestSubscriber[T]:
        """Assert that the stream completed."""
        self.assert_rules()
        if not self.completed or self.error is not None:
            raise AssertionError(f"not completed: {self._summary()}") from self.error
        return self

    def assert_error(self, kind: type[BaseException] = BaseException) -> BaseException:
        """Assert that the stream failed with an error of that type, and return the error."""
        self.assert_rules()
        if self.error is None or not isinstance(self.error, kind):
            raise AssertionError(f"no {kind.__name__}: {self._summary()}") from self.error
        return self.error

    def assert_live(self) -> TestSubscriber[T]:
        """Assert that no terminal signal was received."""
        self.assert_rules()
        if self.ended:
            raise AssertionError(f"terminated: {self._summary()}") from self.error
        return self

    def assert_rules(self) -> TestSubscriber[T]:
        """Assert that the Publisher violated no rule."""
        if self.violations:
            raise AssertionError("; ".join(self.violations))
        return self

    def _enter(self, signal: Signal, argument: object = None) -> None:
        with self._changed:
            self._log.enter(signal, argument)
            if argument is None and signal is not Signal.ON_COMPLETE:
                self._log.leave()
                raise NullSignal(f"{signal.value}(None)")

    def _leave(self) -> None:
        with self._changed:
            self._log.leave()
            self._changed.notify_all()  # on_element may have made a condition of await_until true

    def _summary(self) -> str:
        with self._changed:
            return self._log.summary()


class _RecordingSubscription(Subscription):
    """Logs the calls of the test, which may use the Subscription itself."""

    def __init__(self, subscription: Subscription, log: SignalLog, lock: Condition) -> None:
        self._subscription = subscription
        self._log = log
        self._lock = lock

    def request(self, n: int, /) -> None:
        with self._lock, suppress(TypeError):  # the Publisher rejects an argument that is not an integer
            self._log.requested(index(n))
        self._subscription.request(n)

    def cancel(self) -> None:
        with self._lock:
            self._log.cancelled()
        self._subscription.cancel()

    def __repr__(self) -> str:
        return repr(self._subscription)
