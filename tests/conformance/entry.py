"""Entries of the conformance table: an implementation and its verification."""

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
from tests.conformance.options import failed_stream
from tests.tck.right import RightPublisher

__all__ = [
    "Entry",
    "Skips",
    "after_each_test",
    "blackbox",
    "failed_stream",
    "numbers",
    "operator",
    "processor",
    "publisher",
    "whitebox",
]

LONG_MAX = 2**63 - 1

Skips = Mapping[str, str]
"""Maps the beginning of a test's name to the reason why this test does not apply to the implementation."""

NOTHING: Skips = MappingProxyType({})


class Entry(NamedTuple):
    """An implementation to verify.

    Attributes:
        name: the name of its row in the table.
        verification: the verification that the Python port and the official TCK run.
        covers: the public names of the implementation: "Stream.map", "merge", "sinks.unicast".
        skips: the tests that do not apply, with reasons. The run reports a test that is skipped without a reason,
            unless ``KNOWN`` in ``running.py`` explains it, such as a Publisher with too few elements.
        subset: whether every run of the test suite verifies it.
        all_routes: whether the official TCK verifies it over all ``JAVA_ROUTES``, not only over the first.
        faults: the tests that a third-party implementation fails, with reasons; empty for pyrs.
    """

    name: str
    verification: type[Verification]
    covers: tuple[str, ...] = ()
    skips: Skips = NOTHING
    subset: bool = False
    all_routes: bool = False
    faults: Skips = NOTHING


def numbers(elements: int) -> pyrs.Stream[int]:
    """Return a stream over an iterable: its operators are fused."""
    return pyrs.range(elements)


def pushed(elements: int) -> pyrs.Stream[int]:
    """Return a stream over a foreign Publisher: its operators form a pushed chain."""
    return pyrs.Stream(RightPublisher(elements))


def publisher(
    name: str,
    make: Callable[[int], Any],
    *,
    covers: tuple[str, ...] = (),
    failed: Callable[[], Any] | None = failed_stream,
    max_elements: int = LONG_MAX - 1,
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """Return an entry for a Publisher.

    Args:
        make: creates a Publisher of the given number of elements.
        failed: creates a failed Publisher; None if there is none.
        max_elements: the largest number of elements; 2**63 - 1 means that the Publisher never completes.
    """

    class _Publisher(PublisherVerification[Any]):
        def create_publisher(self, elements: int) -> Any:
            return make(elements)

        def create_failed_publisher(self) -> Any:
            return None if failed is None else failed()

        def max_elements_from_publisher(self) -> int:
            return max_elements

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Publisher, covers, skips, subset, all_routes)


def operator(
    name: str,
    apply: Callable[[pyrs.Stream[Any]], Any],
    *,
    elements: Callable[[int], int] = lambda n: n,
    failed: Callable[[], Any] | None = None,
    max_elements: int = LONG_MAX - 1,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> list[Entry]:
    """Return two entries for an operator.

    One applies it to a stream over an iterable, the other to a stream over a foreign Publisher.

    Args:
        apply: applies the operator to a stream.
        elements: maps the number of elements of the result to that of the source.
        failed: creates a failed stream; by default the operator over a failed stream.
    """

    def entry(source: str, of: Callable[[int], pyrs.Stream[int]], first: bool) -> Entry:
        return publisher(
            f"{name} over {source}",
            lambda n: apply(of(elements(n))),
            covers=covers or (f"Stream.{name.partition('(')[0]}",),
            failed=failed or (lambda: apply(failed_stream())),
            max_elements=max_elements,
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
    create: Callable[[int], Any] = lambda n: n,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """Return an entry for a blackbox verification of a Subscriber."""

    class _Blackbox(SubscriberBlackboxVerification[Any]):
        def create_subscriber(self) -> Any:
            return make()

        def create_element(self, n: int) -> Any:
            return create(n)

        def trigger_request(self, subscriber: Any) -> None:
            trigger(subscriber)

        def tear_down(self) -> None:
            tidy()

    return _entry(name, _Blackbox, covers, skips, subset, all_routes)


def whitebox(
    name: str,
    make: Callable[[WhiteboxProbe[Any]], Any],
    *,
    create: Callable[[int], Any] = lambda n: n,
    covers: tuple[str, ...] = (),
    skips: Skips = NOTHING,
    subset: bool = False,
    all_routes: bool = False,
) -> Entry:
    """Return an entry for a whitebox verification of a Subscriber."""

    class _Whitebox(SubscriberWhiteboxVerification[Any]):
        def create_subscriber(self, probe: WhiteboxProbe[Any]) -> Any:
            return make(probe)

        def create_element(self, n: int) -> Any:
            return create(n)

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
    """Return an entry for a Processor that publishes its input.

    Args:
        subscribers: the largest number of concurrent Subscribers.
        coordinates: whether the Processor emits only after all its Subscribers have requested.
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


# Factories register functions that release their resources. Each test calls these functions when it ends.

_actions: list[Callable[[], object]] = []


def after_each_test(action: Callable[[], object]) -> None:
    """Call an action at the end of the current test."""
    _actions.append(action)


def tidy() -> None:
    """Run the registered actions; called at the end of each test."""
    while _actions:
        _actions.pop()()
