"""buffer_when, window_when: lists and windows that other streams open and close."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar

from pyrs._core import hooks
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import LazyText, clipped, name_of
from pyrs._core.inputs import CallbackInput, DirectInput, TriggerInput
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_natural, checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.operators.splitting import Dispatcher, Part, PartHandle


class _BufferWhenRun(Coordinator[Any]):
    """Adds the elements of the source to all open lists, in the drain loop.

    Elements, openings and closings share one queue, in order of arrival: while the Subscriber is in ``on_next``, lists
    may open, receive elements and close. The queue is bounded by ``prefetch`` and by the demand.

    One element of the opening stream is requested for each demanded list, so every open list was demanded.
    """

    _operator: BufferWhen

    def __init__(self, subscriber: Subscriber[Any], operator: BufferWhen) -> None:
        super().__init__(subscriber, operator)
        add, end = partial(self.post_element, self._add), partial(self.post_end, self._source_ended)
        self._input = CallbackInput[Any](self, add, end, operator.prefetch)
        self._openings = CallbackInput[Any](self, self._open_for, self._openings_ended)
        self._closings: set[DirectInput[Any]] = set()  # the inputs that close the lists
        self._lists: dict[DirectInput[Any], list[Any]] = {}  # the open lists; used in the drain loop only
        self._opens = True  # the opening stream has not completed

    def _begin(self) -> None:
        self._openings.subscribe_to(self._operator.openings)
        if self._live:
            super()._begin()

    def _requested_more(self, n: int) -> None:
        self._openings.request(n)

    def _open_for(self, opening: Any) -> None:
        """Open a list; called serially by the opening stream, outside the drain loop."""
        try:
            publisher = checked_publisher(self._operator.closing(opening), "the result of closing")
        except BaseException as error:
            self._operator.blame(error)
            self.post_end(self._fail, error)
            if hooks.is_exit(error):
                raise
            return

        def close(trigger: Any) -> None:
            self._close(closing)
            if trigger is not None:  # None stands for the completion
                self._discard(trigger)

        closing = DirectInput[Any](self, close, close)
        self._closings.add(closing)
        self.post(self._open, closing)
        closing.request(1)
        if self._live:  # otherwise _release has cancelled the inputs before this one was added
            closing.subscribe_to(publisher)

    def _openings_ended(self, error: BaseException | None) -> None:
        if error is None:
            self.post(self._openings_completed)
        else:
            self.post_end(self._fail, error)

    # The methods below run in the drain loop.

    def _add(self, element: Any) -> None:
        for each in self._lists.values():
            each.append(element)
        if not self._lists:
            self._discard(element)
        self._input.taken()

    def _open(self, closing: DirectInput[Any]) -> None:
        self._lists[closing] = []

    def _close(self, closing: DirectInput[Any]) -> None:
        elements = self._lists.pop(closing, None)
        if elements is not None:
            self._closings.discard(closing)
            closing.cancel()
            self._emit(elements)
            self._complete_after_last()

    def _openings_completed(self, _: object) -> None:
        self._opens = False
        self._complete_after_last()

    def _complete_after_last(self) -> None:
        if not self._opens and not self._lists:
            self._complete()

    def _source_ended(self, error: BaseException | None) -> None:
        if error is None:
            while self._lists and not self._interrupted:
                closing, elements = next(iter(self._lists.items()))
                del self._lists[closing]
                self._closings.discard(closing)
                closing.cancel()
                self._emit(elements)
        self._end_with(error)

    def _upstreams(self) -> Iterable[Any]:
        return self._input, self._openings, *self._closings.copy()  # atomic: the opening stream may add one

    def _release(self) -> None:
        super()._release()
        self._closings.clear()
        longest = next(iter(self._lists.values()), [])  # the first list that was opened contains the elements of all
        self._lists.clear()
        self._discard_all(longest)


def _call_text(name: str, openings: Publisher[Any], closing: Callable[[Any], Publisher[Any]]) -> str:
    """Return the user's call."""
    return f"{name}({clipped(repr(openings))}, {name_of(closing)})"


class BufferWhen(Operator[Any]):
    """``buffer_when(openings, closing)``: lists that other streams open and close."""

    name = "buffer_when"
    run_type: ClassVar[type[Any]] = _BufferWhenRun

    def __init__(
        self,
        source: Publisher[Any],
        openings: Publisher[Any],
        closing: Callable[[Any], Publisher[Any]],
        prefetch: int,
        wrap: Callable[[PartHandle], Publisher[Any]] | None = None,  # of windows
    ) -> None:
        self.wrap = wrap
        self.openings = checked_publisher(openings, "openings")
        self.closing = checked_callable(closing, "closing")
        self.prefetch = checked_natural(prefetch, "prefetch", 1)
        super().__init__(source, LazyText(_call_text, self.name, openings, closing))


class _ToggledDispatcher(Dispatcher):
    """Dispatches each element to all open windows.

    Requests up to ``prefetch`` elements, minus the unread elements of the fullest open window.
    """

    operator: WindowWhen

    def __init__(self, subscriber: Subscriber[Any], operator: WindowWhen) -> None:
        super().__init__(subscriber, operator)
        self._openings = CallbackInput[Any](self, self._open_for, self._openings_ended)
        self._opens = True  # the opening stream has not completed
        self._windows: dict[Part, TriggerInput] = {}  # the open windows and the inputs that close them; under the lock
        self._size = self._outstanding = self._demand = operator.prefetch

    def subscribe_to(self, source: Publisher[Any]) -> None:
        self._openings.subscribe_to(self.operator.openings)
        if not self._closed:
            super().subscribe_to(source)

    def demanded(self, n: int) -> None:
        self._openings.request(n)

    def downstream_cancelled(self) -> None:
        self._openings.cancel()
        super().downstream_cancelled()

    def leave(self, part: Part, discards: hooks.Discards = ()) -> None:
        super().leave(part, discards)
        self._close_for(part)

    def _open_for(self, opening: Any) -> None:
        """Open a window; called serially by the opening stream."""
        try:
            publisher = checked_publisher(self.operator.closing(opening), "the result of closing")
        except BaseException as error:
            self.operator.blame(error)
            self._fail_with(error)
            if hooks.is_exit(error):
                raise
            return
        window = Part(self, "window")
        closing = TriggerInput(self, partial(self._close_for, window))
        with self.lock:
            if self.gone or self._closed:
                return
            self._windows[window] = closing
            self._open(window)
        closing.subscribe_to(publisher)  # before the window is emitted: the Subscriber may wait for the window's end
        self._announce()

    def _close_for(self, window: Part, error: BaseException | None = None) -> None:
        """Close a window, unless it is closed, or fail with the error; on any thread."""
        if error is not None:
            self._fail_with(error)
            return
        with self.lock:
            closing = self._windows.pop(window, None)
            if closing is not None:
                self._close_part(window)
            last = not self._opens and not self._windows
        if closing is not None:
            closing.cancel()
            window.wake()
            self._settle()
        if last:
            self._finish(None)

    def _openings_ended(self, error: BaseException | None) -> None:
        if error is not None:
            self._fail_with(error)
            return
        with self.lock:
            self._opens = False
            last = not self._windows
        if last:
            self._finish(None)

    def _fail_with(self, error: BaseException) -> None:
        """Fail with an error of the opening stream or of a closing stream."""
        if not self._finish(error):
            self._drop(error)

    def _dispatch(self, element: Any) -> Iterable[Part]:
        with self.lock:
            self._outstanding -= 1
            windows = [window for window in tuple(self._windows) if not window.closed]  # a finalizer may cancel one
            kept = [window.dispatch(element) for window in windows]
        if not any(kept):
            self.discard(element)
        return windows

    def _open_parts(self) -> Iterable[Part]:
        return self._windows

    def _more(self) -> int:
        unread = max((len(window.elements) for window in tuple(self._windows)), default=0)
        return self._refill(self._size - unread, self._size)

    def _stop(self) -> None:
        self._openings.cancel()
        with self.lock:
            closings, self._windows = self._windows, {}
        for closing in closings.values():
            closing.cancel()


class WindowWhen(BufferWhen):
    """``window_when(openings, closing)``: windows that other streams open and close."""

    name = "window_when"
    run_type = _ToggledDispatcher
