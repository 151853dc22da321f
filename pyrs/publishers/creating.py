"""A source into which a function of the user's pushes elements: create."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from sys import maxsize
from threading import RLock
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import bound, capture, in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.display import name_of
from pyrs._core.drain import DrainLoop
from pyrs._core.operator import Operator
from pyrs._core.overflow import Overflow, checked_overflow
from pyrs._core.sites import is_coroutine_function
from pyrs._core.validation import checked_callable, checked_natural
from pyrs.api import Subscriber
from pyrs.errors import BufferOverflow, NullSignal
from pyrs.operators.backpressure import Drops
from pyrs.stream.stream import Stream

__all__ = ["Emitter", "create", "created"]

T = TypeVar("T")


def create(
    function: Callable[[Emitter[T]], object], *, overflow: Overflow | str = "buffer", capacity: int = 256
) -> Stream[T]:
    """Return a stream of what a function pushes, from whichever threads: the way in for callbacks and listeners.

        create(listen)
        subscribe -> listen(emitter)
        emitter.next(1)  emitter.next(2)  emitter.complete()
        -------1----------------2----------------|

    The function is called for each Subscriber, with an ``Emitter`` of its own, where ``subscribe`` is called. It pushes
    elements itself, or registers what will. A coroutine function runs as a task, on the asyncio loop that runs there,
    else on one in the background; a cancel cancels the task. When the function returns nothing ends: ``complete`` does.

    Demand is not asked of the function, but shown to it (``emitter.requested``, ``emitter.on_request``). What it pushes
    beyond the demand goes where ``overflow`` says:

    - ``buffer``: is buffered without a bound.
    - ``error``: is buffered up to ``capacity``. One more fails the stream with ``BufferOverflow``, after the buffered
      elements.
    - ``drop``: is dropped.
    - ``drop_oldest``: is buffered up to ``capacity``; then the oldest buffered element is dropped.
    - ``drop_latest``: is buffered up to ``capacity``; then the new element is dropped.
    - ``latest``: replaces the one buffered element.

    The hook for dropped elements is told of what is dropped. What the function raises fails the stream, after what it
    pushed before.

    Args:
        function: takes an ``Emitter``. What it returns is ignored.
        overflow: one of these names, or the ``Overflow``.
        capacity: the most elements that are held beyond the demand, for the strategies that buffer.

    Raises:
        TypeError: the function cannot be called, overflow is neither an Overflow nor a name, or capacity no integer.
        ValueError: overflow names none, or capacity is less than 1.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.7, 3.9.

    Examples:
        >>> def listen(emitter):
        ...     for word in ("to", "be"):
        ...         emitter.next(word)
        ...     emitter.complete()
        >>> create(listen).map(str.upper).collect()
        ['TO', 'BE']
    """
    return created(
        checked_callable(function, "function", awaited=True), f"create({name_of(function)}", overflow, capacity
    )


def created(function: Callable[[Emitter[T]], object], call: str, overflow: Overflow | str, capacity: int) -> Stream[T]:
    """As ``create``, for sources that are made of it. ``call`` is what the user wrote, up to the overflow strategy."""
    return Stream(_Create(function, call, checked_overflow(overflow), checked_natural(capacity, "capacity", 1)))


class Emitter(Generic[T]):
    """Pushes elements to one Subscriber of ``create``, one after the other; any thread may call any method.

    The Subscriber is signalled on the thread that pushes, or, when it was slow, on the one that signals it just then,
    or on the one that requests.
    """

    __slots__ = ("_run",)

    def __init__(self, run: _CreateRun) -> None:
        self._run = run

    def next(self, element: T, /) -> None:
        """Push an element. Never waits; what there is no room for goes where ``overflow`` said.

        After the end, or a cancel, it is ignored, and the hook for dropped elements told.

        Raises:
            NullSignal: the element is None.
        """
        if element is None:
            raise NullSignal("None is not an element: emitter.next(None)")
        self._run.push(element)

    def error(self, exception: BaseException, /) -> None:
        """Fail the stream, after what was pushed before. After the end the hook for dropped errors is told.

        Raises:
            TypeError: it is not an exception.
        """
        if not isinstance(exception, BaseException):
            raise TypeError(f"exception must be an exception, not {type(exception).__name__}")
        if not self._run.fail(exception):
            hooks.on_error_dropped(exception, f"{self!r}: the stream was over")

    def complete(self) -> None:
        """Complete the stream, after what was pushed before. Ignored after the end."""
        self._run.close(None)

    @property
    def requested(self) -> int:
        """How many elements are demanded and not pushed yet."""
        return self._run.outstanding()

    @property
    def cancelled(self) -> bool:
        """Whether nobody takes elements any more: the Subscriber cancelled, or the stream has ended or failed."""
        return self._run.closed()

    def on_cancel(self, callback: Callable[[], object], /) -> None:
        """Call this once when the stream is over other than by ``complete`` and ``error``: time to stop pushing.

        That is when the Subscriber cancels, or when the buffer overflows; at once, when it is so already. Several are
        called in their order. What one raises goes to the hook for dropped errors.
        """
        self._run.add_listener(checked_callable(callback, "callback"))

    def on_request(self, callback: Callable[[int], object], /) -> None:
        """Call this with the number of elements whenever more are demanded, and now if some are already.

        One call at a time, on the thread that requests. For a source that can be pulled after all: it pushes so many,
        now or later, and nothing overflows. What it raises fails the stream. There is one such callback; a new one
        takes its place.
        """
        self._run.tell_demand_to(checked_callable(callback, "callback"))

    def __repr__(self) -> str:
        return f"<Emitter of {self._run!r}>"


class _Create(Operator[Any]):
    pushes = True  # perhaps from inside subscribe, for as long as its function runs

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
    """One Subscriber's elements: threads put them in the queue, the lane signals them."""

    def __init__(self, subscriber: Subscriber[Any], operator: _Create) -> None:
        super().__init__(subscriber, operator)
        self._function = operator.function
        self._overflow = operator.overflow
        self._capacity = operator.capacity
        self.context = capture()
        self._drops = Drops(None, operator.call)
        self._gate = RLock()  # who holds it changes the following, and calls nothing
        self._elements: deque[Any] = deque()  # the lane takes out
        self._accepted = 0  # put in, without those that were dropped later
        self._closed = False  # an end was pushed, or nobody takes elements any more
        self._error: BaseException | None = None
        self._finished = False  # the function pushed the end
        self._listeners: list[Callable[[], object]] = []
        self._telling = _Telling(self)
        self._stop_task: Callable[[], None] | None = None

    def _begin(self) -> None:
        emitter: Emitter[Any] = Emitter(self)
        if is_coroutine_function(self._function):
            from pyrs.aio.tasks import start_task  # asyncio is a slow import

            self._stop_task = start_task(partial(self._function, emitter), self.context, self.raised)
            return
        try:
            self._function(emitter)
        except BaseException as error:
            self.raised(error)
            if hooks.is_exit(error):
                raise

    def _requested_more(self, n: int) -> None:
        self.wake()
        self._telling.run_here()

    def _advance(self) -> None:
        closed = self._closed  # read before the queue: what was pushed before is in it
        # Not while the queue has some, for the newest one may be taken out again at any time.
        while self._live and self._demand() > 0:
            try:
                element = self._elements.popleft()
            except IndexError:
                break
            self._emit(element)
        if closed and self._live and not self._elements:
            if self._error is None:
                self._complete()
            else:
                self._fail(self._error)

    def _release(self) -> None:
        with self._gate:
            self._closed = True
        self._elements.clear()
        self._drops.over()
        self._call_listeners()
        if self._stop_task is not None:
            self._stop_task()

    # For the emitter.

    def push(self, element: Any) -> None:
        """Put the element in the queue, or drop one, or end the stream."""
        refused = False
        dropped: Any = None
        with self._gate:
            if self._closed or not self._live:
                refused = True
            elif self._accepted < self._requested + self._capacity:
                self._accepted += 1
                self._elements.append(element)
            else:
                dropped = self._overflowed(element)
        if refused:
            hooks.on_next_dropped(1, f"{self._operator.call}: the stream was over", cancelled=True)
            return
        if dropped is not None:
            self._drops.add(dropped)
        elif self._drops.going_on:
            self._drops.over()
        self.wake()
        if self._closed and not self._finished:
            self._call_listeners()

    def _overflowed(self, element: Any) -> Any:
        """Make room, or do not; return the element that is dropped, if one is. With the gate held."""
        if self._overflow is Overflow.ERROR:
            self._closed = True
            self._error = BufferOverflow(f"the buffer of {self._capacity} elements is full")
            self._operator.blame(self._error)
            return None
        if self._overflow in (Overflow.DROP, Overflow.DROP_LATEST):
            return element
        take = self._elements.popleft if self._overflow is Overflow.DROP_OLDEST else self._elements.pop
        try:
            dropped = take()
        except IndexError:  # all were demanded just now
            self._accepted += 1
            dropped = None
        self._elements.append(element)
        return dropped

    def close(self, error: BaseException | None) -> bool:
        """End the stream; return whether that was not done before."""
        with self._gate:
            if self._closed or not self._live:
                return False
            self._closed = True
            self._error = error
            self._finished = True
            self._listeners = []
        self.wake()
        return True

    def fail(self, error: BaseException) -> bool:
        """End the stream with an error, which is told where it was; return whether the stream was not over before."""
        self._operator.blame(error)
        return self.close(error)

    def closed(self) -> bool:
        """Whether nothing can be pushed any more."""
        return self._closed or not self._live

    def outstanding(self) -> int:
        """How much more is demanded than was pushed."""
        return 0 if self.closed() else max(0, self._requested - self._accepted)

    def add_listener(self, callback: Callable[[], object]) -> None:
        """Call it when nobody takes elements any more."""
        with self._gate:
            if self._finished:
                return
            self._listeners.append(callback)
            over = self.closed()
        if over:
            self._call_listeners()

    def tell_demand_to(self, callback: Callable[[int], object]) -> None:
        """Call it with what is demanded, now and later."""
        self._telling.callback = callback
        self._telling.run_here()

    def demand_from(self, told: int) -> int:
        """Return all that was ever demanded, or ``told`` when nobody takes elements any more."""
        return told if self.closed() else max(told, self._requested)

    def raised(self, error: BaseException) -> None:
        """A function of the user's raised: the stream fails with that, after what was pushed before."""
        if not self.fail(error) and not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream was over")

    def _call_listeners(self) -> None:
        with self._gate:
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            try:
                bound(listener, self.context)()
            except BaseException as error:
                if hooks.is_exit(error):
                    raise
                hooks.on_error_dropped(error, f"{self._operator.call}: raised by an on_cancel callback")


class _Telling(DrainLoop):
    """Tells the function of demand, one call at a time: a callback that pushes is not called inside itself (3.3)."""

    __slots__ = ("_owner", "_told", "callback")

    def __init__(self, owner: _CreateRun) -> None:
        super().__init__()
        self._owner = owner
        self._told = 0
        self.callback: Callable[[int], object] | None = None

    def _has_work(self) -> bool:
        return self.callback is not None and self._owner.demand_from(self._told) > self._told

    def _work(self) -> None:
        callback = self.callback
        more = self._owner.demand_from(self._told) - self._told
        if callback is not None and more > 0:
            self._told += more
            try:
                bound(partial(callback, more), self._owner.context)()
            except BaseException as error:
                self._owner.raised(error)
                if hooks.is_exit(error):
                    raise
