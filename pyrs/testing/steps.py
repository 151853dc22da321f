"""The steps of a verification: each is a generator that yields what it waits for and is sent what came.

A step keeps nothing between two verifications. It fails by raising; ``Mismatch`` stands for: what came is not what was
waited for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from pyrs._core.display import name_of, short
from pyrs._core.sites import Site
from pyrs._core.states import Signal
from pyrs.testing.link import Emission

__all__ = ["Await", "Do", "Expect", "Mismatch", "Need", "Pause", "Player", "Script", "Step"]


class Await(NamedTuple):
    """Let time pass, whatever comes meanwhile."""

    seconds: float


class Pause(NamedTuple):
    """Let time pass, in which nothing may come."""

    seconds: float


class Expect(NamedTuple):
    """Wait for the next signal, which should be this."""

    expected: str


class Do(NamedTuple):
    """Call this; what it has the Publisher signal comes while the script stands behind it."""

    action: Callable[[], object]
    at_home: bool = False  # on the thread that verifies


Need: TypeAlias = "Expect | Do | Await | Pause"
Script: TypeAlias = "Generator[Need, Emission, Any]"


class Mismatch(Exception):
    """What came is not what was expected.

    Args:
        expected: what was, where that differs from what was waited for.
    """

    def __init__(self, expected: str | None = None) -> None:
        self.expected = expected
        super().__init__(expected)


class Player(Protocol):
    """What a step may do with the verification that plays it."""

    recorded: Any

    def request(self, n: int) -> None: ...
    def cancel(self) -> None: ...
    def put_back(self, emission: Emission) -> None: ...


class Step(NamedTuple):
    """One line of the script.

    Attributes:
        text: how it was called.
        site: where.
        play: makes the generator.
        ends: whether the stream is over after it, so that no step may follow.
        cancels: whether it cancels the Subscription.
    """

    text: str
    site: Site | None
    play: Callable[[Player], Script]
    ends: bool = False
    cancels: bool = False


def element(player: Player, expected: str) -> Script:
    """Wait for an element and return it."""
    emission = yield Expect(expected)
    if emission.kind is not Signal.ON_NEXT:
        raise Mismatch
    if player.recorded is not None:
        add = getattr(player.recorded, "append", None) or player.recorded.add
        add(emission.value)
    return emission.value


def expect_elements(values: Iterable[Any]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        for value in values:
            came = yield from element(player, f"on_next({short(value)})")
            if not (came is value or came == value):
                raise Mismatch

    return play


def expect_count(count: int) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        for position in range(1, count + 1):
            yield from element(player, f"element {position} of {count}")

    return play


def expect_matching(predicate: Callable[[Any], object]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        expected = f"an element for which {name_of(predicate)} is true"
        if not predicate((yield from element(player, expected))):
            raise Mismatch

    return play


def consume(action: Callable[[Any], object]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        action((yield from element(player, f"an element for {name_of(action)}")))

    return play


def consume_while(
    predicate: Callable[[Any], object], action: Callable[[Any], object] | None
) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        while True:
            emission = yield Expect(f"elements for which {name_of(predicate)} is true, and one more signal")
            player.put_back(emission)
            if emission.kind is not Signal.ON_NEXT or not predicate(emission.value):
                return
            came = yield from element(player, "an element")
            if action is not None:
                action(came)

    return play


def subscribe(player: Player) -> Script:
    """The first step of every script."""
    yield Expect("on_subscribe")


def expect_subscription(player: Player) -> Script:
    yield from ()  # the first step has waited for it


def record_with(factory: Callable[[], Any]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        player.recorded = factory()
        yield from ()

    return play


def consume_recorded(action: Callable[[Any], object]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        recorded, player.recorded = player.recorded, None
        action(recorded)
        yield from ()

    return play


def expect_recorded(predicate: Callable[[Any], object]) -> Callable[[Player], Script]:
    def check(recorded: Any) -> None:
        if not predicate(recorded):
            raise AssertionError(f"{name_of(predicate)} is not true for what was recorded: {short(recorded)}")

    return consume_recorded(check)


def then(task: Callable[[], object]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Do(task, at_home=True)

    return play


def then_request(n: int) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Do(lambda: player.request(n))

    return play


def then_cancel(player: Player) -> Script:
    yield Do(player.cancel)


def then_await(seconds: float) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Await(seconds)

    return play


def expect_nothing(seconds: float) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Pause(seconds)

    return play


def expect_timeout(seconds: float) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Pause(seconds)
        yield Do(player.cancel)

    return play


def expect_complete(player: Player) -> Script:
    emission = yield Expect("on_complete")
    if emission.kind is not Signal.ON_COMPLETE:
        raise Mismatch


def expect_error(
    kind: type[BaseException] | None, matching: str | None, predicate: Callable[[BaseException], object] | None
) -> Callable[[Player], Script]:
    expected = "on_error" if kind is None else f"on_error({kind.__name__})"
    if matching is not None:
        expected += f" matching {matching!r}"
    if predicate is not None:
        expected += f" for which {name_of(predicate)} is true"

    def play(player: Player) -> Script:
        emission = yield Expect(expected)
        error = emission.value
        if emission.kind is not Signal.ON_ERROR:
            raise Mismatch
        if kind is not None and not isinstance(error, kind):
            raise Mismatch
        if matching is not None and not re.search(matching, str(error)):
            raise Mismatch
        if predicate is not None and not predicate(error):
            raise Mismatch

    return play
