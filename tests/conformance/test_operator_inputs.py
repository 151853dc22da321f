"""A broken operator fails its row: nothing hides the Subscriber that the operator passes to its source."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest

import pyrs
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck import TestEnvironment, Verdict, judge, verify
from tests.conformance.entry import Entry, processor
from tests.conformance.operator_inputs import OPERATOR_INPUTS, Input, input_entry
from tests.conformance.routes import PYTHON
from tests.conformance.running import verify_entry
from tests.conformance.subscribers import Through
from tests.operator_registry import SAMPLES
from tests.tck.judging import SHORT

SECOND = "required_spec205_mustCallSubscriptionCancelIfItAlreadyHasAnSubscriptionAndReceivesAnotherOnSubscribeSignal"
IN_COMPLETE = "required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnComplete"
IN_ERROR = "required_spec203_mustNotCallMethodsOnSubscriptionOrPublisherInOnError"
NULL = "required_spec213_{}_mustThrowNullPointerExceptionWhenParametersAreNull"


class Right(Subscriber[Any]):
    """The Subscriber of an operator that forwards all signals; the broken operators derive from it."""

    def __init__(self, output: Subscriber[Any]) -> None:
        self.output = output
        self.upstream: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise TypeError("on_subscribe(None)")
        if self.upstream is not None:
            subscription.cancel()
            return
        self.upstream = subscription
        self.output.on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise TypeError("on_next(None)")
        self.output.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise TypeError("on_error(None)")
        self.output.on_error(error)

    def on_complete(self) -> None:
        self.output.on_complete()


class ForgetsRule23(Right):
    def on_complete(self) -> None:
        assert self.upstream is not None
        self.upstream.cancel()
        super().on_complete()

    def on_error(self, error: BaseException, /) -> None:
        super().on_error(error)
        assert self.upstream is not None
        self.upstream.cancel()


class ForgetsRule25(Right):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise TypeError("on_subscribe(None)")
        if self.upstream is None:
            self.output.on_subscribe(subscription)
        self.upstream = subscription


class ForgetsRule213(Right):
    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is not None:
            super().on_subscribe(subscription)

    def on_next(self, element: Any, /) -> None:
        self.output.on_next(element)

    def on_error(self, error: BaseException, /) -> None:
        self.output.on_error(error)


class Operator(Publisher[Any]):
    """An operator whose Subscriber is of the given class."""

    def __init__(self, source: Publisher[Any], inlet: Callable[[Subscriber[Any]], Subscriber[Any]]) -> None:
        self.source = source
        self.inlet = inlet

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.source.subscribe(self.inlet(subscriber))


def row(inlet: type[Right]) -> Entry:
    entry = input_entry(inlet.__name__, Input(lambda s: pyrs.Stream(Operator(s, inlet))))
    entry.verification.environment = SHORT
    return entry


@pytest.mark.parametrize(
    ("inlet", "failing"),
    [
        (Right, set()),
        (ForgetsRule23, {IN_COMPLETE, IN_ERROR}),
        (ForgetsRule25, {SECOND}),
        (ForgetsRule213, {NULL.format(signal) for signal in ("onSubscribe", "onNext", "onError")}),
    ],
)
def test_a_row_fails_exactly_the_tests_of_the_forgotten_rule(inlet: type[Right], failing: set[str]) -> None:
    entry = row(inlet)
    rules = (IN_COMPLETE, IN_ERROR, SECOND, *(NULL.format(signal) for signal in ("onSubscribe", "onNext", "onError")))
    verdicts = [judge(entry.verification, name) for name in rules]
    assert {verdict.name for verdict in verdicts if verdict.status.value == "failed"} == failing


def test_the_guard_hides_the_same_fault_of_a_processor() -> None:
    """Therefore the rows of operators as Processors do not show this fault."""
    entry = processor("x", lambda: Through(lambda s: pyrs.Stream(Operator(s, ForgetsRule25))), subscribers=1)
    assert judge(entry.verification, SECOND).status.value == "passed"


class TakesNoElement(Right):
    def on_next(self, element: Any, /) -> None:
        raise ValueError("no element")


def test_a_report_of_the_guard_is_a_problem_of_the_row() -> None:
    def guarded(output: Subscriber[Any]) -> Subscriber[Any]:
        return pyrs.strict(TakesNoElement(output))

    entry = input_entry("strict", Input(lambda s: pyrs.Stream(Operator(s, guarded))))

    def one_test(verification: Any) -> Any:
        return verify(verification, only=lambda name: name == "required_spec201_mustSignalDemandViaSubscriptionRequest")

    result = verify_entry(entry, PYTHON, one_test)
    assert result.problems(entry) == [
        "void the run: strict reported: Subscriber TakesNoElement: on_next raised ValueError('no element') (rule 2.13)"
    ]


RULES_OF_A_SUBSCRIBER = (
    "required_spec203",
    "required_spec205",
    "required_spec213",
)
# All signals are sent on the test's thread or arrive in time, so no timeout expires.
OVERLAPPING = TestEnvironment(timeout=20, no_signals_timeout=0.02, hook_timeout=30, deadline=60)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, list[Future[Verdict]]]:
    """Judge the main rules of every row at the same time."""
    with ThreadPoolExecutor(16, "judging") as pool:
        return {
            entry.name: [
                pool.submit(judge, type(entry.name, (entry.verification,), {"environment": OVERLAPPING}), name)
                for name in entry.verification.test_names()
                if name.startswith(RULES_OF_A_SUBSCRIBER)
            ]
            for entry in OPERATOR_INPUTS
        }


@pytest.mark.parametrize("entry", OPERATOR_INPUTS, ids=lambda entry: entry.name)
def test_the_subscriber_of_an_operator_obeys_the_rules(
    entry: Entry, verdicts: dict[str, list[Future[Verdict]]]
) -> None:
    found = [future.result() for future in verdicts[entry.name]]
    assert [(each.name, each.reason) for each in found if each.status.value == "failed"] == []
    assert any(each.status.value == "passed" for each in found)


def test_each_operator_of_the_registry_has_a_row() -> None:
    rows = {name for entry in OPERATOR_INPUTS for name in entry.covers}
    expected = {f"Stream.{name.partition('(')[0]}" for name, each in SAMPLES.items() if each.conformance is not None}
    assert expected - rows == set()
