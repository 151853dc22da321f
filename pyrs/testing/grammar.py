"""What the rules say about the signals that reach one Subscriber, and the story of those signals."""

from __future__ import annotations

from collections import deque
from threading import current_thread, get_ident

from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import short
from pyrs._core.states import TRANSITIONS, Signal, State

__all__ = ["Grammar"]

TOLD = 30  # signals of the story; what came before is counted
SILENT = (Signal.ON_SUBSCRIBE, Signal.ON_COMPLETE, Signal.CANCEL)  # these are told without an argument


class Grammar:
    """Follows both directions and writes down every rule that the Publisher breaks.

    It has no lock of its own: whoever calls it holds one.

    Rules: 1.1, 1.3, 1.7, 1.9, 2.12, 2.13.
    """

    def __init__(self) -> None:
        self.state = State.WAITING
        self.violations: list[str] = []
        self.thread_names: set[str] = set()
        self._told: deque[tuple[Signal, object]] = deque(maxlen=TOLD)
        self._signals = 0
        self._demand = 0
        self._thread = 0  # the thread that is signalling, and how deep: a thread may nest (3.2), two may not overlap
        self._depth = 0

    def enter(self, signal: Signal, argument: object = None) -> None:
        """A signal of the Publisher begins."""
        self.thread_names.add(current_thread().name)
        self._tell(signal, argument)
        me = get_ident()
        if self._depth and self._thread != me:
            self._violated("1.3", f"{signal.value} while another thread was signalling")
        self._thread = me
        self._depth += 1
        if argument is None and signal is not Signal.ON_COMPLETE:
            self._violated("2.13", f"{signal.value}(None)")
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
        """The signal was dealt with."""
        self._depth -= 1

    def requested(self, n: int) -> None:
        """The Subscriber is about to request."""
        self._tell(Signal.REQUEST, n)
        if n > 0:
            self._demand += n

    def cancelled(self) -> None:
        """The Subscriber is about to cancel."""
        self._tell(Signal.CANCEL, None)
        self.state = TRANSITIONS[self.state, Signal.CANCEL].state

    def story(self) -> str:
        """Return the last signals in their order, and the rules that were broken."""
        told = [_shown(signal, argument) for signal, argument in self._told]
        if self._signals > len(told):
            told.insert(0, f"({self._signals - len(told)} signals)")
        return "; ".join([", ".join(told) or "no signal", *self.violations])

    def _tell(self, signal: Signal, argument: object) -> None:
        self._told.append((signal, argument))
        self._signals += 1

    def _violated(self, rule: str, what: str) -> None:
        self.violations.append(f"rule {rule} broken: {what}")


def _shown(signal: Signal, argument: object) -> str:
    if signal in SILENT:
        return signal.value
    if signal is Signal.REQUEST and argument == UNBOUNDED:
        return "request(unbounded)"
    return f"{signal.value}({short(argument)})"
