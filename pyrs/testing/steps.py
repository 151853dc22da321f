"""The steps of a verification: generators that yield needs and receive signals.

A step keeps no state between two verifications. It fails by raising; it raises ``Mismatch`` if the signal is not the
expected one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from pyrs._core.display import name_of, short
from pyrs._core.sites import Site
from pyrs._core.states import Signal
from pyrs.testing.subscription import Emission

__all__ = ["Await", "Do", "Expect", "Mismatch", "Need", "Pause", "Player", "Script", "ScriptStep"]


class Await(NamedTuple):
    """Wait, and buffer signals for the following steps."""

    seconds: float


class Pause(NamedTuple):
    """Wait, and fail on any signal."""

    seconds: float


class Expect(NamedTuple):
    """Wait for the next signal; ``expected`` describes it."""

    expected: str


class Do(NamedTuple):
    """Call the action; the script continues with the signals that the call causes."""

    action: Callable[[], object]
    on_verifying_thread: bool = False  # otherwise on the thread of the current signal


Need: TypeAlias = "Expect | Do | Await | Pause"
Script: TypeAlias = "Generator[Need, Emission, Any]"


class Mismatch(Exception):
    """A signal that is not the expected one.

    Args:
        expected: the description of the expected signal, if it differs from the one in ``Expect``.
    """

    def __init__(self, expected: str | None = None) -> None:
        self.expected = expected
        super().__init__(expected)


class Player(Protocol):
    """The operations of a verification that a step may call."""

    recorded: Any

    def request(self, n: int) -> None: ...
    def cancel(self) -> None: ...
    def put_back(self, emission: Emission) -> None: ...


class ScriptStep(NamedTuple):
    """One line of the script.

    Attributes:
        text: the call as text.
        site: the file and line of the call.
        play: returns the generator.
        ends: whether the stream has terminated after it, so that no step may follow.
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
            received = yield from element(player, f"on_next({short(value)})")
            if not (received is value or received == value):
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
            received = yield from element(player, "an element")
            if action is not None:
                action(received)

    return play


def subscribe(player: Player) -> Script:
    """Wait for ``on_subscribe``: the first step of every script."""
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
            raise AssertionError(f"{name_of(predicate)} returned false for the recorded elements: {short(recorded)}")

    return consume_recorded(check)


def then(task: Callable[[], object]) -> Callable[[Player], Script]:
    def play(player: Player) -> Script:
        yield Do(task, on_verifying_thread=True)

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
