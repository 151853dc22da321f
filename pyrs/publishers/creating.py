"""create: a source for functions that push elements."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from sys import maxsize
from threading import RLock
from typing import TYPE_CHECKING, Any, Generic

from pyrs._core import hooks
from pyrs._core.context import bound, in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import name_of
from pyrs._core.drain import DrainLoop
from pyrs._core.operator import Operator
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.sites import code_of, is_coroutine_function
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Subscriber, T
from pyrs.errors import BufferOverflow, NullSignal
from pyrs.operators.backpressure import Drops
from pyrs.stream.advice import missing_attribute
from pyrs.stream.stream import Stream

__all__ = ["Emitter", "create", "created"]


_GENERATOR = 0x20 | 0x200
"""The code flags of generator and asynchronous generator functions; ``inspect`` is a slow import."""
_OTHER_NAMES = {
    **dict.fromkeys(("on_next", "emit", "push", "put", "send"), "use next()"),
    **dict.fromkeys(("on_error", "fail", "throw"), "use error()"),
    **dict.fromkeys(("on_complete", "on_completed", "close", "done", "finish"), "use complete()"),
    "is_cancelled": "use cancelled",
}


def create(
    function: Callable[[Emitter[T]], object], *, overflow: Overflow | str = "buffer", capacity: int = 256
) -> Stream[T]:
    """Return a stream of the elements that a function or its callbacks push.

        create(listen)
        subscribe -> listen(emitter)
        emitter.next(1)  emitter.next(2)  emitter.complete()
        -------1----------------2----------------|

    Calls ``function`` for each Subscriber, with a new ``Emitter``, inside ``subscribe``. The function pushes elements,
    or registers code that pushes them, on any thread. A coroutine function runs as a task on the asyncio loop that is
    running at ``subscribe``, else on a background loop; a cancel cancels it. Only ``complete`` completes the stream.

    A lack of demand does not slow the function, which can read the demand (``emitter.requested``,
    ``emitter.on_request``). ``overflow`` selects what happens to an element that exceeds demand:

    - ``buffer``: the element is buffered without a bound.
    - ``error``: up to ``capacity`` elements are buffered. One more fails the stream with ``BufferOverflow``, after the
      buffered elements.
    - ``drop``: the element is dropped.
    - ``drop_oldest``: up to ``capacity`` elements are buffered; then the oldest one is dropped.
    - ``drop_latest``: up to ``capacity`` elements are buffered; then the new one is dropped.
    - ``latest``: one element is buffered; a new one replaces it.

    Dropped elements are reported to the dropped-elements hook. If the function raises, the stream fails with that error
    after the elements pushed before.

    Args:
        function: called with an ``Emitter``; its result is ignored.
        overflow: one of the names above, or an ``Overflow``.
        capacity: the maximum number of elements buffered beyond demand, for the bounded strategies.

    Raises:
        TypeError: ``function`` is not callable or is a generator function, ``overflow`` is neither a str nor an
            ``Overflow``, or ``capacity`` is not an integer.
        ValueError: ``overflow`` is not one of the names, or ``capacity`` is less than 1.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 3.9.

    Examples:
        >>> def listen(emitter):
        ...     for word in ("to", "be"):
        ...         emitter.next(word)
        ...     emitter.complete()
        >>> create(listen).map(str.upper).collect()
        ['TO', 'BE']
    """
    code = code_of(function)
    if code is not None and code.co_flags & _GENERATOR:
        raise TypeError(
            "function must call emitter.next(element), and must not yield: nothing iterates a generator here; "
            "from_iterable and from_async_iterable accept generators"
        )
    return created(
        checked_callable(function, "function", awaited=True), f"create({name_of(function)}", overflow, capacity
    )


def created(function: Callable[[Emitter[T]], object], call: str, overflow: Overflow | str, capacity: int) -> Stream[T]:
    """Return the stream of ``create``; ``call`` is the start of its repr."""
    return Stream(_Create(function, call, checked_overflow(overflow), checked_natural(capacity, "capacity", 1)))


class Emitter(Generic[T]):
    """Pushes elements to one Subscriber of ``create``.

    Every method may be called from any thread. Signals are serialized. They are emitted on the pushing thread, on
    another thread that is emitting at that time, or on the thread that requests.
    """

    def __init__(self, run: _CreateRun) -> None:
        self._run = run

    if not TYPE_CHECKING:  # a type checker would accept every attribute

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(missing_attribute(Emitter, name, _OTHER_NAMES), name=name, obj=self)

    def next(self, element: T, /) -> None:
        """Push an element without waiting; without demand, ``overflow`` applies.

        After termination or a cancel the element is reported to the dropped-elements hook.

        Raises:
            NullSignal: ``element`` is None.
        """
        if element is None:
            raise NullSignal("None is not an element: emitter.next(None)")
        self._run.push(element)

    def error(self, exception: BaseException, /) -> None:
        """Fail the stream, after the elements pushed before.

        After termination or a cancel the error is reported to the dropped-errors hook.

        Raises:
            TypeError: ``exception`` is not an exception.
        """
        if not isinstance(exception, BaseException):
            raise TypeError(f"exception must be an exception, not {type(exception).__name__}")
        if not self._run.fail(exception):
            hooks.on_error_dropped(exception, f"{self!r}: the stream was cancelled or has terminated")

    def complete(self) -> None:
        """Complete the stream, after the elements pushed before.

        Ignored after termination or a cancel.
        """
        self._run.close(None)

    @property
    def requested(self) -> int:
        """Return the number of elements that are demanded and not pushed yet."""
        run = self._run
        return 0 if run.closed() else max(0, run._requested - run._accepted)

    @property
    def cancelled(self) -> bool:
        """Return whether the stream was cancelled or has terminated."""
        return self._run.closed()

    def on_cancel(self, callback: Callable[[], object], /) -> None:
        """Register a callback for a cancel or a failure by the stream itself.

        An overflow is such a failure. The callback is called once; immediately, if that has already happened. It is not
        called after ``complete`` or ``error``, or if the function raises. Several callbacks are called in order. An
        exception from a callback is reported to the dropped-errors hook.
        """
        run = self._run
        checked_callable(callback, "callback")
        with run.gate:
            if run.finished:
                return
            run.listeners.append(callback)
        if run.closed():
            run.call_listeners()

    def on_request(self, callback: Callable[[int], object], /) -> None:
        """Register a callback that receives the number of newly demanded elements.

        The callback is called now if there is demand, and after later requests, serially: on the requesting thread, or
        on a thread that is in the callback at that time. One call may cover several requests. A source that pushes
        exactly that number never overflows. If the callback raises, the stream fails. A new callback replaces the old
        one.
        """
        self._run.demand_loop.callback = checked_callable(callback, "callback")
        self._run.demand_loop.run_here()

    def __repr__(self) -> str:
        return f"<Emitter of {self._run!r}>"


class _Create(Operator[Any]):
    pushes = True  # may push inside subscribe, while its function runs

    def __init__(
        self, function: Callable[[Emitter[Any]], object], call: str, overflow: Overflow, capacity: int
    ) -> None:
        bounded = overflow in (Overflow.ERROR, Overflow.DROP_OLDEST, Overflow.DROP_LATEST)
        how = f"overflow={overflow.value!r}" + (f", capacity={capacity}" if bounded else "")
        super().__init__(None, f"{call}, {how})")
        self.function = function
        self.overflow = overflow
        self.capacity = capacity if bounded else {Overflow.BUFFER: maxsize, Overflow.LATEST: 1}.get(overflow, 0)

    def run(self, subscriber: Subscriber[Any]) -> _CreateRun:
        return _CreateRun(in_context(subscriber), self)


class _CreateRun(Coordinator[Any]):
    """One Subscriber's queue: threads append elements, the drain loop emits them."""

    def __init__(self, subscriber: Subscriber[Any], operator: _Create) -> None:
        super().__init__(subscriber, operator)
        self._function = operator.function
        self._overflow = operator.overflow
        self._capacity = operator.capacity
        self._drops = Drops(None, str(operator.call))
        self.gate = RLock()  # guards the attributes below; no callback runs under it
        self._elements: deque[Any] = deque()  # consumed by the drain loop
        self._accepted = 0  # the number of appended elements, except those dropped later
        self._closed = False  # a terminal signal was pushed, or no more elements are accepted
        self._error: BaseException | None = None
        self.finished = False  # a terminal signal was pushed, or a function raised
        self.listeners: list[Callable[[], object]] = []
        self.demand_loop = _DemandLoop(self)
        self._end_task: Callable[[bool], None] | None = None

    def _begin(self) -> None:
        emitter: Emitter[Any] = Emitter(self)
        if is_coroutine_function(self._function):
            from pyrs.aio.tasks import start_task  # asyncio is a slow import

            self._end_task = start_task(partial(self._function, emitter), self._context, self.raised)
            if not self._live:  # terminated while the task was started
                self._stop()
            return
        try:
            self._function(emitter)
        except BaseException as error:
            self.raised(error)
            if hooks.is_exit(error):
                raise

    def _requested_more(self, n: int) -> None:
        self.wake()
        self.demand_loop.run_here()

    def _advance(self) -> None:
        closed = self._closed  # read first: if it is true, the queue contains all remaining elements
        # A test of the queue would not prevent the IndexError: a push may remove the newest element at any time.
        while not self._interrupted and self._demand() > 0:
            try:
                element = self._elements.popleft()
            except IndexError:
                break
            self._emit(element)
        if closed and self._live and not self._elements:
            error, self._error = self._error, None  # so that _release does not report it as well, after a cancel
            self._end_with(error)

    def _cancel_upstream(self) -> None:
        self.call_listeners()

    def _release(self) -> None:
        with self.gate:
            self._closed = True
        try:
            self._discard_all(self._elements)
            self._drops.flush()
            self._drop(self._error)
            self.call_listeners()
        finally:  # a callback may raise an exit
            self._stop()

    def _stop(self) -> None:
        """Cancel the task of a coroutine function, unless it terminated the stream."""
        if self._end_task is not None:
            self._end_task(not self.finished)

    # The methods that Emitter calls

    def push(self, element: Any) -> None:
        """Append the element, drop one, or fail the stream."""
        refused = False
        dropped: Any = None
        with self.gate:
            if self._closed or not self._live:
                refused = True
            elif self._accepted < self._requested + self._capacity:
                self._accepted += 1
                self._elements.append(element)
            else:
                dropped = self._overflowed(element)
        if refused:
            where = f"{self._operator.call}: the stream was cancelled or has terminated"
            hooks.on_next_dropped(1, where, cancelled=True)
            self._discard(element)
            return
        if dropped is not None:
            if self._overflow is not Overflow.ERROR:
                self._drops.add(dropped)
            self._discard(dropped)
        elif self._drops.dropping:
            self._drops.flush()
        self.wake()
        if self._closed and not self.finished:
            self.call_listeners()

    def _overflowed(self, element: Any) -> Any:
        """Apply the overflow strategy, under the gate; return the dropped element."""
        if self._overflow is Overflow.ERROR:
            error = BufferOverflow(f"the buffer of {self._capacity} elements is full")
            self._operator.blame(error)
            self._error = error  # before ``_closed``, which the drain loop reads without the gate
            self._closed = True
            return element
        if self._overflow in (Overflow.DROP, Overflow.DROP_LATEST):
            return element
        take = self._elements.popleft if self._overflow is Overflow.DROP_OLDEST else self._elements.pop
        try:
            dropped = take()
        except IndexError:  # the drain loop has just emitted all of them
            self._accepted += 1
            dropped = None
        self._elements.append(element)
        return dropped

    def close(self, error: BaseException | None) -> bool:
        """Terminate the stream; return False if it was already terminated."""
        with self.gate:
            if self._closed or not self._live:
                return False
            self._error = error  # before ``_closed``, which the drain loop reads without the gate
            self._closed = True
            self.finished = True
            self.listeners = []
        self.wake()
        return True

    def fail(self, error: BaseException) -> bool:
        """Fail the stream with an error; return False if it was already terminated."""
        self._operator.blame(error)
        return self.close(error)

    def closed(self) -> bool:
        """Return whether pushes are rejected."""
        return self._closed or not self._live

    def raised(self, error: BaseException) -> None:
        """Fail the stream with an exception of a user's function."""
        if not self.fail(error) and not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream was cancelled or has terminated")

    def call_listeners(self) -> None:
        """Remove the listeners and call them."""
        with self.gate:
            listeners, self.listeners = self.listeners, []
        for listener in listeners:
            try:
                bound(listener, self._context)()
            except BaseException as error:
                hooks.report(error, f"{self._operator.call}: raised by an on_cancel callback")


class _DemandLoop(DrainLoop):
    """Notifies the callback of demand, serially and without re-entrance (§3.3)."""

    def __init__(self, owner: _CreateRun) -> None:
        super().__init__()
        self._owner = owner
        self._notified = 0
        self.callback: Callable[[int], object] | None = None

    def _new_demand(self) -> int:
        return 0 if self.callback is None or self._owner.closed() else self._owner._requested - self._notified

    def _has_work(self) -> bool:
        return self._new_demand() > 0

    def _work(self) -> None:
        callback, more = self.callback, self._new_demand()
        if callback is not None and more > 0:
            self._notified += more
            try:
                bound(partial(callback, more), self._owner._context)()
            except BaseException as error:
                self._owner.raised(error)
                if hooks.is_exit(error):
                    raise
