"""The engine of operators with several inputs, a buffer, a clock or a thread."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import repeat, starmap
from sys import maxsize
from typing import Any, Final

from pyrs._core import hooks
from pyrs._core.context import capture
from pyrs._core.drain import Execute
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs._core.operator import Operator, OperatorSubscription
from pyrs._core.serial import SerialSubscription
from pyrs.api import R, Subscriber

_OTHER: Final = 0
_ELEMENT: Final = 1
_ERROR: Final = 2


class Coordinator(OperatorSubscription[R], SerialSubscription[R]):
    """One Subscriber's subscription to an operator.

    Signals of inputs, timers and requests arrive on any thread. The receiver stores the signal in a thread-safe place
    and calls ``wake()``, or it calls ``post`` with a handler and an argument. The drain loop runs the posted handlers
    and then ``_advance()``, on the thread that finds the loop idle or on the executor. Only the drain loop signals the
    Subscriber.

    An operator may override these methods:

    * ``_begin()``: subscribe the inputs, by default ``_input`` (if it is set) to the operator's source. Runs once,
      after ``on_subscribe``, outside the drain loop, so elements of a synchronous source are forwarded at once.
    * ``_advance()``: proceed as far as possible: ``_emit`` while ``_demand()``, ``_complete`` or ``_fail``. Return
      when ``_interrupted`` is set: the stream is not live, or an illegal request is unanswered (§3.9).
    * ``_release()``: cancel inputs and timers, clear buffers; by default, close ``_timer`` and cancel ``_upstreams()``.
      Runs once, in the drain loop, also after a cancel.
    * ``_upstreams()``: the inputs, by default ``_input`` or ``_inputs``. A cancel while the drain loop runs cancels
      them at once, on any thread, and leaves their elements to ``_release()``. An operator whose upstream is not an
      ``Input`` overrides ``_cancel_upstream()`` instead.
    * ``_requested_more(n)``: demand grew by n > 0. Wakes the drain loop by default. Runs on the thread that requests,
      which may be inside ``on_next``.

    The queue of posted handlers grows while the Subscriber is slow, so the caller of ``post`` must bound the number of
    posts.

    Rules: 1.1, 1.3, 1.8, 3.3, 3.12, and those of ``DownstreamSubscription``.
    """

    _input: Any = None  # the upstream side of an operator with one source, an ``Input``
    _inputs: Sequence[Any] = ()  # those of an operator with several sources

    def __init__(self, subscriber: Subscriber[R], operator: Operator[Any], execute: Execute | None = None) -> None:
        SerialSubscription.__init__(self, subscriber, capture(), execute)
        self._operator = operator
        self._consumes = isinstance(subscriber, IteratorConsumer)
        # Handlers with their arguments, and what the argument is, for a stream that terminates before the handler runs.
        self._posted: deque[tuple[Callable[[Any], object], Any, int]] = deque()

    # Implemented by operators.

    def _begin(self) -> None:
        """Subscribe the inputs."""
        if self._input is not None:
            self._input.subscribe_to(self._operator.source)

    def _advance(self) -> None:
        """Emit, complete or fail, as far as possible now, in the drain loop."""

    def _cancel_upstream(self) -> None:
        """Cancel the inputs while the drain loop runs, on any thread."""
        for each in self._upstreams():
            each.cancel_upstream()

    def _upstreams(self) -> Iterable[Any]:
        """Return the inputs, which a cancel and ``_release`` cancel."""
        return self._inputs if self._input is None else (self._input,)

    def _release(self) -> None:
        super()._release()
        for each in self._upstreams():
            each.cancel()

    def _requested_more(self, n: int) -> None:
        """Serve demand that grew by n > 0, on the thread that requests."""
        self.wake()

    # Used by operators.

    def wake(self) -> None:
        """Make the drain loop run ``_advance`` again; callable on any thread."""
        self._again = True
        execute = self._execute  # read first: another thread that is refused removes it
        try:
            self.schedule()
        except Exception as error:  # the executor accepts no more tasks; a third-party one may raise any error
            if execute is None or isinstance(error, RecursionError):
                raise  # a RecursionError does not mean that the executor refused the task
            if self._execute is not None:
                self._refused(error)
            else:  # another thread was refused first, and fails the stream
                self.wake_here()

    def post(self, handler: Callable[[Any], object], argument: Any = None) -> None:
        """Queue a handler for the drain loop; callable on any thread."""
        self._posted.append((handler, argument, _OTHER))
        self.wake()

    def post_element(self, handler: Callable[[Any], object], element: Any) -> None:
        """Queue a handler with an element; discard the element if the stream ends first."""
        self._posted.append((handler, element, _ELEMENT))
        self.wake()

    def post_end(self, handler: Callable[[Any], object], error: BaseException | None) -> None:
        """Queue a handler of a terminal signal with its error, None for ``on_complete``.

        The error is reported as dropped if the stream terminates first.
        """
        self._posted.append((handler, error, _ERROR))
        self.wake()

    def try_emit(self, element: R) -> bool:
        """Emit the element at once if possible, and return whether it was emitted.

        It is possible if the element is demanded, the loop is idle and nothing is posted.
        """
        return bool(self.attempt(self._emit_if_demanded, element))

    def _emit_if_demanded(self, element: R) -> bool:
        """Emit the element and return True if it is demanded and nothing is posted."""
        subscriber = self._subscriber
        if self._requested <= self._emitted or self._posted or subscriber is None or self._interrupted:
            return False
        self._emitted += 1
        try:
            subscriber.on_next(element)
        except BaseException as error:
            self._subscriber_raised(error, "on_next")
        return True

    def _emit(self, element: R) -> None:
        """Signal an element that was demanded, in the drain loop."""
        self._emitted += 1
        subscriber = self._subscriber
        if subscriber is not None and self._live:  # 1.8
            try:
                subscriber.on_next(element)
            except BaseException as error:
                self._subscriber_raised(error, "on_next")
        else:
            self._discard(element)

    def _emit_from(self, queue: deque[R], limit: int = maxsize) -> int:
        """Signal up to ``limit`` demanded elements in the drain loop; return their number."""
        subscriber = self._subscriber
        if subscriber is None:
            return 0
        on_next, take = subscriber.on_next, queue.popleft
        total = 0
        while queue and not self._interrupted:
            batch = min(self._requested - self._emitted, len(queue), limit - total)
            if batch <= 0:
                break
            count = 0
            if self._consumes and batch > 1:
                # Each element leaves the queue as it is signalled.
                count = subscriber.consume(starmap(take, repeat((), batch)), batch)  # type: ignore[attr-defined]
                self._emitted += count
                total += count
                continue
            try:
                for count in range(1, batch + 1):  # noqa: B007 - read in the finally clause
                    on_next(take())
                    if self._interrupted:
                        break  # type: ignore[unreachable]  # 1.8, 3.9: on_next may have cancelled or sent an illegal n
            except BaseException as error:
                self._subscriber_raised(error, "on_next")
            finally:
                self._emitted += count
                total += count
        return total

    def _emit_through(self, iterator: Iterator[R], limit: int, *, steady: bool) -> int:
        """Signal up to ``limit`` elements directly from an iterator; return their number.

        Runs in the drain loop. Fewer than ``limit`` means that the iterator is exhausted or that ``_interrupted`` is
        set. An exception of the iterator is propagated. The caller must then fail the stream, because the elements
        before the exception may not have been counted.

        Args:
            iterator: the source of the elements. Only elements that the Subscriber takes are pulled.
            limit: at least 1, at most the demand.
            steady: whether the iterator cannot block: elements in memory, no user code.
        """
        subscriber = self._subscriber
        if subscriber is None:
            return 0
        taken: int = 0
        try:
            if self._consumes and (steady or not subscriber.steady_only):  # type: ignore[attr-defined]
                taken = subscriber.consume(iterator, limit)  # type: ignore[attr-defined]
                return taken
            on_next = subscriber.on_next
            for taken, element in enumerate(iterator, 1):
                if element is None:
                    taken -= 1
                    raise null_element()
                try:
                    on_next(element)
                except BaseException as error:
                    self._subscriber_raised(error, "on_next")
                if taken == limit or not self._live:
                    break
            return taken
        finally:
            self._emitted += taken

    # The engine.

    def start(self) -> None:
        """Signal ``on_subscribe``, then begin; called once, by ``subscribe``."""
        self._introduce_with_turn()
        if self._live:
            try:
                self._begin()
            except BaseException as error:
                self.post_end(self._fail, error)
                if hooks.is_exit(error):
                    raise
        self.wake()

    def _on_request(self, n: int) -> None:
        if n > 0:
            self._requested_more(n)
        else:
            self.wake()

    def _on_cancel(self) -> None:
        # Upstream is cancelled at once: ``take`` cancels in on_next and then completes, and the next source may need a
        # resource that this one holds. The drain loop releases the rest only after on_next has returned.
        try:
            self.wake_here()
        finally:
            if self._subscriber is not None:  # not released: another thread has the turn, or this one, in on_next
                self._cancel_upstream()

    def _serve(self) -> None:
        posted = self._posted
        # Not ``_live``: a handler that requests more may post for ever, and an illegal request must be answered (3.9).
        while posted and not self._interrupted:
            handler, argument, _ = posted.popleft()
            handler(argument)
        if self._live:
            self._advance()

    def _forget(self) -> None:
        super()._forget()
        if not self._posted:  # the common case needs no generator
            return
        for _, argument, kind in hooks.emptied(self._posted):  # a function for discarded elements may empty it, too
            if kind == _ELEMENT:
                self._discard(argument)
            elif kind == _ERROR:
                self._drop(argument)

    def _refused(self, error: Exception) -> None:
        """Fail the stream on this thread, because the executor refused the task."""
        self._execute = None
        if self._live:
            self.post_end(self._fail, error)
        else:
            self.wake_here()


class TurnTaker(Coordinator[R]):
    """A Coordinator whose tasks leave the thread to other tasks of the executor.

    With ``_turns``, ``_advance`` sets ``_more`` and returns after ``TURN`` elements. The next task emits the rest.
    """

    def __init__(self, subscriber: Subscriber[R], operator: Operator[Any], execute: Execute | None = None) -> None:
        super().__init__(subscriber, operator, execute)
        self._turns = execute is not None
        self._more = False

    def _has_work(self) -> bool:
        return self._again and not self._more

    def _after_drain(self) -> None:
        if not self._more:  # else do not write: the next drain may be running on another thread
            return
        self._more = False
        if self._live:
            self._continue()
        else:
            self.wake_here()  # a cancel arrived while the drain loop was running

    def _continue(self) -> None:
        """Emit the rest in another task, after the tasks that wait for the thread."""
        self.wake()
