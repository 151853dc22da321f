"""Additional tests of a Subscriber, for violations that the official TCK accepts."""

from __future__ import annotations

import math
import time
from abc import abstractmethod
from collections.abc import Callable
from threading import Condition
from typing import Generic

from pyrs.api import Subscriber, Subscription
from pyrs.tck.concurrent_signals import SerialGuard
from pyrs.tck.environment import Flop, T, TestEnvironment, described, milliseconds, remaining
from pyrs.tck.subscriber_hooks import SubscriberHooks, tck_error
from pyrs.tck.subscriber_probes import WhiteboxProbe
from pyrs.tck.subscriber_tests import BlackboxTests, WhiteboxTests
from pyrs.tck.trace import RecordedSubscriber
from pyrs.tck.waiting import Latch, Promise, started

_ELEMENTS = 10
_MANY_ELEMENTS = 100
_SECONDS_OF_MANY_ELEMENTS = 2.0  # a slow Subscriber receives fewer elements
_LATE_ELEMENTS = 3  # the number of elements after a cancel, if the Subscriber has requested them
_CALL_DURATION = 0.001  # seconds that a call on the Subscription takes, so that an overlapping call is detected

# The requested elements and those that arrive, before a terminal signal: none, all that are requested, and fewer.
_BEFORE_THE_END = ((0, 0), (1, 1), (_ELEMENTS, 5))
_QUIET_STEPS = 10  # the number of waits of ``settle``
# The part of the name of the official test that sends None with this signal.
_NONE_TESTS = {"on_next": "_onNext_", "on_error": "_onError_", "on_subscribe": "_onSubscribe_"}


class BeyondSubscriberTests(SubscriberHooks[T]):
    """The additional tests of §2.3 and §2.4 on any thread, §2.7 and §3.1."""

    @abstractmethod
    def drive(self) -> Driven[T]:
        """Create a Subscriber with a recording Subscription."""

    def beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnComplete(self) -> None:
        """After on_complete, no thread may call the Subscription (§2.3, §2.4)."""
        self._leaves_alone("on_complete", lambda subscriber: subscriber.on_complete())

    def beyond_spec204_mustLeaveTheSubscriptionAloneAfterOnError(self) -> None:
        """After on_error, no thread may call the Subscription (§2.3, §2.4)."""
        self._leaves_alone("on_error", lambda subscriber: subscriber.on_error(tck_error()))

    def beyond_spec207_mustCallTheSubscriptionSerially(self) -> None:
        """Calls of request and cancel must not overlap on changing threads (§2.7).

        After an element, None must still raise TypeError (§2.13), and a second Subscription must be cancelled (§2.5).
        """
        driven = self.drive()
        driven.trigger(_MANY_ELEMENTS)
        seconds = _SECONDS_OF_MANY_ELEMENTS * self.env.scale
        sent = driven.deliver(_MANY_ELEMENTS, all_of_them=False, seconds=seconds)
        driven.subscription.settle()
        self.env.verify_no_async_errors_no_delay()
        if sent:
            for signal, official in _NONE_TESTS.items():
                # A Subscriber that forwards its signals without a check declares it by a skip of the official test.
                if not any("_spec213_" in name and official in name for name in self.skip_tests):
                    self._refuses_none_after_an_element(signal)
            if not any("_spec205_" in name for name in self.skip_tests):
                self._cancels_a_second_after_an_element()

    def beyond_spec301_mustUseItsOwnSubscriptionOnly(self) -> None:
        """A Subscriber must not call the Subscription of another Subscriber (§3.1)."""
        first, second = self.drive(), self.drive()
        for each in (first, second):
            each.trigger(1)
            each.subscription.await_demand(1, self.env.timeout)  # the first request may be late
        for moved, still in ((first, second), (second, first)):
            still.subscription.settle()
            calls = still.subscription.calls
            moved.trigger(1)
            moved.deliver(1, all_of_them=False)
            moved.subscription.settle()
            # A Subscriber that requests on a timer also calls its Subscription while no other one receives signals.
            if still.subscription.calls != calls and not still.subscription.await_call(self.env.timeout):
                last = still.subscription.last
                self.env.flop(f"a Subscriber called {last} on the Subscription of another Subscriber (rule 3.1)")

    def _refuses_none_after_an_element(self, signal: str) -> None:
        driven = self.drive()
        driven.trigger(1)
        driven.deliver(1, all_of_them=False)
        if not driven.subscription.cancelled.is_closed:  # a Subscriber may ignore all signals after its cancel
            self.must_refuse_none(driven.subscriber, signal, " after an element")

    def _cancels_a_second_after_an_element(self) -> None:
        driven = self.drive()
        driven.trigger(2)
        driven.deliver(1, all_of_them=False)
        driven.subscription.settle()  # a Subscriber may cancel some time after its last element
        if driven.subscription.cancelled.is_closed:
            return
        self.must_cancel_another(driven.subscriber, "a second", state="after an element, ")
        driven.deliver(1, first=1, all_of_them=False)
        driven.subscription.settle()
        self.env.verify_no_async_errors_no_delay()

    def _leaves_alone(self, signal: str, send: Callable[[Subscriber[T]], None]) -> None:
        before: list[tuple[Driven[T], int]] = []
        for demand, elements in _BEFORE_THE_END:
            driven = self.drive()
            if demand:
                driven.trigger(demand)
            sent = driven.deliver(elements, all_of_them=False)
            # The calls caused by the elements are complete, so a later call is caused by the terminal signal.
            driven.subscription.settle()
            before.append((driven, len(sent)))

        def assert_not_called(driven: Driven[T], elements: int, calls: int) -> None:
            if driven.subscription.calls != calls:
                self.env.flop(
                    f"the Subscriber called {driven.subscription.last} after {signal} (rules 2.3, 2.4), which followed "
                    f"{elements} elements"
                )

        ended: list[tuple[Driven[T], int, int]] = []
        for driven, elements in before:
            calls = driven.subscription.calls  # read here, because a Subscriber may request on a timer until the signal
            send(driven.subscriber)
            ended.append((driven, elements, calls))
            if elements > 1:
                # Only calls inside the signal count, because a Subscriber may cancel some time after its last element.
                assert_not_called(driven, elements, calls)
        self.env.verify_no_async_errors()
        for driven, elements, calls in ended:
            if elements <= 1:
                assert_not_called(driven, elements, calls)


class BeyondBlackboxTests(BeyondSubscriberTests[T], BlackboxTests[T]):
    """The additional tests that need no puppet."""

    def drive(self) -> Driven[T]:
        subscriber = self.new_subscriber()
        return Driven(self, subscriber, lambda elements: self.call_trigger_request(subscriber))


class BeyondWhiteboxTests(BeyondSubscriberTests[T], WhiteboxTests[T]):
    """The additional tests of ``BeyondSubscriberTests``, §2.5, §2.6 and §2.11."""

    def drive(self) -> Driven[T]:
        promise: Promise[Subscriber[T]] = Promise(self.env)
        probe: WhiteboxProbe[T] = _OneEndProbe(self.env, promise)
        subscriber = self.new_subscriber(probe)
        promise.complete(subscriber)
        return Driven(self, subscriber, lambda elements: probe.puppet.trigger_request(elements), probe)

    def beyond_spec205_mustNotRequestFromASecondSubscription(self) -> None:
        """A Subscriber must not request from a second or third Subscription (§2.5)."""
        stage = self.stage()
        self.must_cancel_another(stage.sub)
        if not stage.cancelled.is_closed:  # else the Subscriber has no active Subscription
            self.must_cancel_another(stage.sub, "the third")
        stage.puppet.trigger_request(1)
        self.env.verify_no_async_errors()

    def beyond_spec206_mustCancelWheneverItIsTold(self) -> None:
        """A Subscription that is no longer needed must be cancelled (§2.6).

        The Publisher may notice the cancel late, so the Subscriber must accept requested elements and a terminal signal
        after it (§2.8).
        """
        for state, elements in (("before any request", -1), ("with demand", 0), ("after an element", 1)):
            for end in ("on_complete", "on_error"):
                driven = self.drive()
                if elements >= 0:
                    driven.trigger(elements + _LATE_ELEMENTS)
                sent = driven.deliver(elements) if elements > 0 else []
                assert driven.probe is not None
                driven.probe.puppet.signal_cancel()
                driven.subscription.cancelled.expect_close(f"{state}, the Subscriber did not cancel (rule 2.6)")
                self.env.verify_no_async_errors_no_delay()
                driven.deliver_late(len(sent), end)
        self.env.verify_no_async_errors()

    def beyond_spec211_mustProcessSignalsInTheirOrder(self) -> None:
        """Signals on changing threads must be processed in their order (§2.11).

        on_error must be processed after elements, too (§2.10).
        """
        driven, probe = self._processed()
        driven.subscriber.on_complete()
        probe.expect_completion()
        driven, probe = self._processed()
        error = tck_error()
        driven.subscriber.on_error(error)
        probe.expect_error(error)
        self.env.verify_no_async_errors()

    def _processed(self) -> tuple[Driven[T], WhiteboxProbe[T]]:
        """Return a Subscriber that has processed several elements, and its probe."""
        driven = self.drive()
        driven.trigger(_ELEMENTS)
        sent = driven.deliver(_ELEMENTS)
        assert driven.probe is not None
        for element in sent:
            driven.probe.expect_next(element)
        return driven, driven.probe


class _OneEndProbe(WhiteboxProbe[T]):
    """Records an error if both terminal signals are reported (§1.7)."""

    def __init__(self, env: TestEnvironment, subscriber: Promise[Subscriber[T]]) -> None:
        super().__init__(env, subscriber)
        self._end = ""

    def register_on_complete(self) -> None:
        self._ends("on_complete")
        super().register_on_complete()

    def register_on_error(self, error: BaseException) -> None:
        self._ends("on_error")
        super().register_on_error(error)

    def _ends(self, signal: str) -> None:
        if self._end not in ("", signal):
            self.env.flop(f"the probe received {signal} after {self._end}, which is the last signal (rule 1.7)")
        self._end = signal


class Driven(Generic[T]):
    """A Subscriber under test with a recording Subscription."""

    def __init__(
        self,
        test: SubscriberHooks[T],
        subscriber: Subscriber[T],
        trigger: Callable[[int], None],
        probe: WhiteboxProbe[T] | None = None,
    ) -> None:
        self._env = test.env
        self._create = test.new_element
        self.subscriber = RecordedSubscriber(test.env.trace, subscriber)
        self.trigger = trigger
        self.probe = probe
        self.subscription = RecordingSubscription(test.env)
        self.subscriber.on_subscribe(self.subscription)
        if probe is not None:
            probe.expect_puppet()

    def deliver(self, count: int, *, first: int = 0, all_of_them: bool = True, seconds: float = math.inf) -> list[T]:
        """Send up to ``count`` requested elements, each on a thread, and return them.

        ``first`` elements were sent before. No further one is sent after ``seconds``. With ``all_of_them``, it is an
        error if fewer elements are requested.
        """
        sent: list[T] = []
        until = time.monotonic() + seconds
        for at in range(first, first + count):
            if time.monotonic() > until:
                break
            if not self.subscription.await_demand(at + 1, self._env.timeout):
                if all_of_them:
                    self._env.flop_and_fail(
                        f"the puppet should request {count} elements, but the Subscriber requested "
                        f"{self.subscription.demand} {milliseconds(self._env.timeout)}"
                    )
                break
            sent.append(self._create(at))
            self._send_on_a_thread("on_next", sent[-1])
        return sent

    def deliver_late(self, at: int, end: str) -> None:
        """Send requested elements and a terminal signal after the Subscriber's cancel."""
        for late in range(min(_LATE_ELEMENTS, int(self.subscription.demand) - at)):
            which = f" for requested element {late + 1} after its cancel"
            self._send_on_a_thread("on_next", self._create(at + late), which=which, rule="2.8")
        arguments = [tck_error()] if end == "on_error" else []
        which = " after its cancel, which the Publisher may not have noticed yet,"
        self._send_on_a_thread(end, *arguments, which=which)

    def _send_on_a_thread(self, signal: str, *arguments: object, which: str = "", rule: str = "2.13") -> None:
        def run() -> None:
            try:
                getattr(self.subscriber, signal)(*arguments)
            except Exception as error:
                raised = Flop(f"{signal}{which} raised {described(error)} (rule {rule})")
                raised.__cause__ = error
                self._env.flop("", raised)

        thread = started("signal", run)
        thread.join(10 * self._env.timeout)
        if thread.is_alive():
            self._env.flop_and_fail(f"{signal} did not return (rule 2.13)")


class RecordingSubscription(Subscription):
    """Records its calls, which must be serial (§2.7)."""

    def __init__(self, env: TestEnvironment) -> None:
        self._env = env
        self._guard = SerialGuard(env, "2.7")
        self._changed = Condition()
        self.calls = 0
        self.demand = 0
        self.last = ""
        self.cancelled = Latch(env)

    def request(self, n: int, /) -> None:
        with self._guard.during(f"request({n})"):
            self._record(f"request({n})", n)
            if n <= 0:
                self._env.flop(f"the Subscriber called request({n}): the argument must be positive (rule 3.9)")
            time.sleep(_CALL_DURATION)

    def cancel(self) -> None:
        with self._guard.during("cancel()"):
            self._record("cancel()", 0)
            self.cancelled.close()
            time.sleep(_CALL_DURATION)

    def _record(self, call: str, n: int) -> None:
        with self._changed:
            self.calls += 1
            self.demand += n
            self.last = call
            self._changed.notify_all()

    def await_demand(self, total: int, timeout: float) -> bool:
        """Wait until the total demand reaches a number; return whether it does in time."""
        with self._changed:
            return self._changed.wait_for(lambda: self.demand >= total, timeout)

    def await_call(self, timeout: float) -> bool:
        """Wait for a further call; return whether there is one in time."""
        with self._changed:
            calls = self.calls
            return self._changed.wait_for(lambda: self.calls != calls, timeout)

    def settle(self) -> None:
        """Wait until there has been no call for ``no_signals_timeout``.

        The wait is longer on a loaded machine, as in ``linger``.
        """
        deadline = time.monotonic() + 10 * self._env.timeout
        quiet = 0
        while quiet < _QUIET_STEPS and remaining(deadline):
            quiet = 0 if self.await_call(self._env.no_signals_timeout / _QUIET_STEPS) else quiet + 1
