"""Publishers that mishandle subscribe, one of several Subscribers, or a failure."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Any

from pyrs.api import Publisher, Subscriber
from pyrs.tck import Status
from tests.tck import families as tests
from tests.tck.judging import Case
from tests.tck.right import Inert, RightPublisher, RightSubscription
from tests.tck.test_wrong_publishers import FAILS, REJECT, SAME

__all__ = ["FAILED", "SUBSCRIBING"]

SubscribeMethod = Callable[[Any, Subscriber[Any]], None]
AN_EXCEPTION = "beyond_spec104_mustSignalAnException"
SERIAL = "stochastic_spec103_mustSignalOnMethodsSequentially"


def _publisher(name: str, fault: str, method: SubscribeMethod, base: type[Any]) -> Any:
    attributes = {"__doc__": f"{fault}.", "__module__": __name__, "subscribe": method}
    return type(name, (base,), attributes)


def _case(name: str, fault: str, method: SubscribeMethod, test: str, message: str, *, skipped: bool = False) -> Case:
    status = Status.SKIPPED if skipped else Status.FAILED
    return Case(test, _publisher(name, fault, method, RightPublisher), message, status)


def _right(self: Any, subscriber: Any) -> None:
    RightPublisher.subscribe(self, subscriber)


def _value_error_for_none(self: Any, subscriber: Any) -> None:
    if subscriber is None:
        raise ValueError("subscribe(None)")
    _right(self, subscriber)


def _ignores_none(self: Any, subscriber: Any) -> None:
    if subscriber is not None:
        _right(self, subscriber)


def _without_subscription(self: Any, subscriber: Any) -> None:
    subscriber.on_subscribe(None)


def _raises(self: Any, subscriber: Any) -> None:
    raise RuntimeError("not now")


def _raises_after_on_subscribe(self: Any, subscriber: Any) -> None:
    _right(self, subscriber)
    raise RuntimeError("not now")


def _element_first(self: Any, subscriber: Any) -> None:
    subscriber.on_next(0)
    _right(self, subscriber)


def _complete_first(self: Any, subscriber: Any) -> None:
    if self.elements == 0:
        subscriber.on_complete()
    _right(self, subscriber)


def _completes_at_once(self: Any, subscriber: Any) -> None:
    subscriber.on_subscribe(Inert())
    subscriber.on_complete()


def _fails_at_once(self: Any, subscriber: Any) -> None:
    subscriber.on_subscribe(Inert())
    subscriber.on_error(RuntimeError("not now"))


def _other_subscription_too(self: Any, subscriber: Any) -> None:
    _right(self, subscriber)
    subscriber.on_subscribe(Inert())


def _on_subscribe_later(self: Any, subscriber: Any) -> None:
    subscription = self.subscription(subscriber, self.elements)
    subscription.busy = False
    subscription.demand = 1
    subscription.drain()
    subscriber.on_subscribe(subscription)


class EmitsOnAThread(RightSubscription):
    """Emits on another thread before on_subscribe has returned."""

    def start(self) -> None:
        subscriber = self.subscriber
        assert subscriber is not None
        self.busy = False
        super().start()

    def loop(self) -> None:
        if self.sent:
            super().loop()
        else:
            thread = Thread(target=super().loop, daemon=True)
            thread.start()
            thread.join(0.5)


def _emits_during_on_subscribe(self: Any, subscriber: Any) -> None:
    EmitsOnAThread(subscriber, self.elements).start()


SUBSCRIBING = [
    _case("ValueErrorForNone", "Raises ValueError for None", _value_error_for_none, tests.NULL, "subscribe(None)"),
    _case("IgnoresNone", "Ignores subscribe(None)", _ignores_none, tests.NULL, "did not raise TypeError"),
    _case(
        "SubscribesWithNone",
        "Calls on_subscribe(None)",
        _without_subscription,
        tests.FIRST,
        "called on_subscribe(None)",
    ),
    _case("RaisesInSubscribe", "Raises in subscribe", _raises, tests.EVERY, "subscribe raised RuntimeError: not now"),
    _case(
        "RaisesAfterOnSubscribe",
        "Raises in subscribe after on_subscribe",
        _raises_after_on_subscribe,
        tests.EVERY,
        "subscribe raised RuntimeError: not now",
    ),
    _case(
        "ElementBeforeOnSubscribe",
        "Emits an element before on_subscribe",
        _element_first,
        tests.FIRST,
        "on_next was called before on_subscribe (rule 1.9)",
    ),
    _case(
        "OnSubscribeAfterTheFirstElement",
        "Calls on_subscribe after the first element",
        _on_subscribe_later,
        tests.RIGHT_NUMBER,
        "on_next(1) was called before on_subscribe (rule 1.9)",
    ),
    _case(
        "OnSubscribeAfterOnComplete",
        "Calls on_complete of an empty stream before on_subscribe",
        _complete_first,
        "optional_spec105_emptyStreamMustTerminateBySignallingOnComplete",
        "before on_subscribe",
        skipped=True,
    ),
    _case("AlwaysEmpty", "Completes every stream without an element", _completes_at_once, tests.RIGHT_NUMBER, ""),
    _case("AlwaysFails", "Rejects every Subscriber", _fails_at_once, tests.RIGHT_NUMBER, "RuntimeError: not now"),
    _case(
        "SubscribesWithAnother",
        "Calls on_subscribe a second time, with another Subscription",
        _other_subscription_too,
        tests.FIRST,
        "on_subscribe was called twice on one Subscriber (rule 2.12)",
    ),
    _case(
        "EmitsDuringOnSubscribe",
        "Emits on another thread while on_subscribe is running",
        _emits_during_on_subscribe,
        SERIAL,
        "before pyrs-tck-stochastic_spec103_mustSignalOnMethodsSequentially had returned from on_subscribe()",
    ),
]

# Publishers that mishandle one of several Subscribers.


class Nth(RightPublisher):
    """Mishandles one of its Subscribers.

    Attributes:
        at: the number of the Subscriber, counted from 1.
    """

    at = 2

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.count = 0

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        if subscriber is None:
            raise TypeError("subscribe(None)")
        self.count += 1
        if self.count == self.at:
            self.other(subscriber)
        else:
            super().subscribe(subscriber)

    def other(self, subscriber: Any) -> None:
        raise NotImplementedError


class Reversed(RightSubscription):
    def emit(self, subscriber: Subscriber[Any]) -> None:
        super().emit(_Mapped(subscriber, lambda n: self.elements + 1 - n))


class _Mapped:
    def __init__(self, subscriber: Any, function: Callable[[int], int]) -> None:
        self.on_next = lambda n: subscriber.on_next(function(n))
        self.on_error, self.on_complete = subscriber.on_error, subscriber.on_complete


class WithoutEnd(RightSubscription):
    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent == self.elements and not self.illegal:
            self.demand = 0
        else:
            super().emit(subscriber)


def _with(subscription: type[RightSubscription], change: int = 0) -> SubscribeMethod:
    return lambda self, subscriber: subscription(subscriber, self.elements + change).start()


def _skips_one(self: Any, subscriber: Any) -> None:
    subscription = RightSubscription(subscriber, self.elements)
    subscription.sent = 1
    subscription.start()


def _nth(
    name: str, fault: str, other: SubscribeMethod, test: str, message: str, at: int = 2, *, skipped: bool = True
) -> Case:
    attributes = {"__doc__": f"{fault}.", "__module__": __name__, "other": other, "at": at}
    publisher: Any = type(name, (Nth,), attributes)
    return Case(test, publisher, message, Status.SKIPPED if skipped else Status.FAILED)


DIFFERENT = "must receive the same elements in the same order"
SUBSCRIBING += [
    _nth("SecondMissesTheFirst", "Does not send element 1 to the second Subscriber", _skips_one, SAME + "OneByOne", ""),
    _nth(
        "SecondInReverse",
        "Sends the second Subscriber the elements in reverse",
        _with(Reversed),
        SAME + "ManyUpfront",
        DIFFERENT,
    ),
    _nth(
        "ThirdInReverse",
        "Sends the third Subscriber the elements in reverse",
        _with(Reversed),
        SAME + "ManyUpfront",
        DIFFERENT,
        3,
    ),
    _nth(
        "SecondNeverCompletes",
        "Does not complete the second Subscriber",
        _with(WithoutEnd),
        SAME + "ManyUpfrontAndCompleteAsExpected",
        "did not receive the expected on_complete",
    ),
    _nth(
        "SecondOneShort",
        "Sends the second Subscriber one element less",
        _with(RightSubscription, -1),
        SAME + "OneByOne",
        "",
    ),
    _nth("SecondIsEmpty", "Completes the second Subscriber at once", _completes_at_once, SAME + "ManyUpfront", ""),
    *(
        _nth(
            f"Raises{at}",
            f"Raises for Subscriber {at} of several",
            _raises,
            tests.EVERY,
            f"subscribe raised RuntimeError: not now for Subscriber {at} of 10",
            at,
            skipped=False,
        )
        for at in (2, 3, 10)
    ),
    *(
        _nth(
            f"Forgets{at}",
            f"Does not call on_subscribe for Subscriber {at} of several",
            lambda self, subscriber: None,
            tests.EVERY,
            "did not call on_subscribe on one of 10 Subscribers",
            at,
            skipped=False,
        )
        for at in (3, 10)
    ),
]

# Publishers that fail from the start, and signal the failure wrongly.


def _failed(name: str, fault: str, method: SubscribeMethod, test: str, message: str) -> Case:
    def init(self: Any) -> None:
        pass

    publisher = _publisher(name, fault, method, Publisher)
    publisher.__init__ = init
    return Case(test, publisher, message)


def _sends(*signals: Callable[[Any], None]) -> SubscribeMethod:
    def subscribe(self: Any, subscriber: Any) -> None:
        for signal in signals:
            signal(subscriber)

    return subscribe


def _accepts(subscriber: Any) -> None:
    subscriber.on_subscribe(Inert())


def _fails_with(error: Any) -> Callable[[Any], None]:
    return lambda subscriber: subscriber.on_error(error)


def _completes(subscriber: Any) -> None:
    subscriber.on_complete()


def _emits(subscriber: Any) -> None:
    subscriber.on_next(0)


BOOM = _fails_with(RuntimeError("no connection"))
FAILED = [
    _failed(
        "FailsWithClass",
        "Signals on_error with a class",
        _sends(_accepts, _fails_with(OSError)),
        AN_EXCEPTION,
        "not an exception",
    ),
    _failed(
        "FailsWithNumber",
        "Signals on_error with a number",
        _sends(_accepts, _fails_with(3)),
        AN_EXCEPTION,
        "not an exception",
    ),
    _failed("CompletesInstead", "Completes instead of failing", _sends(_accepts, _completes), FAILS, "on_complete"),
    _failed(
        "EmitsBeforeItFails", "Emits before on_error", _sends(_accepts, _emits, BOOM), FAILS, "unexpected on_next(0)"
    ),
    _failed("CompletesAndFails", "Completes, then fails", _sends(_accepts, _completes, BOOM), REJECT, "on_complete"),
    _failed("FailsAndCompletes", "Fails, then completes", _sends(_accepts, BOOM, _completes), REJECT, "on_complete"),
    _failed("FailsAndEmits", "Fails, then emits", _sends(_accepts, BOOM, _emits), REJECT, "unexpected on_next(0)"),
    _failed(
        "FailsBeforeOnSubscribe", "Calls on_error before on_subscribe", _sends(BOOM, _accepts), REJECT, "(rule 1.9)"
    ),
    _failed(
        "SubscribesTwiceAndFails", "Calls on_subscribe twice", _sends(_accepts, _accepts, BOOM), REJECT, "(rule 2.12)"
    ),
]
