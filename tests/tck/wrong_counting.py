"""Families of Publishers that register a wrong demand, or mishandle one element, request or cancel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs.api import Subscriber
from tests.tck import families as tests
from tests.tck.families import Family, at_element
from tests.tck.right import LONG_MAX, RightSubscription

__all__ = ["COUNTING"]

NOT_REQUESTED = "published an element that was not requested (rule 1.1)"
FEWER = "published fewer than 3 elements after request(1) and request(2)"
NONE = "published no element after the first request"
TOO_MANY = "arrived, but 1500 were requested (rule 1.1)"
TOO_FEW = "1500 elements were requested, but"


class Miscounts(RightSubscription):
    """Adds a number other than the requested one to the demand.

    Attributes:
        number: the number of the current request.
    """

    number = 0
    registers: Callable[[Any, int], int]

    def request(self, n: int, /) -> None:
        if n <= 0:
            super().request(n)
            return
        self.number += 1
        registered = self.registers(n)
        if registered > 0:
            super().request(registered)


def miscounts(registers: Callable[[Any, int], int]) -> type[RightSubscription]:
    """Return a Subscription class that registers ``registers(subscription, n)`` for a request of n."""
    methods: Any = type("subscription", (Miscounts,), {"registers": registers})
    return methods  # type: ignore[no-any-return]


def _power_of_two(n: int) -> int:
    return 1 << (n - 1).bit_length()


REQUESTS = [
    Family("TriplesRequests", "Registers 3 * n", miscounts(lambda s, n: 3 * n), tests.RIGHT_NUMBER, NOT_REQUESTED),
    Family("SquaresRequests", "Registers n * n", miscounts(lambda s, n: n * n), tests.RIGHT_NUMBER, NOT_REQUESTED),
    Family("AddsOne", "Registers n + 1", miscounts(lambda s, n: n + 1), tests.RIGHT_NUMBER, NOT_REQUESTED),
    Family(
        "AddsOneToLargerRequests",
        "Registers n + 1 for a request of more than one element",
        miscounts(lambda s, n: n + (n > 1)),
        tests.RIGHT_NUMBER,
        NOT_REQUESTED,
    ),
    Family(
        "CountsTheSecondRequestTwice",
        "Registers the second request twice",
        miscounts(lambda s, n: n * (1 + (s.number == 2))),
        tests.RIGHT_NUMBER,
        NOT_REQUESTED,
    ),
    Family(
        "RoundsUpToFour",
        "Registers the next multiple of four",
        miscounts(lambda s, n: -(-n // 4) * 4),
        tests.RIGHT_NUMBER,
        NOT_REQUESTED,
    ),
    Family(
        "RoundsUpToAPowerOfTwo",
        "Registers the next power of two",
        miscounts(lambda s, n: _power_of_two(n)),
        tests.LARGE,
        "elements arrived, but 1500 were requested",
    ),
    Family(
        "TreatsAThousandAsUnbounded",
        "Treats a request of a thousand elements as unbounded",
        miscounts(lambda s, n: LONG_MAX if n >= 1_000 else n),
        tests.LARGE,
        TOO_MANY,
    ),
    Family(
        "CountsEachTenthRequestTwice",
        "Registers each tenth request twice",
        miscounts(lambda s, n: n * (1 + (s.number % 10 == 0))),
        tests.LARGE,
        TOO_MANY,
    ),
    Family(
        "OneForEachRequest",
        "Registers one element for each request",
        miscounts(lambda s, n: 1),
        tests.LESS,
        "the expected element",
    ),
    Family(
        "AtMostTwo",
        "Registers at most two elements for a request",
        miscounts(lambda s, n: min(n, 2)),
        tests.LESS,
        "the expected element",
    ),
    Family(
        "AtMostAThousand",
        "Registers at most a thousand elements for a request",
        miscounts(lambda s, n: min(n, 1_000)),
        tests.LARGE,
        f"{TOO_FEW} 1000 arrived",
    ),
    Family(
        "HalvesRequests",
        "Registers half of n, rounded up",
        miscounts(lambda s, n: (n + 1) // 2),
        tests.RIGHT_NUMBER,
        FEWER,
    ),
    Family("SubtractsOne", "Registers n - 1", miscounts(lambda s, n: n - 1), tests.RIGHT_NUMBER, NONE),
    Family(
        "LosesTheFirstRequest",
        "Ignores the first request",
        miscounts(lambda s, n: n * (s.number > 1)),
        tests.RIGHT_NUMBER,
        NONE,
    ),
    Family(
        "LosesTheThirdRequest",
        "Ignores the third request",
        miscounts(lambda s, n: n * (s.number != 3)),
        tests.RIGHT_NUMBER,
        FEWER,
    ),
    Family(
        "LosesEachTenthRequest",
        "Ignores each tenth request",
        miscounts(lambda s, n: n * (s.number % 10 != 0)),
        tests.LARGE,
        f"{TOO_FEW} 1350 arrived",
    ),
    Family(
        "KeepsTheLargestRequest",
        "Registers only the difference to the largest request so far",
        miscounts(lambda s, n: s.largest(n)),
        tests.RIGHT_NUMBER,
        FEWER,
    ),
    Family(
        "CountsIn32Bits",
        "Counts requests in 32 bits, where 2**63 - 1 is -1",
        miscounts(lambda s, n: (n + 2**31) % 2**32 - 2**31),
        tests.UP_TO_MAX,
        "did not receive the expected element",
    ),
]


def _largest(self: Any, n: int) -> int:
    before, self.most = self.most, max(self.most, n)
    return int(self.most - before)


Miscounts.largest, Miscounts.most = _largest, 0  # type: ignore[attr-defined]


class ExceedsAt(RightSubscription):
    at = 0

    def emit(self, subscriber: Subscriber[Any]) -> None:
        before = self.sent
        super().emit(subscriber)
        if before < self.at == self.sent:
            subscriber.on_next(self.sent)


class StopsAt(RightSubscription):
    at = 0

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent + 1 == self.at and self.demand:
            self.demand = 0
        else:
            super().emit(subscriber)


class FailsAt(RightSubscription):
    at = 0

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent + 1 == self.at and self.demand:
            self.cancel()
            subscriber.on_error(RuntimeError("the source has failed"))
        else:
            super().emit(subscriber)


class CompletesAt(RightSubscription):
    at = 0

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent + 1 == self.at and self.demand:
            self.cancel()
            subscriber.on_complete()
        else:
            super().emit(subscriber)


class EmitsNoneAt(RightSubscription):
    at = 0

    def emit(self, subscriber: Subscriber[Any]) -> None:
        if self.sent + 1 == self.at and self.demand:
            nothing: Any = None
            self.demand -= 1
            self.sent += 1
            subscriber.on_next(nothing)
        else:
            super().emit(subscriber)


class NestsAt(RightSubscription):
    """Emits inside request for some elements."""

    at = 0

    def nests(self) -> bool:
        return self.sent >= self.at

    def drain(self) -> None:
        if self.busy and self.nests() and self.subscriber is not None and self.demand:
            self.emit(self.subscriber)
        else:
            super().drain()


class NestsEach(NestsAt):
    def nests(self) -> bool:
        return self.sent % self.at == self.at - 1


class RaisesAt(RightSubscription):
    """Raises in request."""

    at = 0

    def request(self, n: int, /) -> None:
        if self.sent >= self.at:
            raise RuntimeError("request is not possible")
        super().request(n)


class IgnoresCancelAt(RightSubscription):
    at = 0

    def cancel(self) -> None:
        if self.stopped or self.sent != self.at:
            super().cancel()


def _at(name: str, fault: str, template: Any, at: int, test: str, message: str, threaded: bool = True) -> Family:
    described = fault.format(at, "element" if at == 1 else "elements")
    return Family(f"{name}{at}", described, at_element(template, at), test, message, threaded)


ELEMENTS = [
    *(
        _at("ExceedsAt", "Emits element {} twice", ExceedsAt, at, test, message)
        for at, test, message in (
            (1, tests.RIGHT_NUMBER, NOT_REQUESTED),
            (2, tests.RIGHT_NUMBER, NOT_REQUESTED),
            (4, tests.RIGHT_NUMBER, NOT_REQUESTED),
            (10, tests.LARGE, TOO_MANY),
            (100, tests.LARGE, TOO_MANY),
            (1_499, tests.LARGE, TOO_MANY),
        )
    ),
    *(
        _at("StopsAt", "Loses its demand at element {}", StopsAt, at, test, message)
        for at, test, message in (
            (1, tests.RIGHT_NUMBER, NONE),
            (3, tests.COMPLETES, "did not receive the expected element"),
            (100, tests.LARGE, f"{TOO_FEW} 99 arrived"),
        )
    ),
    *(
        _at("FailsAt", "Signals on_error instead of element {}", FailsAt, at, test, message)
        for at, test, message in (
            (1, tests.RIGHT_NUMBER, NONE),
            (2, tests.LESS, "did not receive the expected element (element 2 of 3)"),
            (3, tests.COMPLETES, "did not receive the expected element"),
            (10, "stochastic_spec103_mustSignalOnMethodsSequentially", "RuntimeError: the source has failed"),
            (1_000, tests.LARGE, f"{TOO_FEW} 999 arrived"),
        )
    ),
    *(
        _at("CompletesAt", "Signals on_complete instead of element {}", CompletesAt, at, test, message)
        for at, test, message in (
            (1, tests.RIGHT_NUMBER, "expected an element but received the end of the stream"),
            (2, tests.LESS, "expected an element but received the end of the stream"),
            (3, tests.COMPLETES, "expected an element but received the end of the stream"),
            (1_000, tests.LARGE, f"{TOO_FEW} 999 arrived"),
        )
    ),
    *(
        _at("EmitsNoneAt", "Emits None as element {}", EmitsNoneAt, at, test, message)
        for at, test, message in (
            (1, "beyond_spec111_mustSeparateItsSubscribers", "on_next(None)"),
            (3, "beyond_spec103_mustNotCompleteDuringOnNext", "on_next(None)"),
            (1_000, tests.LARGE, "on_next(None)"),
        )
    ),
    *(
        _at("NestsAt", "Emits inside request after {} {}", NestsAt, at, test, "(rule 3.3)", False)
        for at, test in ((1, tests.NESTED), (1_000, tests.FLAT), (10_000, tests.FLAT))
    ),
    _at("NestsEach", "Emits every {}th element inside request", NestsEach, 7, tests.FLAT, "(rule 3.3)", False),
    *(
        _at("RaisesAt", "Raises in request after {} {}", RaisesAt, at, test, message)
        for at, test, message in (
            (0, tests.REQUEST_NORMALLY, "request is not possible"),
            (1, tests.AFTER_CANCEL_BETWEEN, "request is not possible"),
        )
    ),
    *(
        _at("IgnoresCancelAt", "Ignores a cancel after {} {}", IgnoresCancelAt, at, test, message, at < 3)
        for at, test, message in (
            (0, tests.AFTER_CANCEL, "expected no element but received"),
            (1, tests.AFTER_CANCEL_BETWEEN, "expected no element but received"),
            (3, tests.CANCEL_INSIDE, "(rule 1.8)"),
            (100, tests.CANCEL_INSIDE, "(rule 1.8)"),
        )
    ),
]

COUNTING = [case for family in (*REQUESTS, *ELEMENTS) for case in family.cases()]
