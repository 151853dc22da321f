"""Run two operations on one object, the second one at each line of the first one.

The first operation stops at its n-th line, for each n. Then the second one runs on another thread, completely or until
it waits for a lock that the first one holds. After that the first one continues.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from tests.lines import AtLine
from tests.waiting import DEADLINE

BLOCKED_SECONDS = 0.05
"""An operation that takes longer is assumed to wait for a lock. A wrong assumption only changes the order."""


def interleave(
    modules: Sequence[ModuleType],
    make: Callable[[], Any],
    first: Callable[[Any], object],
    second: Callable[[Any], object],
    verify: Callable[[Any], object],
) -> int:
    """Run two operations with the second one at each line of the first one.

    Args:
        modules: the modules whose lines count.
        make: returns a new state.
        first: the operation that is interrupted.
        second: the operation that runs at each line of the first one.
        verify: checks the invariants of the state afterwards.

    Returns:
        The number of lines.

    Raises:
        AssertionError: an operation raised or hangs, or an invariant does not hold; the message has the line.
    """
    files = [str(module.__file__) for module in modules]
    line = 0
    while True:
        line += 1
        state = make()
        raised: list[BaseException] = []

        def run_second(state: Any = state, raised: list[BaseException] = raised) -> None:
            try:
                second(state)
            except BaseException as error:
                raised.append(error)

        intruder = threading.Thread(target=run_second, name="second", daemon=True)

        def start(intruder: threading.Thread = intruder) -> None:
            intruder.start()
            intruder.join(BLOCKED_SECONDS)

        at = AtLine(files, line, start)

        # The first operation does not run on the main thread, which never writes to the link.
        def run_first(state: Any = state, at: AtLine = at, raised: list[BaseException] = raised) -> None:
            try:
                with at:
                    first(state)
            except BaseException as error:
                raised.append(error)

        thread = threading.Thread(target=run_first, name="first", daemon=True)
        thread.start()
        thread.join(DEADLINE)
        assert not thread.is_alive(), f"the first operation hangs, with the second one at line {line}, {at.place}"
        if not at.reached:
            return line - 1
        intruder.join(DEADLINE)
        try:
            assert not intruder.is_alive(), "the second operation hangs"
            if raised:
                raise AssertionError(f"an operation raised {raised[0]!r}") from raised[0]
            verify(state)
        except AssertionError as error:
            raise AssertionError(f"with the second operation at line {line}, {at.place}: {error}") from error
