"""The part of an operator that has several inputs, a buffer, a clock or a thread: one serial lane downstream."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from itertools import repeat, starmap
from sys import maxsize
from threading import RLock
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.context import bound, capture
from pyrs._core.demand import checked_count, in_words, non_positive
from pyrs._core.drain import DrainLoop
from pyrs._core.fusion import IteratorConsumer, null_element
from pyrs._core.operator import Operator, Startable
from pyrs.api import Subscriber
from pyrs.errors import SpecViolation

__all__ = ["Coordinator"]

R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Coordinator(DrainLoop, Startable, Generic[R]):
    """One Subscriber's subscription to an operator: its Subscription, and the lane on which it is signalled.

    Inputs, timers and requests come from any thread. They note what happened, in a thread-safe place, and call
    ``wake()``; or they ``post`` a handler with its argument. The lane runs posted handlers and then ``_advance()``, one
    at a time, on the thread that found it idle (or on the executor). Only there is the Subscriber signalled, so signals
    are serial (1.3), recursion is bounded (3.3), and no lock is held while a user's code runs.

    An operator says what it does in four places:

    * ``_begin()``: subscribe the inputs. Called once, after ``on_subscribe`` was handed on, outside the lane: what a
      synchronous source emits there is passed on at once.
    * ``_advance()``: look at everything there is to do; ``_emit`` while ``_demand()``; ``_complete`` or ``_fail``.
      Return when ``_live`` is false.
    * ``_release()``: cancel the inputs and timers, let go of buffers. Called once, on the lane, also after a cancel.
    * ``_requested_more(n)``: what more demand means; by default it wakes the lane. Called outside the lane.

    Whoever posts bounds what he posts: the line of handlers grows while the Subscriber is slow. Inputs whose elements
    are demanded in a bounded number are bounded by that.

    Rules: 1.1, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.13, 3.2, 3.3, 3.5, 3.6, 3.7, 3.8, 3.9, 3.12, 3.13, 3.15, 3.16,
    3.17.
    """

    __slots__ = (
        "_again",
        "_consumes",
        "_emitted",
        "_illegal",
        "_live",
        "_lock",
        "_operator",
        "_posted",
        "_released",
        "_requested",
        "_subscribed_in",
        "_subscriber",
    )

    def __init__(
        self,
        subscriber: Subscriber[R],
        operator: Operator[Any],
        execute: Callable[[Callable[[], None]], object] | None = None,
    ) -> None:
        super().__init__(execute)
        self._subscriber: Subscriber[R] | None = subscriber
        self._subscribed_in = capture()
        self._operator = operator
        self._consumes = isinstance(subscriber, IteratorConsumer)
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._requested = 0  # written by whoever requests, under the lock; a Python int has no bound to wrap at (3.17)
        self._emitted = 0  # written on the lane
        self._live = True  # neither cancelled nor ended
        self._illegal: SpecViolation | None = None
        self._posted: deque[tuple[Callable[[Any], object], Any]] = deque()
        self._again = False
        self._released = False

    # What an operator says.

    @abstractmethod
    def _begin(self) -> None:
        """Subscribe the inputs."""

    def _advance(self) -> None:
        """Do what there is to do, on the lane."""

    @abstractmethod
    def _release(self) -> None:
        """Cancel the inputs and timers and let go of buffers, on the lane."""

    def _requested_more(self, n: int) -> None:
        """Demand grew by n > 0. Called outside the lane, from any thread."""
        self.wake()

    # What the Subscriber may do.

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_count(n)
        with self._lock:
            if not self._live:
                return  # 3.6
            if n > 0:
                self._requested += n  # 3.8
            elif self._illegal is None:
                self._illegal = non_positive(n)  # 3.9, signalled on the lane (1.3)
        if n <= 0:
            bound(self.wake, self._subscribed_in)()
        elif self._subscribed_in is None:
            self._requested_more(n)
        else:  # what is signalled from here is signalled in the context of whoever subscribed
            self._subscribed_in.copy().run(self._requested_more, n)

    def cancel(self) -> None:
        with self._lock:
            if not self._live:
                return  # 3.7
            self._live = False
        self.wake_here()  # 3.5: where the lane is busy it sees it after the element it is at (1.8, 3.12)

    def __repr__(self) -> str:
        return f"<{self._operator.call} {'live' if self._live else 'over'}, {in_words(self._demand())}>"

    # For operators.

    def wake(self) -> None:
        """Have the lane look at everything once more, from any thread."""
        self._again = True
        try:
            self.schedule()
        except RuntimeError as error:  # the executor takes no more tasks
            if self._execute is None or isinstance(error, RecursionError):
                raise  # nobody refused: the stack is too small for what the lane ran
            self._refused(error)

    def wake_here(self) -> None:
        """As ``wake``, but on this thread unless the lane is busy: for what must not wait for an executor."""
        self._again = True
        self.run_here()

    def post(self, handler: Callable[[Any], object], argument: Any = None) -> None:
        """Have the lane call the handler with the argument, after those that were posted before, from any thread."""
        self._posted.append((handler, argument))
        self.wake()

    def pass_on(self, element: R) -> bool:
        """Signal the element at once if the lane is idle and it was demanded; return whether that was so."""
        turn = self._turn
        try:
            del turn[0]
        except IndexError:
            return False
        try:
            passes = self._live and self._requested > self._emitted and not self._posted and self._illegal is None
            if passes:
                self._emit(element)
        finally:
            turn.append(True)
        if self._again or not self._live:  # what came meanwhile found the lane busy
            self.run_here()
        return passes

    def _demand(self) -> int:
        return self._requested - self._emitted

    def _emit(self, element: R) -> None:
        """Signal an element that was demanded. On the lane."""
        self._emitted += 1
        subscriber = self._subscriber
        if subscriber is not None and self._live:  # 1.8
            try:
                subscriber.on_next(element)
            except BaseException as error:
                self._subscriber_raised(error, "on_next")

    def _emit_from(self, queue: deque[R], limit: int = maxsize) -> int:
        """Signal up to ``limit`` elements of the queue, as far as there is demand; return how many. On the lane."""
        subscriber = self._subscriber
        if subscriber is None:
            return 0
        on_next, take = subscriber.on_next, queue.popleft
        total = 0
        while queue and self._live:
            room = min(self._requested - self._emitted, len(queue), limit - total)
            if room <= 0:
                break
            count = 0
            if self._consumes and room > 1:
                # Each element leaves the queue as it is signalled.
                count = subscriber.consume(starmap(take, repeat((), room)), room)  # type: ignore[attr-defined]
                self._emitted += count
                total += count
                continue
            try:
                for count in range(1, room + 1):  # noqa: B007 - read in the end
                    on_next(take())
                    if not self._live:
                        break  # type: ignore[unreachable]  # 1.8: on_next may have cancelled
            except BaseException as error:
                self._subscriber_raised(error, "on_next")
            finally:
                self._emitted += count
                total += count
        return total

    def _emit_through(self, iterator: Iterator[R], limit: int, *, steady: bool) -> int:
        """Signal up to ``limit`` elements, which were demanded, straight from an iterator, and return how many.

        Fewer than ``limit`` means that the iterator is used up, or that the stream is over. What the iterator raises
        leaves this method; the stream has to end then, for the elements before may not have been counted. On the lane.

        Args:
            iterator: pulled element by element, as far as the Subscriber takes them.
            limit: at least 1, at most the demand.
            steady: whether the iterator cannot stall: elements in memory, no function of a user's.
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

    def _complete(self) -> None:
        """Signal ``on_complete``, unless the stream is over (1.5, 1.7). On the lane."""
        subscriber = self._end()
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self._subscriber_raised(error, "on_complete", subscriber)

    def _fail(self, error: BaseException) -> None:
        """Signal ``on_error``, unless the stream is over; then the error goes to the hook (1.4, 1.7). On the lane."""
        subscriber = self._end()
        if subscriber is not None:
            try:
                subscriber.on_error(error)
            except BaseException as raised:
                self._subscriber_raised(raised, "on_error", subscriber)
        elif not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream was over")

    def _raised(self, error: BaseException) -> None:
        """A function of the user's raised in this operator: the stream fails with that. On the lane."""
        self._operator.blame(error)
        self._fail(error)
        if hooks.is_exit(error):
            raise error

    def _drop(self, error: BaseException | None) -> None:
        """Tell the hook of an upstream's error, if there is one, that is not signalled because the stream is over."""
        if error is not None and not hooks.is_exit(error):
            hooks.on_error_dropped(error, f"{self._operator.call}: the stream was over")

    # What keeps the rules.

    def start(self) -> None:
        """Signal ``on_subscribe``, then begin. Called once."""
        subscriber = self._subscriber
        assert subscriber is not None
        self._turn.clear()  # nobody else knows of this lane yet; no signal may overtake this one
        try:
            subscriber.on_subscribe(self)  # 1.9
        except BaseException as error:
            self._subscriber_raised(error, "on_subscribe")
        finally:
            self._turn.append(True)
        if self._live:
            try:
                self._begin()
            except BaseException as error:
                self.post(self._fail, error)
                if hooks.is_exit(error):
                    raise
        self.wake()

    def _has_work(self) -> bool:
        return self._again

    def _work(self) -> None:
        self._again = False
        posted = self._posted
        try:
            if self._illegal is not None and self._live:
                self._fail(self._illegal)
            while posted and self._live:
                handler, argument = posted.popleft()
                handler(argument)
            if self._live:
                self._advance()
        except BaseException as error:
            self._fail(error)
            if hooks.is_exit(error):
                raise
        finally:
            if not self._live:
                self._let_go()

    def _end(self) -> Subscriber[R] | None:
        """Make the Subscription count as cancelled (1.6); return the Subscriber if it was live until now (1.7)."""
        with self._lock:
            if not self._live:
                return None
            self._live = False
        subscriber = self._subscriber
        self._let_go()  # upstream is cancelled by the time that the end is seen
        return subscriber

    def _let_go(self) -> None:
        """Drop every reference (3.13). On the lane."""
        self._subscriber = None
        while self._posted:
            handler, argument = self._posted.popleft()
            if handler == self._fail and not hooks.is_exit(argument):
                hooks.on_error_dropped(argument, f"{self._operator.call}: the stream was over")
        if not self._released:
            self._released = True
            self._release()

    def _subscriber_raised(self, error: BaseException, signal: str, subscriber: Subscriber[R] | None = None) -> None:
        """The Subscriber broke 2.13: its Subscription counts as cancelled, and the hook is told, never the Subscriber.

        Raises:
            BaseException: the error itself, if it is an interrupt or an exit.
        """
        who = self._end() or subscriber
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(who).__name__}" if who else signal)

    def _refused(self, error: RuntimeError) -> None:
        """The executor is closed. The Subscriber hears of it on this thread: better there than never."""
        self._execute = None
        if self._live:
            self.post(self._fail, error)
        else:
            self.wake_here()
