"""window and window_*: split a stream into windows by count, by time or by value."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from pyrs._core import hooks
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_natural
from pyrs.api import Publisher, Subscriber
from pyrs.operators.buffering import AFTER, BEFORE, INSTEAD, BufferTime, Cut, extent, needed, uncut
from pyrs.operators.splitting import Dispatcher, Part, PartHandle, PrefetchingDispatcher
from pyrs.schedulers.timer import Timer

Wrap = Callable[[PartHandle], Publisher[Any]]


class _CountDispatcher(Dispatcher):
    """Requests the elements of the demanded windows, like ``buffer``.

    These elements may also open windows that overlap the demanded ones; such windows are queued until demanded.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: WindowCount) -> None:
        super().__init__(subscriber, operator)
        self._count = operator.count
        self._skip = operator.skip
        self._until_next = 0  # the number of elements before the next window starts
        self._windows: deque[Part] = deque()
        self._wanted = 0  # the number of windows demanded so far
        self._requested_upstream = 0  # the number of elements requested so far

    def _open_parts(self) -> Iterable[Part]:
        return self._windows

    def _on_demand(self, n: int) -> None:
        self._wanted += n

    def _more(self) -> int:
        total = needed(self._wanted, self._count, self._skip)
        more, self._requested_upstream = total - self._requested_upstream, total
        return more

    def _dispatch(self, element: Any) -> Iterable[Part]:
        with self.lock:
            windows = self._windows
            if not self._until_next:
                self._until_next = self._skip
                if not self.gone:
                    window = Part(self, "window")
                    windows.append(window)
                    self._open(window)
            self._until_next -= 1
            kept = False
            for window in windows:
                kept = window.dispatch(element) or kept
            touched = list(windows)
            if windows and windows[0].dispatched == self._count:
                self._close_part(windows.popleft())
        if not kept:
            self.discard(element)
        return touched


class WindowCount(Operator[Any]):
    """``window(count, skip)``: windows of ``count`` elements."""

    run_type = _CountDispatcher

    def __init__(self, source: Publisher[Any], count: int, skip: int | None, wrap: Wrap) -> None:
        self.count = checked_natural(count, "count", 1)
        self.skip = self.count if skip is None else checked_natural(skip, "skip", 1)
        self.wrap = wrap
        super().__init__(source, extent("window", count, skip, None))


class _SingleWindowDispatcher(Dispatcher):
    """Dispatches each element to the open window, if there is one."""

    _window: Part | None = None

    def _open_parts(self) -> Iterable[Part]:
        return () if self._window is None else (self._window,)

    def _close_window(self) -> Part | None:
        """Close the open window, under the lock, and return it; wake it afterwards."""
        window, self._window = self._window, None
        if window is not None:
            self._close_part(window)
        return window


class _TimeDispatcher(_SingleWindowDispatcher):
    """Requests the free capacity of the open or next window.

    The first elements of a window are requested when it is demanded. With a count, the capacity is the number of
    elements that the window lacks. Without one, it is ``prefetch`` minus the number of buffered elements.
    """

    def __init__(self, subscriber: Subscriber[Any], operator: WindowTime) -> None:
        super().__init__(subscriber, operator)
        self._count = operator.count
        self._size = operator.count or operator.prefetch
        self._seconds = operator.seconds
        self._timer = Timer(operator.scheduler, self._time_up, self._refused, self.lock)  # closes the window
        self._due = False
        self._wanted = 0  # the number of demanded windows that are not open yet

    def _more(self) -> int:
        window = self._window
        if window is None:
            capacity = self._size if self._wanted else 0
        elif self._count is None:
            capacity = self._size - len(window.elements)
        else:
            capacity = self._count - window.dispatched
        return self._refill(capacity, self._size)

    def _close_window(self) -> Part | None:
        self._due = False
        self._timer.clear()
        return super()._close_window()

    def _on_demand(self, n: int) -> Part | None:
        self._wanted += n
        return self._close_window() if self._due else None

    def _stop(self) -> None:
        self._timer.close()

    def _time_up(self) -> None:
        closed = None
        with self.lock:
            if self._timer.claim() and self._window is not None:
                self._due = True  # the window closes when the next one is demanded, so that no element is lost
                if self._wanted > 0 or self.gone:
                    closed = self._close_window()
        if closed is not None:
            closed.wake()
            self._settle()

    def _refused(self, error: BaseException) -> None:
        """Fail because the scheduler was closed while a window was open."""
        if self._window is not None:
            self._finish(error)

    def _start_timer(self) -> None:
        try:
            self._timer.set_after(self._seconds)
        except Exception as error:  # not raised: the caller would discard the element, which the window owns
            if hooks.is_exit(error):
                raise
            self.operator.blame(error)
            self._refused(error)

    def _dispatch(self, element: Any) -> Iterable[Part]:
        with self.lock:
            self._outstanding -= 1
            window = self._window
            opens = window is None
            if window is None and not self.gone:
                self._wanted -= 1
                window = self._window = Part(self, "window")
                self._open(window)
            kept = window is not None and window.dispatch(element)
            full = window is not None and window.dispatched == self._count
            if full:
                self._close_window()
        if not kept:
            self.discard(element)
        if window is None:
            return ()
        if full:
            self._timer.cancel()
        elif opens:
            self._start_timer()  # not under the lock: a scheduler may run the task at once
        return (window,)


class WindowTime(BufferTime):
    """``window(count, seconds=...)``: windows limited by time, optionally by count."""

    name = "window"
    run_type = _TimeDispatcher


class _CutDispatcher(_SingleWindowDispatcher, PrefetchingDispatcher):
    """Dispatches elements to the open window; they determine where it begins and ends."""

    def __init__(self, subscriber: Subscriber[Any], operator: WindowBy) -> None:
        super().__init__(subscriber, operator)
        self._cut = operator.cut()

    def _stop(self) -> None:
        self._cut = uncut

    def _dispatch(self, element: Any) -> Iterable[Part]:
        place = self._cut(element)
        with self.lock:
            self._outstanding -= 1
            closed = self._close_window() if place is BEFORE or place is INSTEAD else None
            window = self._window
            if window is None and place is not INSTEAD and not self.gone:
                window = self._window = Part(self, "window")
                self._open(window)
            kept = window is not None and window.dispatch(element)
            if not kept:
                self._prefetch.consumed += 1
            if place is AFTER:
                self._close_window()
        if not kept:
            self.discard(element)
        touched = () if window is None else (window,)
        return touched if closed is None else (closed, *touched)


class WindowBy(Operator[Any]):
    """The operators that emit windows which the elements delimit.

    They are ``window_until``, ``window_while`` and ``window_until_changed``.

    Args:
        cut: a pair: the call without ``window_``, and a factory of the function that separates windows; see
            ``BufferBy``.
        prefetch: the maximum number of requested and buffered elements in all windows together.
    """

    run_type = _CutDispatcher

    def __init__(self, source: Publisher[Any], cut: tuple[str, Callable[[], Cut]], prefetch: int, wrap: Wrap) -> None:
        call, self.cut = cut
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        self.wrap = wrap
        super().__init__(source, f"window_{call}")
