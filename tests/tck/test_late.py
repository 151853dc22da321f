"""A hook that blocks is reported by name within its deadline, and later with a shortened timeout."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event, Thread
from typing import Any

import pytest

from pyrs.tck import (
    PublisherVerification,
    Status,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
    TestEnvironment,
    judge,
    lateness,
)
from pyrs.tck.environment import Call
from pyrs.tck.lateness import Lateness
from tests.tck.clock import Clock
from tests.tck.right import Puppet, RightProbed, RightPublisher, RightSubscriber, RightSubscription

TEST = "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
QUICK = TestEnvironment(timeout=30, no_signals_timeout=0.02, hook_timeout=1, deadline=20)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


class Gate(Event):
    """Blocks its callers until the test ends, and advances the clock."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock = clock

    def pass_through(self, *arguments: object) -> None:
        if not self.is_set():
            self._clock.advance()
            self.wait(60)


@pytest.fixture
def gate(clock: Clock) -> Iterator[Gate]:
    gate = Gate(clock)
    yield gate
    gate.set()


class _Publisher(PublisherVerification[Any]):
    environment = TestEnvironment(timeout=1, no_signals_timeout=0.02, hook_timeout=1.5, deadline=20)


def test_a_hook_that_blocks_repeatedly_has_a_shortened_timeout(gate: Gate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lateness, "_SHORT", 1.0)

    class Blocked(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            gate.pass_through()

    reasons = [judge(Blocked, TEST).reason for _ in range(4)]
    first = "create_publisher(3) did not return within 1500 ms"
    then = "create_publisher(3) did not return within 1000 ms (a shortened timeout, because it was late twice before)"
    assert reasons == [first, first, then, then]
    gate.set()
    assert judge(Blocked, TEST).reason == "create_publisher(3) returned None, which has no method subscribe()"
    gate.clear()
    assert judge(Blocked, TEST).reason == first, "after a call in time the full timeout applies"


def test_a_request_that_blocks_repeatedly_has_a_shortened_timeout(gate: Gate) -> None:
    """The first calls have the deadline of the test, because a synchronous Publisher emits inside ``request``."""

    class Blocks(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def request(self, n: int, /) -> None:
                gate.pass_through()

    class Verification(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Blocks(elements)

    verdicts = [judge(Verification, TEST) for _ in range(4)]
    first = "the test did not end within 20000 ms: request(1) did not return (rules 3.4, 3.16)"
    shortened = "(a shortened timeout, because it was late twice before)"
    then = f"request(1) did not return within 200 ms (rules 3.4, 3.16) {shortened}"
    assert [verdict.reason for verdict in verdicts] == [first, first, then, then]
    assert "rule 3.16 (MUST)" in verdicts[0].details
    assert "likely cause: request raises or blocks" in verdicts[0].details
    assert "gate.pass_through()" in verdicts[0].details


def test_a_blocked_test_does_not_fail_a_later_one_that_traces(gate: Gate) -> None:
    """CPython 3.11 would loop endlessly in the traced calls while the exception of the blocked thread is pending."""

    class Blocks(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def request(self, n: int, /) -> None:
                gate.pass_through()

    class Blocked(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Blocks(elements)

    class Right(_Publisher):
        environment = TestEnvironment(timeout=5, no_signals_timeout=0.02, hook_timeout=30, deadline=90)

        def create_publisher(self, elements: int) -> Any:
            return RightPublisher(elements)

    assert judge(Blocked, TEST).status is Status.FAILED
    verdict = judge(Right, "beyond_spec103_mustSignalSeriallyAtEveryInterleaving")
    assert (verdict.status, verdict.reason) == (Status.PASSED, "")


def test_a_subscribe_that_blocks_repeatedly_has_a_shortened_timeout(gate: Gate) -> None:
    class Blocks(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            gate.pass_through()

    class Verification(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Blocks(elements)

    reasons = [judge(Verification, TEST).reason for _ in range(3)]
    first = "subscribe() did not return within 1500 ms"
    then = "subscribe() did not return within 200 ms (a shortened timeout, because it was late twice before)"
    assert reasons == [first, first, then]


def test_a_cancel_that_is_slow_repeatedly_has_a_shortened_timeout(clock: Clock) -> None:
    class Slow(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def cancel(self) -> None:
                if not self.stopped:
                    clock.advance_until_read(1.2)  # longer than timeout, shorter than hook_timeout
                super().cancel()

    class Verification(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Slow(elements)

    test = "required_spec307_afterSubscriptionIsCancelledAdditionalCancelationsMustBeNops"
    verdicts = [judge(Verification, test) for _ in range(3)]
    assert [verdict.status.value for verdict in verdicts] == ["passed", "passed", "failed"]
    then = "cancel() did not return within 200 ms (a shortened timeout, because it was late twice before)"
    assert verdicts[2].reason == then


def test_a_slow_publisher_has_fewer_iterations(clock: Clock) -> None:
    subscribed = 0

    class Slow(RightPublisher):
        def subscribe(self, subscriber: Any, /) -> None:
            nonlocal subscribed
            subscribed += 1
            clock.advance_until_read(1.2)
            super().subscribe(subscriber)

    class Verification(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Slow(elements)

    verdict = judge(Verification, "stochastic_spec103_mustSignalOnMethodsSequentially")
    assert verdict.status is Status.PASSED, verdict.reason
    assert subscribed == 5  # each takes 1.2 seconds, and none starts after 5 seconds


def test_a_shortened_timeout_is_five_times_the_longest_call_in_time(clock: Clock) -> None:
    env, other, late = TestEnvironment(), TestEnvironment(), Lateness()
    for elements, took in ((3, 0.3), (1, 0.1)):
        env.timed(f"create_publisher({elements})", lambda took=took: clock.advance(took))  # type: ignore[misc]
    late.note(env)
    slow, stuck = (Call(name, 0.0, 0) for name in ("create_publisher(1)", "create_failed_publisher()"))
    assert late.limit(slow, 2.0, 1.0) == 2.0
    for _ in range(2):
        late.note(other, slow, stuck, stuck)
    assert late.limit(slow, 2.0, 1.0) == pytest.approx(1.5), "five times the longest"
    assert late.limit(slow, 1.0, 1.0) == 1.0, "and never longer than before"
    assert late.limit(stuck, 2.0, 1.0) == 0.2
    assert late.limit(stuck, 4.0, 2.0) == 0.4


def test_a_hook_late_on_two_threads_counts_once() -> None:
    late, stuck = Lateness(), Call("create_element(0)", 0.0, 0)
    late.note(TestEnvironment(), stuck, stuck)
    assert not late.is_shortened(stuck)


class _Blackbox(SubscriberBlackboxVerification[int]):
    environment = QUICK

    def create_subscriber(self) -> Any:
        return RightSubscriber()

    def create_element(self, n: int) -> int:
        return n


@pytest.mark.parametrize("test", ["required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest", "beyond_spec207"])
@pytest.mark.parametrize(
    ("hook", "call"), [("create_element", "create_element(0)"), ("trigger_request", "trigger_request()")]
)
def test_a_late_hook_of_a_subscriber_is_named(gate: Gate, hook: str, call: str, test: str) -> None:
    (name,) = (name for name in _Blackbox.test_names() if name.startswith(test))
    verdict = judge(type("Blocked", (_Blackbox,), {hook: lambda self, argument: gate.pass_through()}), name)
    assert verdict.reason == f"{call} did not return within 1000 ms"
    assert "in pass_through" in verdict.details


def test_the_details_of_a_failure_omit_the_frames_of_the_guard() -> None:
    class BlockingElement:
        """An element whose ``__str__`` blocks, so that its signal stays inside the guard."""

        def __init__(self) -> None:
            self.inside, self.seen = Event(), Event()

        def __str__(self) -> str:
            self.inside.set()
            self.seen.wait(30)
            return "blocking"

    class Elsewhere(RightPublisher):
        class subscription(RightSubscription):  # noqa: N801
            def emit(self, subscriber: Any) -> None:
                element = BlockingElement()
                thread = Thread(target=subscriber.on_next, args=(element,))
                thread.start()
                element.inside.wait(30)
                subscriber.on_next(1)
                element.seen.set()
                thread.join()
                self.cancel()

    class Verification(_Publisher):
        def create_publisher(self, elements: int) -> Any:
            return Elsewhere(elements)

    verdict = judge(Verification, "beyond_spec103_mustSignalSeriallyWhenManyThreadsRequest")
    assert "illegal concurrent access" in verdict.reason
    assert "contextlib" not in verdict.details


@pytest.mark.parametrize(
    ("method", "call"),
    [("trigger_request", "puppet.trigger_request(1)"), ("signal_cancel", "puppet.signal_cancel()")],
)
def test_a_late_method_of_a_puppet_is_named(gate: Gate, method: str, call: str) -> None:
    class Moved(RightProbed):
        puppet = type("Blocked", (Puppet,), {method: lambda self, *arguments: gate.pass_through()})

    class Verification(SubscriberWhiteboxVerification[int]):
        environment = QUICK

        def create_subscriber(self, probe: Any) -> Any:
            return Moved(probe)

        def create_element(self, n: int) -> int:
            return n

    verdict = judge(Verification, "required_exerciseWhiteboxHappyPath")
    assert verdict.reason == f"{call} did not return within 1000 ms"
    assert "in pass_through" in verdict.details
