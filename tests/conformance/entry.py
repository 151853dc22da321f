"""What stands in the table: an implementation, how it is judged, and which skips of it are explained."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pyrs
from pyrs.tck import (
    IdentityProcessorVerification,
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
    WhiteboxProbe,
)
from pyrs.tck.verification import Verification
from tests.tck.right import RightPublisher

__all__ = [
    "Entry",
    "Skips",
    "after_each_test",
    "blackbox",
    "failed_stream",
    "no_failed_stream",
    "numbers",
    "operator",
    "processor",
    "publisher",
    "whitebox",
]

LONG_MAX = 2**63 - 1

Skips = Mapping[str, str]
"""Name of a test, or the beginning of it, to the reason why this implementation cannot pass it."""

NOTHING: Skips = MappingProxyType({})


class Entry(NamedTuple):
    """An implementation before a referee.

    Attributes:
        name: the row of the table.
        verification: what every referee judges.
        covers: the public names that it speaks for: "Stream.map", "merge", "sinks.unicast".
        skips: tests that it skips, and why. A skip that is neither here nor for want of elements is a failure.
        subset: whether continuous integration judges it each time.
        all_routes: whether every route of the Java kit judges it; the others are judged by one.
        faults: tests that somebody else's implementation fails, and why. Ours have none.
    """

    name: str
    verification: type[Verification]
    covers: tuple[str, ...] = ()
    skips: Skips = NOTHING
    subset: bool = False
    all_routes: bool = False
    faults: Skips = NOTHING


def numbers(elements: int) -> pyrs.Stream[int]:
    """A stream over an iterable: its stages are one chain of iterators."""
    return pyrs.range(elements)


def pushed(elements: int) -> pyrs.Stream[int]:
    """A stream over somebody else's Publisher: its stages pass signals on."""
    return pyrs.Stream(RightPublisher(elements))


def failed_stream() -> pyrs.Stream[Any]:
    return pyrs.error(ValueError("failed from the start"))


def no_failed_stream() -> None:
    """For what cannot fail before it is requested from."""


def publisher(
    name: str,
    make: Callable[[int], Any],
    *,
    covers: tuple[str, ...] = (),
    failed: Callable[[], Any] | None = failed_stream,
    most: int = LONG_MAX - 1,
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """An entry for a Publisher.

    Args:
        make: makes one with so many elements.
        failed: makes one that fails from the start; None where there is none.
        most: how many elements it can have; 2**63 - 1 says that it never ends.
    """

    class _Publisher(PublisherVerification[Any]):
        def create_publisher(self, elements: int) -> Any:
            return make(elements)

        def create_failed_publisher(self) -> Any:
            return None if failed is None else failed()

        def max_elements_from_publisher(self) -> int:
            return most

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Publisher, covers, skips, subset, all_routes)


def operator(
    name: str,
    apply: Callable[[pyrs.Stream[Any]], Any],
    *,
    elements: Callable[[int], int] = lambda n: n,
    failed: Callable[[], Any] | None = None,
    most: int = LONG_MAX - 1,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> list[Entry]:
    """Two entries for an operator: over an iterable, and over somebody else's Publisher.

    Args:
        apply: applies it to a stream.
        elements: how many elements the stream must have, so that the result has n.
        failed: makes a failed stream of it; the operator over a failed stream if None.
    """

    def entry(source: str, of: Callable[[int], pyrs.Stream[int]], first: bool) -> Entry:
        return publisher(
            f"{name} over {source}",
            lambda n: apply(of(elements(n))),
            covers=covers or (f"Stream.{name.partition('(')[0]}",),
            failed=failed or (lambda: apply(failed_stream())),
            most=most,
            skips=skips,
            subset=subset and first,
            all_routes=all_routes and first,
        )

    return [entry("a range", numbers, True), entry("a Publisher", pushed, False)]


def blackbox(
    name: str,
    make: Callable[[], Any],
    *,
    trigger: Callable[[Any], object] = lambda subscriber: None,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """An entry for a Subscriber that cannot be looked into."""

    class _Blackbox(SubscriberBlackboxVerification[int]):
        def create_subscriber(self) -> Any:
            return make()

        def create_element(self, n: int) -> int:
            return n

        def trigger_request(self, subscriber: Any) -> None:
            trigger(subscriber)

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Blackbox, covers, skips, subset, all_routes)


def whitebox(
    name: str,
    make: Callable[[WhiteboxProbe[int]], Any],
    *,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """An entry for a Subscriber that tells a probe what it receives."""

    class _Whitebox(SubscriberWhiteboxVerification[int]):
        def create_subscriber(self, probe: WhiteboxProbe[int]) -> Any:
            return make(probe)

        def create_element(self, n: int) -> int:
            return n

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Whitebox, covers, skips, subset, all_routes)


def processor(
    name: str,
    make: Callable[[], Any],
    *,
    failed: Callable[[], Any] | None = None,
    subscribers: int = LONG_MAX,
    coordinates: bool = False,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """An entry for a Processor that publishes what it receives.

    Args:
        subscribers: how many Subscribers it can have at a time.
        coordinates: whether it publishes only when all its Subscribers have requested.
    """

    class _Processor(IdentityProcessorVerification[Any]):
        def create_identity_processor(self, buffer_size: int) -> Any:
            return make()

        def create_element(self, n: int) -> int:
            return n

        def create_failed_publisher(self) -> Any:
            return None if failed is None else failed()

        def max_supported_subscribers(self) -> int:
            return subscribers

        def does_coordinated_emission(self) -> bool:
            return coordinates

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Processor, covers, skips, subset, all_routes)


def _entry(
    name: str, verification: type[Verification], covers: tuple[str, ...], skips: Skips, subset: bool, all_routes: bool
) -> Entry:
    verification.__name__ = verification.__qualname__ = name
    return Entry(name, verification, covers, skips, subset, all_routes)


# What factories start besides, and a test must not leave behind.

_left: list[Callable[[], object]] = []


def after_each_test(action: Callable[[], object]) -> None:
    """Call this when the test that runs is over."""
    _left.append(action)


def tidy() -> None:
    """Called at the end of each test."""
    while _left:
        _left.pop()()
