"""take_until and skip_until."""

from __future__ import annotations

from typing import Any

from pyrs._core.coordinator import Coordinator
from pyrs._core.inputs import DirectInput, Input
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal

__all__ = ["SkipUntil", "TakeUntil"]


class TakeUntil(Operator[Any]):
    """``take_until(other)``: elements until the other stream emits or completes."""

    def __init__(self, source: Publisher[Any], other: Publisher[Any]) -> None:
        super().__init__(source, f"take_until({other!r})")
        self.main = source
        self.other = checked_publisher(other, "other")

    def run(self, subscriber: Subscriber[Any]) -> _TakeUntilRun:
        return _TakeUntilRun(subscriber, self)


class SkipUntil(Operator[Any]):
    """``skip_until(other)``: elements from when the other stream emits or completes."""

    def __init__(self, source: Publisher[Any], other: Publisher[Any]) -> None:
        super().__init__(source, f"skip_until({other!r})")
        self.main = source
        self.other = checked_publisher(other, "other")

    def run(self, subscriber: Subscriber[Any]) -> _SkipUntilRun:
        return _SkipUntilRun(subscriber, self)


class _TakeUntilRun(Coordinator[Any]):
    """Forwards demand and elements; requests one element of the other stream."""

    def __init__(self, subscriber: Subscriber[Any], operator: TakeUntil | SkipUntil) -> None:
        super().__init__(subscriber, operator)
        self._sources = operator.main, operator.other
        self._main = _Main(self)
        self._other = _Other(self)

    def _begin(self) -> None:
        main, other = self._sources
        self._other.subscribe_to(other)
        if self._live:
            self._main.subscribe_to(main)

    def _requested_more(self, n: int) -> None:
        self._main.request(n)

    def _finish(self, _: object) -> None:
        self._complete()

    def sign(self) -> None:
        """Handle an element or the completion of the other stream, from any thread."""
        self.post(self._finish)

    def passes(self) -> bool:
        """Return whether elements pass now; otherwise one more is requested for each."""
        return True

    def _release(self) -> None:
        self._main.cancel()
        self._other.cancel()


class _SkipUntilRun(_TakeUntilRun):
    def __init__(self, subscriber: Subscriber[Any], operator: SkipUntil) -> None:
        super().__init__(subscriber, operator)
        self._open = False

    def sign(self) -> None:
        self._open = True

    def passes(self) -> bool:
        return self._open


class _Main(DirectInput[Any]):
    def __init__(self, owner: _TakeUntilRun) -> None:
        super().__init__(owner, owner._emit, owner._finish)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            return
        if not self._owner.passes():
            self.request(1)  # replaces the dropped element
        elif not self._owner.try_emit(element):
            self._owner.post(self._on_element, element)


class _Other(Input[Any]):
    def __init__(self, owner: _TakeUntilRun) -> None:
        super().__init__(owner, 1)

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if not self._closed:
            self.cancel()
            self._owner.sign()

    def _end(self, error: BaseException | None) -> None:
        if error is None:
            self._owner.sign()
        else:
            self._owner.post(self._owner._fail, error)
