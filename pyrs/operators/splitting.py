"""What windows and groups have in common: one upstream, dispatched out to streams that come and go."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from threading import RLock
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import in_context
from pyrs._core.coordinator import Coordinator
from pyrs._core.downstream import checked_subscriber
from pyrs._core.inputs import Input
from pyrs._core.operator import Operator
from pyrs._core.source import InertSubscription
from pyrs.api import Publisher, Subscriber
from pyrs.errors import NullSignal
from pyrs.schedulers.threads import default

__all__ = ["Dispatcher", "Handle", "Part", "SplitRun"]


class Part(Operator[Any]):
    """A stream that a dispatcher feeds: a window, or a group. It has one Subscriber in its life.

    Attributes:
        elements: what was dispatched and not signalled yet.
        dispatched: how many elements were dispatched.
        closed: whether no more will be dispatched; after that ``error`` says how it ended.
        left: whether nobody listens any more, or ever can: what is dispatched is dropped.
        given_away: whether somebody has subscribed.
    """

    def __init__(self, dispatcher: Dispatcher, call: str) -> None:
        # Not super().__init__, which looks for the line of user code: that is the operator's.
        self.source = None
        self.call = call
        self.site = dispatcher.operator.site
        self.dispatcher = dispatcher
        self.elements: deque[Any] = deque()
        self.dispatched = 0
        self.closed = False
        self.error: BaseException | None = None
        self.left = False
        self.listener: _PartRun | None = None
        self.given_away = False

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        # Upstream's signals come in the context of the Subscriber behind, which may be another one.
        subscriber = in_context(checked_subscriber(subscriber))
        with self.dispatcher.lock:
            again, self.given_away = self.given_away, True
        if again:
            InertSubscription(subscriber, RuntimeError(f"{self.call} can be subscribed to once")).start()
        else:
            self.run(subscriber).start()

    def run(self, subscriber: Subscriber[Any]) -> _PartRun:
        return _PartRun(subscriber, self)

    def dispatch(self, element: Any) -> bool:
        """Add an element, unless the part was left; return whether that was so. Under the dispatcher's lock."""
        self.dispatched += 1
        if self.left:
            return False
        self.elements.append(element)
        return True

    def wake(self) -> None:
        """Have what was dispatched signalled as far as it is demanded. Without the lock."""
        listener = self.listener
        if listener is not None:
            listener.wake()


class Handle(Publisher[Any]):
    """A part as it is handed out: what operators upon it hold, and the dispatcher does not.

    Whoever is handed a part may subscribe later, or never: an operator that held it may have been cancelled. When
    nobody has the handle any more, nobody can subscribe, nor cancel.
    """

    carries_context = True

    def __init__(self, part: Part) -> None:
        self.part: Any = part  # or the subclass that its operator makes

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        self.part.subscribe(subscriber)

    def __repr__(self) -> str:
        return repr(self.part)

    def __del__(self) -> None:
        part = self.part
        if not part.given_away:
            part.dispatcher.abandon(part)


class _PartRun(Coordinator[Any]):
    def __init__(self, subscriber: Subscriber[Any], part: Part) -> None:
        super().__init__(subscriber, part)
        self._part = part

    def _begin(self) -> None:
        self._part.listener = self  # not before on_subscribe was handed on (1.9)

    def _advance(self) -> None:
        part = self._part
        closed = part.closed  # read before the elements: what was dispatched before it is there
        taken = self._emit_from(part.elements)
        if taken:
            part.dispatcher.taken(part, taken)
        if closed and not part.elements and self._live:
            if part.error is None:
                self._complete()
            else:
                part.dispatcher.told()
                self._fail(part.error)

    def _release(self) -> None:
        self._part.listener = None
        self._part.dispatcher.leave(self._part)


class Dispatcher(Input[Any]):
    """The Subscriber of the upstream: deals elements out to parts, and hands new parts to the Subscriber behind.

    Signals of upstream, demand and cancels of the Subscriber behind and of those of the parts, and timers meet here.
    The lock guards which parts are there and what is in them; no code of the user's runs under it, and no element is
    let go of, for that runs finalizers.

    The Subscriber behind may cancel while parts go on: upstream is cancelled when the last of them is over, or can be
    read by nobody.

    Args:
        operator: the operator.
        subscriber: the Subscriber behind.
        wrap: makes of the handle of a part what that Subscriber is given.
    """

    def __init__(
        self, operator: Operator[Any], subscriber: Subscriber[Any], wrap: Callable[[Handle], Publisher[Any]]
    ) -> None:
        super().__init__()
        self.operator = operator
        self.lock = RLock()  # may be taken again by its thread: a finalizer, run by the collector, may cancel
        self.behind = SplitRun(subscriber, operator, self)
        self.gone = False  # the Subscriber behind cancelled, or was told the end
        self._open_count = 0  # parts that are dispatched to and that nobody left; under the lock
        self._untold: BaseException | None = None  # upstream's error, until somebody is told
        self._ending: list[Part] = []  # those that are to be told
        self._dispatching = False  # upstream is in on_next, and will look what has become due
        self._wrap = wrap

    # What a way to split says. All but the first and the last are called under the lock.

    @abstractmethod
    def _dispatch(self, element: Any) -> Iterable[Part]:
        """Deal the element out and return the parts that are to be woken. Not under the lock."""

    @abstractmethod
    def _open_parts(self) -> Iterable[Part]:
        """Return the parts that are dispatched to, those too that were left."""

    def _more(self) -> int:
        """Return how many elements to request now, and count them as requested."""
        return 0

    def _on_demand(self, n: int) -> Part | None:
        """The Subscriber behind wants n parts more; return one that is to be woken."""

    def _on_taken(self, part: Part, n: int) -> None:
        """So many elements of a part were signalled."""

    def _on_left(self, part: Part, n: int) -> None:
        """An open part was left by who listened, and so many elements in it were dropped."""

    def _on_unread(self, part: Part, n: int) -> None:
        """An open part can be read by nobody, and so many elements in it were dropped."""

    def _stop(self) -> None:
        """It is over: let go of timers. May be called more than once, and not under the lock."""

    # For those.

    def _open(self, part: Part) -> None:
        """Hand a new part to the Subscriber behind. Under the lock; wake ``behind`` afterwards."""
        self._open_count += 1
        stream = self._wrap(Handle(part))  # first: a finalizer that cancels puts another line in the place of this one
        self.behind.ready.append(stream)

    def _close_part(self, part: Part) -> None:
        """Deal no more to the part. Under the lock; wake it afterwards."""
        self._open_count -= not (part.closed or part.left)
        part.closed = True

    def _settle(self) -> None:
        """Do what may have become due. Not under the lock."""
        with self.lock:
            over = self.gone and not self._open_count
            more = 0 if over else self._more()
        if over:
            self.cancel()
            self._stop()
        elif more:
            self.request(more)

    # From upstream.

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")
        if self._closed:
            return
        self._dispatching = True
        try:
            self._dispatch_all(element)
        finally:
            self._dispatching = False  # before the last look: who leaves it to that has counted before
        self._settle()

    def _dispatch_all(self, element: Any) -> None:
        try:
            parts = self._dispatch(element)
        except BaseException as error:
            self.operator.blame(error)
            if not self._fail(error):
                self.behind._drop(error)
            if hooks.is_exit(error):
                raise
            return
        if self.behind.ready:
            if self.gone:
                self.let_go()  # a finalizer cancelled in the middle of _dispatch
            else:
                self.behind.wake()
        for part in parts:
            part.wake()

    def _fail(self, error: BaseException) -> bool:
        """Cancel upstream and end with the error, unless it is over; return whether that was so."""
        with self._guard:
            over, self._closed = self._closed, True
        if not over:
            self.cancel()
            self._end(error)
        return not over

    def _end(self, error: BaseException | None) -> None:
        with self.lock:
            parts = list(self._open_parts())
            for part in parts:
                part.error = error
                self._close_part(part)
            self._untold, self._ending = error, parts
        self._stop()
        self.behind.error = error
        self.behind.ended = True
        for part in parts:
            part.wake()
        self.behind.wake()
        self._report()

    def told(self) -> None:
        """Somebody is told upstream's error."""
        with self.lock:
            self._untold = None

    def _report(self) -> None:
        """Tell the hook of upstream's error when all are gone who were to be told it, and nobody was."""
        with self.lock:
            error = self._untold
            if error is None or not self.gone or not all(part.left or part.listener is None for part in self._ending):
                return
            self._untold = None
        self.behind._drop(error)

    # From downstream.

    def demanded(self, n: int) -> None:
        """The Subscriber behind wants n parts more."""
        with self.lock:
            part = self._on_demand(n)
        if part is not None:
            part.wake()
        self._settle()

    def taken(self, part: Part, n: int) -> None:
        """So many elements of a part were signalled."""
        with self.lock:
            self._on_taken(part, n)
        self._settle()

    def leave(self, part: Part) -> None:
        """Nobody listens to the part any more."""
        self._drop(part, self._on_left)
        self._settle()
        self._report()

    def abandon(self, part: Part) -> None:
        """Nobody has read the part, nor can. This comes from a finalizer: anywhere, under anybody's locks.

        So it counts, and cancels, which is light (3.15). What may run code of the user's, such as asking a source for
        more, is for upstream, if it is just here, and else for a thread of the default pool.
        """
        self._drop(part, self._on_unread)
        with self.lock:
            over = self.gone and not self._open_count
            more = 0 if over or self._dispatching else self._more()
            untold = self.gone and self._untold is not None
        if over:
            self.cancel()
            self._stop()
        if more or untold:
            try:
                default().execute(partial(self._catch_up, more))
            except RuntimeError:
                pass  # the interpreter exits

    def _catch_up(self, more: int) -> None:
        if more:
            self.request(more)
        self._report()

    def _drop(self, part: Part, told: Callable[[Part, int], None]) -> None:
        with self.lock:
            was_open = not (part.left or part.closed)
            part.left = True
            self._open_count -= was_open
            elements, part.elements = part.elements, deque()
            if was_open:
                told(part, len(elements))
        elements.clear()  # not under the lock: they may have finalizers

    def let_go(self) -> None:
        """The Subscriber behind is gone. Parts that it was given go on."""
        with self.lock:
            self.gone = True
            never_given, self.behind.ready = self.behind.ready, deque()
        for each in never_given:
            self.leave(each.source.part)
        self._settle()
        self._report()


class SplitRun(Coordinator[Any]):
    """The lane of the Subscriber that is given the parts."""

    def __init__(self, subscriber: Subscriber[Any], operator: Operator[Any], dispatcher: Dispatcher) -> None:
        super().__init__(subscriber, operator)
        self._dispatcher = dispatcher
        self.ready: deque[Any] = deque()
        self.ended = False
        self.error: BaseException | None = None

    def _begin(self) -> None:
        source = self._operator.source
        assert source is not None
        self._dispatcher.subscribe_to(source)

    def _requested_more(self, n: int) -> None:
        self._dispatcher.demanded(n)
        self.wake()

    def _advance(self) -> None:
        ended = self.ended  # read before the parts: what was opened before it is there
        self._emit_from(self.ready)
        if ended and not self.ready and self._live:
            if self.error is None:
                self._complete()
            else:
                self._dispatcher.told()
                self._fail(self.error)

    def _release(self) -> None:
        self._dispatcher.let_go()
