"""SignalLog: a log of one Subscriber's signals that detects rule violations."""

from __future__ import annotations

from collections import deque
from threading import current_thread, get_ident

from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import short
from pyrs._core.states import TRANSITIONS, Signal, State

LOGGED = 30  # the number of signals that a summary shows; earlier ones are counted
WITHOUT_ARGUMENT = (Signal.ON_SUBSCRIBE, Signal.ON_COMPLETE, Signal.CANCEL)  # shown without their argument


class SignalLog:
    """Logs the signals of both directions and the rule violations of the Publisher.

    It is not synchronized: the caller holds a lock.

    Rules: 1.1, 1.3, 1.4, 1.7, 1.9, 2.12, 2.13.
    """

    def __init__(self) -> None:
        self.state = State.WAITING
        self.violations: list[str] = []
        self.thread_names: set[str] = set()
        self._entries: deque[tuple[Signal, object]] = deque(maxlen=LOGGED)
        self._signals = 0
        self._demand = 0
        # The signalling thread and its nesting depth: one thread may nest signals (§3.2), two may not overlap (§1.3).
        self._thread = 0
        self._depth = 0

    def enter(self, signal: Signal, argument: object = None) -> None:
        """Log the start of a signal of the Publisher."""
        self.thread_names.add(current_thread().name)
        self._record(signal, argument)
        thread = get_ident()
        if self._depth and self._thread != thread:
            self._violated("1.3", f"{signal.value} while another thread was signalling")
        self._thread = thread
        self._depth += 1
        if argument is None and signal is not Signal.ON_COMPLETE:
            self._violated("2.13", f"{signal.value}(None)")
        elif signal is Signal.ON_ERROR and not isinstance(argument, BaseException):
            self._violated("1.4", f"{_shown(signal, argument)}, whose argument is not an exception")
        step = TRANSITIONS[self.state, signal]
        if step.violation:
            self._violated(step.rule, f"{signal.value} while {self.state.value}")
        else:
            self.state = step.state
        if signal is Signal.ON_NEXT:
            self._demand -= 1
            if self._demand < 0:
                self._violated("1.1", "on_next without demand")

    def leave(self) -> None:
        """Log the end of the signal."""
        self._depth -= 1

    def requested(self, n: int) -> None:
        """Log a request that the Subscriber is about to make."""
        self._record(Signal.REQUEST, n)
        if n > 0:
            self._demand += n

    def cancelled(self) -> None:
        """Log a cancel that the Subscriber is about to make."""
        self._record(Signal.CANCEL, None)
        self.state = TRANSITIONS[self.state, Signal.CANCEL].state

    def summary(self) -> str:
        """Return the last signals in order, and the rule violations."""
        shown = [_shown(signal, argument) for signal, argument in self._entries]
        if self._signals > len(shown):
            shown.insert(0, f"({self._signals - len(shown)} signals)")
        return "; ".join([", ".join(shown) or "no signal", *self.violations])

    def _record(self, signal: Signal, argument: object) -> None:
        self._entries.append((signal, argument))
        self._signals += 1

    def _violated(self, rule: str, what: str) -> None:
        self.violations.append(f"rule {rule} violated: {what}")


def _shown(signal: Signal, argument: object) -> str:
    if signal in WITHOUT_ARGUMENT:
        return signal.value
    if signal is Signal.REQUEST and argument == UNBOUNDED:
        return "request(unbounded)"
    return f"{signal.value}({short(argument)})"
