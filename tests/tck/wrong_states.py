"""Families of Publishers with a fault in one state of the Subscription, or for a non-positive or very large request."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, ClassVar

from pyrs.api import Subscriber
from tests.tck import families as tests
from tests.tck.families import Family
from tests.tck.right import LONG_MAX, RightSubscription

__all__ = ["STATES"]

LATE = "after the terminal signal (rule 1.7)"
Send = Callable[[Subscriber[Any]], None]


def _next(subscriber: Subscriber[Any]) -> None:
    subscriber.on_next(0)


def _complete(subscriber: Subscriber[Any]) -> None:
    subscriber.on_complete()


def _fail(subscriber: Subscriber[Any]) -> None:
    subscriber.on_error(RuntimeError("failed too late"))


class Keeps(RightSubscription):
    """Has a second reference to the Subscriber, which cancel does not clear."""

    def __init__(self, subscriber: Subscriber[Any], elements: int) -> None:
        super().__init__(subscriber, elements)
        self.always = subscriber


class Terminal(Keeps):
    """Sends another signal right after a terminal signal."""

    send: Send
    after_error = False

    def emit(self, subscriber: Subscriber[Any]) -> None:
        illegal, before = self.illegal, self.stopped
        super().emit(subscriber)
        if self.stopped and not before and illegal is self.after_error and (illegal or self.sent == self.elements):
            type(self).send(subscriber)


class CallAfterEnd(Keeps):
    """Sends a signal when it is called after the terminal signal."""

    send: Send
    method = "request"
    after_error = False
    ended = False

    def emit(self, subscriber: Subscriber[Any]) -> None:
        ends = self.illegal if self.after_error else self.sent == self.elements and not self.illegal
        super().emit(subscriber)
        self.ended = self.ended or ends

    def request(self, n: int, /) -> None:
        if self.ended and self.method == "request":
            type(self).send(self.always)
        else:
            super().request(n)

    def cancel(self) -> None:
        if self.ended and self.method == "cancel":
            type(self).send(self.always)
        super().cancel()


def _methods(base: type[RightSubscription], **attributes: Any) -> type[RightSubscription]:
    given = {name: staticmethod(value) if name == "send" else value for name, value in attributes.items()}
    methods: Any = type("subscription", (base,), given)
    return methods  # type: ignore[no-any-return]


SIGNALS: tuple[tuple[str, str, Send], ...] = (
    ("OnNext", "on_next", _next),
    ("OnComplete", "on_complete", _complete),
    ("OnError", "on_error", _fail),
)

ENDS = [
    *(
        Family(
            f"{name}After{end}",
            f"Signals {signal} right after {'on_error' if failed else 'on_complete'}",
            _methods(Terminal, send=send, after_error=failed),
            tests.AFTER_ERROR if failed else tests.AFTER_COMPLETE,
            LATE,
        )
        for name, signal, send in SIGNALS
        for end, failed in (("Complete", False), ("Error", True))
    ),
    *(
        Family(
            f"{method.capitalize()}After{end}Sends{name}",
            f"Signals {signal} for a {method} after {'on_error' if failed else 'on_complete'}",
            _methods(CallAfterEnd, send=send, method=method, after_error=failed),
            tests.AFTER_ERROR if failed else tests.AFTER_COMPLETE,
            LATE,
            threaded=False,
        )
        for name, signal, send in SIGNALS
        for method in ("request", "cancel")
        for end, failed in (("Complete", False), ("Error", True))
        if (name, method) in (("OnNext", "request"), ("OnComplete", "cancel"), ("OnError", "cancel"))
    ),
]


class Cancelled(Keeps):
    """Sends a signal in cancel, or in a call after cancel."""

    send: Send
    when = "cancel"

    def cancel(self) -> None:
        again = self.stopped
        super().cancel()
        if (self.when == "cancel" and not again) or (self.when == "second cancel" and again):
            type(self).send(self.always)

    def request(self, n: int, /) -> None:
        if self.stopped and self.when == "request":
            type(self).send(self.always)
        else:
            super().request(n)


CANCELS = [
    Family(
        f"{name}In{''.join(word.capitalize() for word in when.split())}",
        f"Signals {signal} in a {when if when != 'request' else 'request after cancel'}",
        _methods(Cancelled, send=send, when=when),
        test,
        message,
        threaded=False,
    )
    for name, signal, send, when, test, message in (
        ("OnNext", "on_next", _next, "request", tests.AFTER_CANCEL, "expected no element but received"),
        ("OnComplete", "on_complete", _complete, "request", tests.AFTER_CANCEL, "unexpected additional on_complete"),
        ("OnError", "on_error", _fail, "request", tests.AFTER_CANCEL, "RuntimeError: failed too late"),
        ("OnNext", "on_next", _next, "second cancel", tests.CANCEL_AGAIN, "expected no element but received"),
        ("OnComplete", "on_complete", _complete, "second cancel", tests.CANCEL_AGAIN, "unexpected additional"),
        ("OnError", "on_error", _fail, "second cancel", tests.CANCEL_AGAIN, "RuntimeError: failed too late"),
        ("OnNext", "on_next", _next, "cancel", tests.CANCEL_SAFE, "arrived after cancel"),
    )
]


class Raising(RightSubscription):
    """Raises in one method, in one state."""

    method = "request"
    state = "before"
    ended = False

    def emit(self, subscriber: Subscriber[Any]) -> None:
        ends = self.illegal or self.sent == self.elements
        super().emit(subscriber)
        self.ended = self.ended or ends

    def now(self) -> str:
        if self.ended:
            return "ended"
        if self.stopped:
            return "cancelled"
        return "emitting" if self.sent else "before"

    def request(self, n: int, /) -> None:
        if self.method == "request" and self.now() == self.state:
            raise RuntimeError("request is not allowed now")
        super().request(n)

    def cancel(self) -> None:
        if self.method == "cancel" and self.now() == self.state:
            raise RuntimeError("cancel is not allowed now")
        super().cancel()


STATE_WORDS = {
    "before": "before any request",
    "emitting": "after the first element",
    "cancelled": "after cancel",
    "ended": "after the terminal signal",
}
RAISES = [
    Family(
        f"{method.capitalize()}Raises{state.capitalize()}",
        f"Raises in {method} {STATE_WORDS[state]}",
        _methods(Raising, method=method, state=state),
        test,
        f"{method} is not allowed now",
        threaded=state != "emitting",
    )
    for method, test in (("request", tests.REQUEST_NORMALLY), ("cancel", tests.CANCEL_NORMALLY))
    for state in STATE_WORDS
    if not (method == "request" and state == "emitting")
]


class Illegal(RightSubscription):
    """Handles a non-positive request incorrectly."""

    handles: Callable[[Any, int], None]
    only: tuple[str, ...] = ("zero", "negative")

    def request(self, n: int, /) -> None:
        if n > 0 or ("zero" if n == 0 else "negative") not in self.only:
            super().request(n)
        else:
            self.handles(n)


def _ignore(self: Any, n: int) -> None:
    pass


def _as_one(self: Any, n: int) -> None:
    RightSubscription.request(self, 1)


def _absolute(self: Any, n: int) -> None:
    RightSubscription.request(self, min(abs(n), 3) or 1)


def _end(self: Any, n: int) -> None:
    subscriber, _ = self.subscriber, self.cancel()
    if subscriber is not None:
        subscriber.on_complete()


def _stop(self: Any, n: int) -> None:
    self.cancel()


def _raise(self: Any, n: int) -> None:
    raise ValueError("3.9: n must be positive")


def _type_error(self: Any, n: int) -> None:
    subscriber, _ = self.subscriber, self.cancel()
    if subscriber is not None:
        subscriber.on_error(TypeError("3.9"))


def _twice(self: Any, n: int) -> None:
    subscriber, _ = self.subscriber, self.cancel()
    if subscriber is not None:
        subscriber.on_error(ValueError("3.9"))
        subscriber.on_error(ValueError("3.9"))


def _class(self: Any, n: int) -> None:
    subscriber, _ = self.subscriber, self.cancel()
    if subscriber is not None:
        subscriber.on_error(ValueError)


NO_ERROR = "expected on_error(ValueError)"
ILLEGAL = [
    Family(
        f"{name}{which}",
        f"{fault} request({'0' if which == 'Zero' else '-n'})",
        _methods(Illegal, handles=handles, only=(which.lower(),)),
        tests.ZERO if which == "Zero" else tests.NEGATIVE,
        message,
        threaded=False,
    )
    for name, fault, handles, message in (
        ("Ignores", "Ignores", _ignore, NO_ERROR),
        ("EmitsFor", "Emits an element for", _as_one, NO_ERROR),
        ("CompletesFor", "Completes for", _end, "expected on_error"),
        ("CancelsFor", "Cancels for", _stop, NO_ERROR),
        ("RaisesFor", "Raises ValueError for", _raise, "3.9: n must be positive"),
        ("TypeErrorFor", "Signals a TypeError for", _type_error, f"{NO_ERROR} but received TypeError"),
        ("ErrorClassFor", "Signals the class ValueError instead of an error for", _class, "ValueError"),
    )
    for which in ("Zero", "Negative")
]
ILLEGAL += [
    Family(
        "TakesTheAbsoluteNumber",
        "Treats request(-n) as request(n)",
        _methods(Illegal, handles=_absolute, only=("negative",)),
        tests.NEGATIVE,
        NO_ERROR,
        threaded=False,
    ),
    Family(
        "ErrorTwiceForZero",
        "Signals on_error twice for request(0)",
        _methods(Illegal, handles=_twice, only=("zero",)),
        tests.AFTER_ERROR,
        LATE,
        threaded=False,
    ),
]


class CancelsAtTheSecond(RightSubscription):
    calls = 0

    def cancel(self) -> None:
        self.calls += 1
        if self.calls > 1:
            super().cancel()


class CancelSetsAFlag(RightSubscription):
    live: ClassVar[list[Any]] = []

    def start(self) -> None:
        self.live.append(self)
        super().start()

    def cancel(self) -> None:
        self.stopped = True

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if not self.stopped:
            super().emit(subscriber)


class KeepsAfterComplete(RightSubscription):
    completed: ClassVar[list[Any]] = []

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent == self.elements:
            self.completed.append(subscriber)
        super().emit(subscriber)


class KeepsTheLatest(RightSubscription):
    latest: ClassVar[list[Any]] = [None]

    def emit(self, subscriber: Subscriber[Any]) -> None:
        self.latest[0] = subscriber
        super().emit(subscriber)


class KeepsInAClosure(RightSubscription):
    actions: ClassVar[list[Any]] = []

    def start(self) -> None:
        subscriber = self.subscriber
        self.actions.append(lambda: subscriber)
        super().start()


class CancelDelays(RightSubscription):
    sleeps_before = True

    def cancel(self) -> None:
        if not self.stopped and (self.sent == 0) is self.sleeps_before:
            Event().wait(2.5)
        super().cancel()


class FlushesOnCancel(RightSubscription):
    def cancel(self) -> None:
        subscriber = self.subscriber
        super().cancel()
        if subscriber is not None and 0 < self.sent < self.elements:
            for _ in range(10):
                subscriber.on_next(0)


class Overflow(RightSubscription):
    """Mishandles a demand above 2**63 - 1."""

    does: Callable[[Any], None]

    def request(self, n: int, /) -> None:
        if n > 0 and self.demand + n > LONG_MAX:
            self.does()
        else:
            super().request(n)


def _clear(self: Any) -> None:
    self.demand = 0


def _overflow_raises(self: Any) -> None:
    raise OverflowError("the demand exceeds 2**63 - 1")


def _overflow_ends(self: Any) -> None:
    subscriber, _ = self.subscriber, self.cancel()
    if subscriber is not None:
        subscriber.on_complete()


class HalfOfTheMaximum(RightSubscription):
    def request(self, n: int, /) -> None:
        if n >= 2**62 - 1:
            subscriber = self.subscriber
            self.cancel()
            if subscriber is not None:
                subscriber.on_error(RuntimeError("too many"))
        else:
            super().request(n)


FURTHER = [
    Family("CancelsAtTheSecond", "Ignores the first cancel", CancelsAtTheSecond, tests.AFTER_CANCEL, "no element"),
    Family("CancelSetsAFlag", "Keeps cancelled Subscribers", CancelSetsAFlag, tests.DROPS, "(rule 3.13)"),
    Family(
        "KeepsAfterComplete",
        "Keeps Subscribers that have received on_complete",
        KeepsAfterComplete,
        tests.DROPS_AFTER_COMPLETE,
        "after on_complete (rules 1.6, 3.13)",
    ),
    Family("KeepsTheLatest", "Keeps the latest Subscriber", KeepsTheLatest, tests.DROPS, "(rule 3.13)", False),
    Family("KeepsInAClosure", "Keeps each Subscriber in a closure", KeepsInAClosure, tests.DROPS_EARLY, "(rule 3.13)"),
    Family(
        "CancelDelaysBefore",
        "Blocks 2.5 s in a cancel before the first element",
        CancelDelays,
        tests.CANCEL_IN_TIME,
        "must return within",
        threaded=False,
    ),
    Family(
        "CancelDelaysAfter",
        "Blocks 2.5 s in a cancel after the first element",
        _methods(CancelDelays, sleeps_before=False),
        tests.CANCEL_IN_TIME,
        "must return within",
        threaded=False,
    ),
    Family(
        "FlushesOnCancel",
        "Emits ten elements in cancel",
        FlushesOnCancel,
        tests.STOPS,
        "more than the 15 requested before cancel",
        threaded=False,
    ),
    Family(
        "OverflowClearsTheDemand",
        "Sets the demand to 0 if it exceeds 2**63 - 1",
        _methods(Overflow, does=_clear),
        tests.ABOVE,
        "above 2**63 - 1",
        threaded=False,
    ),
    Family(
        "OverflowRaises",
        "Raises in request if the demand exceeds 2**63 - 1",
        _methods(Overflow, does=_overflow_raises),
        tests.ABOVE_MAX,
        "the demand exceeds 2**63 - 1",
        threaded=False,
    ),
    Family(
        "OverflowCompletes",
        "Completes if the demand exceeds 2**63 - 1",
        _methods(Overflow, does=_overflow_ends),
        tests.ABOVE,
        "above 2**63 - 1",
        threaded=False,
    ),
    Family(
        "HalfOfTheMaximum",
        "Signals on_error for a request of 2**62 - 1 elements",
        HalfOfTheMaximum,
        tests.CUMULATIVE,
        "did not receive the expected element",
    ),
]

STATES = [case for family in (*ENDS, *CANCELS, *RAISES, *ILLEGAL, *FURTHER) for case in family.cases()]
