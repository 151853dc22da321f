"""The steps of a verification: generators that yield commands and receive signals.

A step keeps no state between two verifications. It fails by raising; it raises ``Mismatch`` if the signal is not the
expected one.
"""

# ruff: noqa: D103 - the name of a step and its method in StepVerifier say what it does
from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable
from typing import Any, NamedTuple, Protocol, TypeAlias

from pyrs._core.display import name_of, short
from pyrs._core.sites import Site
from pyrs._core.states import Signal
from pyrs.testing.subscription import Emission


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
    """Call the action.

    The next steps process the signals that the action causes, even before the action returns.
    """

    action: Callable[[], object]
    on_verifying_thread: bool = False  # otherwise on the thread of the current signal


Command: TypeAlias = "Expect | Do | Await | Pause"
Script: TypeAlias = "Generator[Command, Emission, Any]"


class ScriptRun(Protocol):
    """The part of a verification that a step uses."""

    recorded: Any

    def request(self, n: int) -> None: ...

    def cancel(self) -> None: ...

    def put_back(self, emission: Emission) -> None: ...


class Mismatch(Exception):
    """A signal that is not the expected one."""


class ScriptStep(NamedTuple):
    """One step of the script."""

    text: str  # the call as source code, for messages
    site: Site | None  # the line of the call
    run: Callable[..., Script]
    arguments: tuple[Any, ...] = ()  # of ``run``, after the verification
    ends: bool = False  # the stream has terminated after the step, so that no other step may follow
    cancels: bool = False


def element(verification: ScriptRun, expected: str) -> Script:
    """Wait for an element, record it if recording is on, and return it."""
    emission = yield Expect(expected)
    if emission.kind is not Signal.ON_NEXT:
        raise Mismatch
    if verification.recorded is not None:
        add = getattr(verification.recorded, "append", None) or verification.recorded.add
        add(emission.value)
    return emission.value


def expect_elements(verification: ScriptRun, values: Iterable[Any]) -> Script:
    for value in values:
        received = yield from element(verification, f"on_next({short(value)})")
        if not (received is value or received == value):
            raise Mismatch


def expect_count(verification: ScriptRun, count: int) -> Script:
    for position in range(1, count + 1):
        yield from element(verification, f"element {position} of {count}")


def expect_matching(verification: ScriptRun, predicate: Callable[[Any], object]) -> Script:
    if not predicate((yield from element(verification, f"an element for which {name_of(predicate)} is true"))):
        raise Mismatch


def consume(verification: ScriptRun, action: Callable[[Any], object]) -> Script:
    action((yield from element(verification, f"an element for {name_of(action)}")))


def consume_while(
    verification: ScriptRun, predicate: Callable[[Any], object], action: Callable[[Any], object] | None
) -> Script:
    while True:
        emission = yield Expect(f"elements for which {name_of(predicate)} is true, and one more signal")
        verification.put_back(emission)
        if emission.kind is not Signal.ON_NEXT or not predicate(emission.value):
            return
        received = yield from element(verification, "an element")
        if action is not None:
            action(received)


def commands(verification: ScriptRun, *constant: Command) -> Script:
    """Yield the commands of a step that does not depend on signals."""
    for command in constant:  # noqa: UP028 - the iterator of a tuple takes no signal
        yield command


def record_with(verification: ScriptRun, factory: Callable[[], Any]) -> Script:
    verification.recorded = factory()
    yield from ()


def consume_recorded(verification: ScriptRun, action: Callable[[Any], object]) -> Script:
    recorded, verification.recorded = verification.recorded, None
    action(recorded)
    yield from ()


def expect_recorded(verification: ScriptRun, predicate: Callable[[Any], object]) -> Script:
    recorded, verification.recorded = verification.recorded, None
    if not predicate(recorded):
        raise AssertionError(f"{name_of(predicate)} returned false for the recorded elements: {short(recorded)}")
    yield from ()


def then_request(verification: ScriptRun, n: int) -> Script:
    yield Do(lambda: verification.request(n))


def then_cancel(verification: ScriptRun) -> Script:
    yield Do(verification.cancel)


def expect_timeout(verification: ScriptRun, seconds: float) -> Script:
    yield Pause(seconds)
    yield Do(verification.cancel)


def expect_complete(verification: ScriptRun) -> Script:
    emission = yield Expect("on_complete")
    if emission.kind is not Signal.ON_COMPLETE:
        raise Mismatch


def expect_error(
    verification: ScriptRun,
    kind: type[BaseException] | None,
    matching: str | None,
    predicate: Callable[[BaseException], object] | None,
) -> Script:
    expected = "on_error" if kind is None else f"on_error({kind.__name__})"
    if matching is not None:
        expected += f" matching {matching!r}"
    if predicate is not None:
        expected += f" for which {name_of(predicate)} is true"
    emission = yield Expect(expected)
    error = emission.value
    if (
        emission.kind is not Signal.ON_ERROR
        or (kind is not None and not isinstance(error, kind))
        or (matching is not None and not re.search(matching, str(error)))
        or (predicate is not None and not predicate(error))
    ):
        raise Mismatch
