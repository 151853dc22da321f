"""take_until and skip_until."""

from __future__ import annotations

from typing import Any

from pyrs._core.coordinator import Coordinator
from pyrs._core.inputs import DirectInput, Input, TriggerInput
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.operators.combining import call_text


class WithOther(Operator[Any]):
    """The base class of operators with a source and another stream."""

    def __init__(self, source: Publisher[Any], other: Publisher[Any], call: str) -> None:
        super().__init__(source, call)
        self.other = checked_publisher(other, "other")


class WithOtherRun(Coordinator[Any]):
    """Subscribes to the other stream before the source, and forwards demand."""

    _operator: WithOther
    _other: Input[Any]

    def _begin(self) -> None:
        self._other.subscribe_to(self._operator.other)
        if self._live:
            super()._begin()

    def _requested_more(self, n: int) -> None:
        self._input.request(n)

    def _release(self) -> None:
        self._input.cancel()
        self._other.cancel()


class _UntilRun(WithOtherRun):
    """Requests one element of the other stream."""

    def __init__(self, subscriber: Subscriber[Any], operator: TakeUntil) -> None:
        super().__init__(subscriber, operator)
        self._skips = operator.skips
        self.passes = not operator.skips  # otherwise elements are dropped, and one more is requested for each
        self._input = _Main(self)
        self._other = TriggerInput(self, self._other_signalled)

    def _other_signalled(self, error: BaseException | None) -> None:
        """Handle an element or the end of the other stream, from any thread."""
        if error is not None:
            self.post(self._fail, error)
        elif self._skips:
            self.passes = True
        else:
            self.post(self._end_with)


class _Main(DirectInput[Any]):
    def __init__(self, owner: _UntilRun) -> None:
        super().__init__(owner, owner._emit, owner._end_with)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            self.discard(element)
        elif not self._owner.passes:
            self.discard(element)
            self.request(1)  # replaces the dropped element
        elif not self._owner.try_emit(element):
            self._owner.post_element(self._on_element, element)


class TakeUntil(WithOther):
    """``take_until(other)``: elements until the other stream emits or completes."""

    run_type = _UntilRun
    name, skips = "take_until", False

    def __init__(self, source: Publisher[Any], other: Publisher[Any]) -> None:
        super().__init__(source, other, call_text(self.name, [other]))


class SkipUntil(TakeUntil):
    """``skip_until(other)``: elements after the other stream has emitted or completed."""

    name, skips = "skip_until", True
