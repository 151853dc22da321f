"""Faulty Subscribers for the whitebox and the blackbox verification. Each has one fault, in one signal or state."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread, Timer
from typing import Any

from pyrs.api import Subscription
from tests.tck import wrong_subscribers as wrong
from tests.tck.judging import Case
from tests.tck.right import Puppet, RightProbed, RightSubscriber, not_none
from tests.tck.test_wrong_subscribers import (
    DEMAND,
    END,
    ERROR,
    HAPPY,
    MANY,
    NULL,
    SECOND,
    black,
)
from tests.tck.wrong_late_signals import CANCELS, LATE_SIGNALS, subscriber

__all__ = ["BLACKBOX", "WHITEBOX"]

AFTER_END = "beyond_spec204_mustLeaveTheSubscriptionAloneAfter{}"
ORDER = "beyond_spec211_mustProcessSignalsInTheirOrder"
SERIAL = "beyond_spec207_mustCallTheSubscriptionSerially"
OWN = "beyond_spec301_mustUseItsOwnSubscriptionOnly"
NOT_SECOND = "beyond_spec205_mustNotRequestFromASecondSubscription"


# Subscribers that call their Subscription after a terminal signal, on three kinds of threads.


def _inline(call: Callable[[], None]) -> None:
    call()


def _on_a_thread(call: Callable[[], None]) -> None:
    thread = Thread(target=call, daemon=True)
    thread.start()
    thread.join()


def _on_a_timer(call: Callable[[], None]) -> None:
    Timer(0.01, call).start()


def _calling(signal: str, method: str, run: Callable[[Callable[[], None]], None], base: type[Any]) -> Any:
    def send(self: Any, *arguments: Any) -> None:
        getattr(base, signal)(self, *arguments)
        subscription = self.subscription
        run(subscription.cancel if method == "cancel" else lambda: subscription.request(1))

    return send


def _terminal(base: type[Any], prefix: str, *, known: tuple[tuple[str, str], ...]) -> list[Case]:
    """Return Subscribers that call their Subscription in or after a terminal signal.

    Args:
        base: the conforming Subscriber.
        prefix: the first word of the names.
        known: the pairs of a method and a place for which ``wrong_subscribers`` has a Subscriber.
    """
    return [
        Case(
            AFTER_END.format(end),
            subscriber(
                f"{prefix}{method.capitalize()}s{where}{end}",
                f"Calls {method} {place.format(signal)}",
                base,
                **{signal: _calling(signal, method, run, base)},
            ),
            f"the Subscriber called {method}(",
        )
        for end, signal in (("OnComplete", "on_complete"), ("OnError", "on_error"))
        for method in ("request", "cancel")
        for where, place, run in (
            ("Later", "after {}, on a timer", _on_a_timer),
            ("OnAThread", "in {}, on another thread", _on_a_thread),
            ("AfterIt", "in {}", _inline),
        )
        if (method, where) not in known
    ]


def _terminal_later(base: type[Any], prefix: str) -> list[Case]:
    """Return Subscribers that call their Subscription after a terminal signal in one state."""

    def sends(signal: str, method: str, applies: Callable[[int], bool]) -> dict[str, Any]:
        def on_next(self: Any, element: Any) -> None:
            base.on_next(self, element)
            self.elements += 1

        def send(self: Any, *arguments: Any) -> None:
            getattr(base, signal)(self, *arguments)
            if applies(self.elements):
                call = self.subscription.cancel if method == "cancel" else lambda: self.subscription.request(1)
                _on_a_thread(call)

        return {"elements": 0, "on_next": on_next, signal: send}

    return [
        Case(
            AFTER_END.format(end),
            subscriber(
                f"{prefix}{method.capitalize()}s{when}{end}",
                f"Calls {method} in {signal}, on another thread, if it has received {state}",
                base,
                **sends(signal, method, applies),
            ),
            f"the Subscriber called {method}({'1' * (method == 'request')}) after {signal} (rules 2.3, 2.4), "
            f"which followed {elements} elements",
        )
        for end, signal in (("OnComplete", "on_complete"), ("OnError", "on_error"))
        for method in ("request", "cancel")
        for when, state, applies, elements in (
            ("WithoutElements", "no element", lambda elements: elements == 0, 0),
            ("AfterSeveral", "several elements", lambda elements: elements > 1, 5),
        )
    ]


# Subscribers that mishandle None as an argument.


def _accepting(signal: str, base: type[Any]) -> Any:
    def send(self: Any, argument: Any) -> None:
        if argument is not None:
            getattr(base, signal)(self, argument)

    return send


def _raising(signal: str, base: type[Any]) -> Any:
    def send(self: Any, argument: Any) -> None:
        if argument is None:
            raise ValueError(f"{signal}(None)")
        getattr(base, signal)(self, argument)

    return send


def _null(base: type[Any], prefix: str, name: Callable[[str], str]) -> list[Case]:
    cases = []
    for camel, signal in (("onSubscribe", "on_subscribe"), ("onNext", "on_next"), ("onError", "on_error")):
        title = camel[0].upper() + camel[1:]
        for verb, fault, method, message in (
            ("Accepts", "Accepts {}(None)", _accepting, "did not raise TypeError (rule 2.13)"),
            ("ValueErrorFor", "Raises ValueError for {}(None)", _raising, f"ValueError: {signal}(None)"),
        ):
            faulty = subscriber(
                f"{prefix}{verb}None{title}", fault.format(signal), base, **{signal: method(signal, base)}
            )
            cases.append(Case(name(NULL.format(camel)), faulty, message))
    return cases


def _accepting_later(signal: str, base: type[Any]) -> dict[str, Any]:
    def on_next(self: Any, element: Any) -> None:
        if element is None and self.elements and signal == "on_next":
            return
        base.on_next(self, element)
        self.elements += 1

    def send(self: Any, argument: Any) -> None:
        if argument is not None or not self.elements:
            getattr(base, signal)(self, argument)

    return {"elements": 0, signal: send, "on_next": on_next}


def _null_later(base: type[Any], prefix: str, *signals: str) -> list[Case]:
    return [
        Case(
            SERIAL,
            subscriber(
                f"{prefix}AcceptsNone{signal.title().replace('_', '')}Later",
                f"Accepts {signal}(None) after an element",
                base,
                **_accepting_later(signal, base),
            ),
            f"{signal}(None) after an element did not raise TypeError (rule 2.13)",
        )
        for signal in signals
    ]


# Subscribers that mishandle a second Subscription.


def _second(base: type[Any], prefix: str, name: Callable[[str], str]) -> list[Case]:
    def ignores(self: Any, subscription: Any) -> None:
        if self.subscription is None:
            base.on_subscribe(self, subscription)

    def raises(self: Any, subscription: Any) -> None:
        if self.subscription is not None:
            raise RuntimeError("there is a Subscription already")
        base.on_subscribe(self, subscription)

    def cancels_first(self: Any, subscription: Any) -> None:
        if self.subscription is not None:
            self.subscription.cancel()
        else:
            base.on_subscribe(self, subscription)

    def requests_and_cancels(self: Any, subscription: Any) -> None:
        if self.subscription is not None:
            subscription.cancel()
            subscription.request(1)
        else:
            base.on_subscribe(self, subscription)

    not_cancelled = "did not cancel the second Subscription within 1500 ms (rule 2.5)"
    on_second = "called request(1) on its second Subscription (rule 2.5)"
    used = NOT_SECOND if base is RightProbed else name(SECOND)
    return [
        Case(test, subscriber(f"{prefix}{title}", fault, base, on_subscribe=method), message)
        for title, fault, method, test, message in (
            ("IgnoresTheSecond", "Ignores a second Subscription", ignores, name(SECOND), not_cancelled),
            ("RaisesForTheSecond", "Raises for a second Subscription", raises, name(SECOND), "there is a Subscription"),
            (
                "CancelsTheFirst",
                "Cancels the first Subscription instead of the second",
                cancels_first,
                name(SECOND),
                not_cancelled,
            ),
            (
                "RequestsAfterRefusing",
                "Cancels a second Subscription, and then requests from it",
                requests_and_cancels,
                used,
                on_second,
            ),
        )
    ]


# Subscribers that mishandle one element.


class CountsElements(RightProbed):
    """Calls ``do`` with the element number ``at``, and processes the others."""

    at = 1
    count = 0

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.count += 1
        if self.count == self.at:
            self.do(element)
        else:
            super().on_next(element)

    def do(self, element: Any) -> None:
        raise NotImplementedError


def _forget(self: Any, element: Any) -> None:
    pass


def _twice(self: Any, element: Any) -> None:
    self.probe.register_on_next(element)
    self.probe.register_on_next(element)


def _raise(self: Any, element: Any) -> None:
    raise RuntimeError("an element too many")


def _other(self: Any, element: Any) -> None:
    self.probe.register_on_next(-1)


ELEMENTS = [
    Case(test, subscriber(f"{name}{at}", fault.format(at), CountsElements, do=do, at=at), message)
    for name, fault, do, places in (
        (
            "ForgetsElement",
            "Does not process element {}",
            _forget,
            (
                (1, HAPPY, "did not call register_on_next(0)"),
                (2, MANY, "did not call register_on_next(1)"),
                (5, ORDER, "did not call register_on_next(9)"),
                (10, ORDER, "on_next(9)"),
            ),
        ),
        (
            "ProcessesTwice",
            "Processes element {} twice",
            _twice,
            ((1, MANY, "reported on_next(0) instead of on_next(1)"), (5, ORDER, "instead of on_next(5)")),
        ),
        (
            "RaisesForElement",
            "Raises for element {}",
            _raise,
            (
                (1, MANY, "an element too many"),
                (2, HAPPY, "an element too many"),
                (5, ORDER, "did not call register_on_next(9)"),
                (10, SERIAL, "an element too many"),
            ),
        ),
        (
            "ChangesElement",
            "Processes another element instead of element {}",
            _other,
            ((1, HAPPY, "instead of on_next(0)"), (5, ORDER, "reported on_next(-1) instead of on_next(4)")),
        ),
    )
    for at, test, message in places
]


class Swaps(RightProbed):
    at = 2
    count = 0
    previous: Any = None

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.count += 1
        if self.count == self.at:
            self.previous = element
            return
        super().on_next(element)
        if self.count == self.at + 1:
            super().on_next(self.previous)


# Subscribers with a faulty puppet.


def _puppet(name: str, fault: str, request: Callable[[Any, int], None], test: str, message: str) -> Case:
    puppet = type("puppet", (Puppet,), {"trigger_request": request, "calls": 0})
    return Case(test, subscriber(name, fault, RightProbed, puppet=puppet), message)


def _one_less(self: Any, n: int) -> None:
    if n > 1:
        self.subscription.request(n - 1)


def _negative(self: Any, n: int) -> None:
    self.subscription.request(-n)


def _first_only(self: Any, n: int) -> None:
    self.calls += 1
    if self.calls == 1:
        self.subscription.request(n)


def _zero_first(self: Any, n: int) -> None:
    self.subscription.request(0)
    self.subscription.request(n)


class IgnoresCancelInState(RightProbed):
    """Ignores ``signal_cancel()`` of its puppet in one state."""

    state = "before any request"

    def __init__(self, probe: Any) -> None:
        super().__init__(probe)
        self.now = "before any request"

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class InState(Puppet):
            def trigger_request(self, elements: int) -> None:
                subscriber.now = "with demand"
                super().trigger_request(elements)

            def signal_cancel(self) -> None:
                if subscriber.now != subscriber.state:
                    super().signal_cancel()

        self.probe.register_on_subscribe(InState(subscription))

    def on_next(self, element: Any, /) -> None:
        self.now = "after an element"
        super().on_next(element)


def _overlaps(self: Any, element: Any) -> None:
    """Cancel while another thread requests 300 times, so that the calls overlap on a loaded machine, too."""
    RightProbed.on_next(self, element)
    begun = Event()

    def request() -> None:
        begun.set()
        for _ in range(300):
            self.subscription.request(1)

    Thread(target=request, daemon=True).start()
    begun.wait()
    self.subscription.cancel()


KNOWN: list[Any] = []


def _uses_an_earlier(self: Any, subscription: Any) -> None:
    """Let the puppet control an earlier Subscription: that of the last Subscriber but one, or the first."""
    type(self).known.append(subscription)
    earlier = type(self).known[0]
    type(self).known[:] = type(self).known[-2:]
    self.probe.register_on_subscribe(Puppet(earlier))


def _forgets_in(signal: str, state: str) -> Callable[..., None]:
    """Return a signal method that ignores its signal after a request, or without one."""

    def send(self: Any, *arguments: Any) -> None:
        if self.requested is (state == "without"):
            getattr(RightProbed, signal)(self, *arguments)
        else:
            not_none(arguments[0] if arguments else 0)

    return send


class KnowsRequests(RightProbed):
    requested = False

    def accepted(self, subscription: Subscription) -> None:
        subscriber = self

        class RecordsRequests(Puppet):
            def trigger_request(self, elements: int) -> None:
                subscriber.requested = True
                super().trigger_request(elements)

        self.probe.register_on_subscribe(RecordsRequests(subscription))


def _raises_in(signal: str, state: str) -> Callable[..., None]:
    def send(self: Any, *arguments: Any) -> None:
        if self.requested is (state == "without"):
            getattr(RightProbed, signal)(self, *arguments)
        else:
            raise RuntimeError(f"{signal} is not possible here")

    return send


TERMINAL_STATES = [
    Case(
        test.format("out" if state == "without" else ""),
        subscriber(
            f"{verb}{end}{state.capitalize()}Request",
            f"{fault} {signal}, {'after a request' if state == 'with' else 'before any request'}",
            KnowsRequests,
            **{signal: method(signal, state)},
        ),
        message,
    )
    for end, signal, test in (("End", "on_complete", END), ("Error", "on_error", ERROR))
    for state in ("with", "without")
    for verb, fault, method, message in (
        ("Forgets", "Does not report", _forgets_in, f"did not call register_{signal}("),
        ("RaisesFor", "Raises in", _raises_in, f"{signal} is not possible here"),
    )
]

WHITEBOX = [
    *_terminal(RightProbed, "", known=(("request", "OnAThread"),)),
    *_terminal_later(RightProbed, ""),
    *_null(RightProbed, "", str),
    *_null_later(RightProbed, "", "on_next", "on_error"),
    *_second(RightProbed, "", str),
    *ELEMENTS,
    *(
        Case(
            ORDER,
            subscriber(f"Swaps{at}", f"Processes element {at} after the next one", Swaps, at=at),
            "instead of on_next(",
        )
        for at in (2, 5)
    ),
    _puppet("RequestsOneLess", "Requests one element less", _one_less, DEMAND, "did not call request()"),
    _puppet("RequestsNegatively", "Requests -n elements", _negative, DEMAND, "the argument must be positive"),
    _puppet("RequestsOnce", "Requests only once", _first_only, HAPPY, "did not call request()"),
    _puppet("RequestsZeroFirst", "Requests 0, then n elements", _zero_first, MANY, "request(0): the argument must be"),
    *(
        Case(
            CANCELS,
            subscriber(
                f"KeepsGoing{number}",
                f"Ignores signal_cancel() of its puppet {state}",
                IgnoresCancelInState,
                state=state,
            ),
            f"{state}, the Subscriber did not cancel within 1500 ms (rule 2.6)",
        )
        for number, state in enumerate(("before any request", "with demand", "after an element"), 1)
    ),
    Case(
        SERIAL,
        subscriber("CancelsDuringARequest", "Cancels while another thread calls request", CountsElements, do=_overlaps),
        "(rule 2.7)",
    ),
    Case(
        OWN,
        subscriber(
            "UsesTheFirstSubscription",
            "Uses the Subscription of an earlier Subscriber",
            RightProbed,
            accepted=_uses_an_earlier,
            known=KNOWN,
        ),
        "of another Subscriber (rule 3.1)",
    ),
    *TERMINAL_STATES,
    *LATE_SIGNALS,
]


class CountsBlack(RightSubscriber):
    at = 1
    count = 0

    def on_next(self, element: Any, /) -> None:
        not_none(element)
        self.count += 1
        assert self.subscription is not None
        if self.count == self.at:
            self.do(element)
        else:
            self.subscription.request(1)

    def do(self, element: Any) -> None:
        raise NotImplementedError


def _requests(n: int) -> Callable[[Any, Any], None]:
    return lambda self, element: self.subscription.request(n)


BLACKBOX = [
    *_terminal(
        RightSubscriber, "Black", known=(("request", "OnAThread"), ("request", "AfterIt"), ("cancel", "AfterIt"))
    ),
    Case(AFTER_END.format("OnComplete"), wrong.BlackRequestsInOnComplete, "the Subscriber called request("),
    Case(AFTER_END.format("OnComplete"), wrong.BlackCancelsInOnComplete, "the Subscriber called cancel("),
    Case(AFTER_END.format("OnError"), wrong.BlackRequestsInOnError, "the Subscriber called request("),
    Case(AFTER_END.format("OnError"), wrong.BlackCancelsInOnError, "the Subscriber called cancel("),
    *_terminal_later(RightSubscriber, "Black"),
    *_null(RightSubscriber, "Black", black),
    *_null_later(RightSubscriber, "Black", "on_next", "on_error", "on_subscribe"),
    *_second(RightSubscriber, "Black", black),
    *(
        Case(
            SERIAL,
            subscriber(
                f"BlackRequests{word}{at}", f"Requests {n} after element {at}", CountsBlack, do=_requests(n), at=at
            ),
            "the argument must be positive (rule 3.9)",
        )
        for word, n in (("Zero", 0), ("MinusOne", -1))
        for at in (1, 5)
    ),
    *(
        Case(
            SERIAL,
            subscriber(f"BlackRaises{at}", f"Raises for element {at}", CountsBlack, do=_raise, at=at),
            "RuntimeError: an element too many",
        )
        for at in (1, 5)
    ),
]
