"""A synchronous operator: what it does to an iterator, and what it does to elements that are pushed.

Most operators are an ``ElementStage`` (one element in, at most one out) or a ``FoldStage`` (all elements in, one out at
the end) and say what they do once. One that has to say more is a ``Stage`` with a ``StageRun``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, NoReturn

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, non_positive
from pyrs._core.sites import Site, blame
from pyrs.errors import NonPositiveRequest

if TYPE_CHECKING:
    from pyrs._core.fusion import Chain, Gauge

__all__ = ["DROP", "END", "ElementStage", "FoldStage", "GatherRun", "PushedStage", "Stage", "StageRun", "TailRun"]


class _Verdict:
    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return self._name


DROP: Final = _Verdict("DROP")
"""What the function of an ``ElementStage`` returns for an element that does not pass."""

END: Final = _Verdict("END")
"""What it returns to complete the stream in place of the element."""


class Stage(ABC):
    """One synchronous operator.

    Attributes:
        calls_user_code: whether a function of the user's runs in it.
        fuses: whether ``over`` says all there is; if not, the stage only takes elements that are pushed.
        one_to_one: whether it gives one element for each that it takes, neither less nor more.
        stateless: whether ``over`` may be called twice for one chain: for the first element, and for the rest.
        looks_at_first: whether ``over_first`` does more than ``over``: ``stateless`` then, too.
        site: the line of user code that assembled it.
    """

    calls_user_code = True
    one_to_one = False
    stateless = False
    looks_at_first = False
    fuses = True
    site: Site | None = None

    @abstractmethod
    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """Return the iterator of this stage's output. It must pull no more than the element asked for needs."""

    def over_first(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """Return the iterator of what it gives for the first element, the only one there is in ``iterator``.

        Here is the place for what needs to be seen once, and would cost each element otherwise.
        """
        return self.over(iterator, whole)

    @abstractmethod
    def run(self) -> StageRun:
        """Return this stage's state in one subscription to an asynchronous Publisher."""

    @abstractmethod
    def __repr__(self) -> str:
        """Say what the user wrote, such as ``map(str)``."""

    def functions(self) -> tuple[object, ...]:
        """The user's functions that ``over`` gives to a built-in iterator, which leaves no frame in a traceback."""
        return ()

    def blame(self, error: BaseException) -> None:
        """Note on the error that it arose here."""
        blame(error, repr(self), self.site)

    def passed_by(self, error: BaseException) -> None:  # noqa: B027 - only a checkpoint has something to say
        """An error of the iterator chain goes by. One that is pushed comes by ``StageRun.on_error``."""


class StageRun(ABC):
    """One stage's part in one subscription.

    Linked before the first signal: ``emit``, ``complete`` and ``fail`` hand a signal on towards the Subscriber,
    ``ask`` hands demand on towards the Publisher, and ``finish`` ends the stream well from here: upstream is cancelled,
    downstream completes. ``simplify``, which only those have whose ``plain`` is not None, puts another function in the
    place of that one, from the next element on.

    Attributes:
        sees_elements: whether ``on_next`` does anything with an element; if not, elements go past this stage.
    """

    __slots__ = ("ask", "complete", "emit", "fail", "finish", "simplify")

    sees_elements = True

    emit: Callable[[Any], None]
    complete: Callable[[], None]
    fail: Callable[[BaseException], None]
    ask: Callable[[int], None]
    finish: Callable[[], None]
    simplify: Callable[[Callable[[Any], Any]], None]

    def plain(self) -> tuple[bool, Callable[[Any], Any]] | None:
        """Return what ``on_next`` does, if that is no more than one call: the driver makes it without a frame for it.

        (False, function): emits what the function returns. (True, predicate): emits the element if that is true, and
        calls ``skip`` if not. Asked once; None, as here, has every element pass through ``on_next``.
        """
        return None

    def skip(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """The predicate of ``plain`` was false."""

    def on_subscribe(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Called once, before ``on_subscribe`` is handed on. What this raises is signalled after that."""

    def begin(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Called once, after ``on_subscribe`` was handed on."""

    @abstractmethod
    def on_next(self, element: Any) -> None:
        """Take an element. What this raises is signalled downstream, and upstream is cancelled."""

    def on_complete(self) -> None:
        """Upstream completed."""
        self.complete()

    def on_error(self, error: BaseException) -> None:
        """Upstream failed, or a stage before this one did."""
        self.fail(error)

    def on_cancel(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Downstream cancelled, or a stage behind this one ended the stream. Called once at most; must not raise.

        It comes before upstream is cancelled. It may come after this stage has told of the end, where one behind it
        holds elements back, and from another thread at the same time.
        """

    def let_go(self) -> None:  # noqa: B027 - most stages hold nothing
        """Nothing may be emitted any more: drop what is held (3.13).

        Called when upstream was cancelled and after the end was signalled, so it may come twice; and from any thread,
        also while ``on_next`` runs, which has to stand that.
        """

    def request(self, n: int) -> None:
        """Take demand, from any thread. n <= 0 is handed on as it is: the source answers it (3.9), serially."""
        self.ask(n)


class PushedStage(Stage):
    """A stage that has to see demand, cancels or errors: it takes elements that are pushed, and is never fused."""

    fuses = False

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> NoReturn:
        """Never called."""
        raise AssertionError(f"{self!r} is not fused")


class ElementStage(Stage):
    """One element in, at most one out, and nothing at the end."""

    @abstractmethod
    def begin(self) -> Callable[[Any], Any]:
        """Return the function of one subscription: from an element to what becomes of it, ``DROP`` or ``END``."""

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        function = self.begin()
        for element in iterator:
            try:
                result = function(element)
            except BaseException:
                whole.raised_in(self)
                raise
            if result is END:
                whole.ended = True
                return
            if result is not DROP:
                yield result

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _ElementRun(self.begin())


class _ElementRun(StageRun):
    __slots__ = ("_function", "_unbounded")

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._unbounded = False

    def let_go(self) -> None:
        self._function = _dropped

    def on_next(self, element: Any) -> None:
        result = self._function(element)
        if result is DROP:
            if not self._unbounded:
                self.ask(1)  # its demand was not used up by the Subscriber
        elif result is END:
            self.finish()
        else:
            self.emit(result)

    def request(self, n: int) -> None:
        if n >= UNBOUNDED:
            self._unbounded = True
        self.ask(n)


def _dropped(*_: Any) -> Any:
    """Stand for a function that has gathered something, which goes with it."""
    return DROP


class TailRun(StageRun):
    """A run that may emit elements after its source has ended, each as soon as it is demanded.

    A subclass emits through ``pass_on``, which counts, and ends through ``end_with``.
    """

    __slots__ = ("_draining", "_emitted", "_ending", "_error", "_gone", "_illegal", "_lock", "_requested", "_tail")

    def __init__(self) -> None:
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._requested = 0
        self._emitted = 0
        self._illegal = 1  # an n <= 0 that was requested
        self._tail: deque[Any] = deque()
        self._error: BaseException | None = None
        self._ending = False
        self._draining = False  # one thread emits the tail, the others leave it their demand (1.3, 3.3)
        self._gone = False

    def pass_on(self, element: Any) -> None:
        """Emit an element of the source's."""
        self._emitted += 1
        self.emit(element)

    def end_with(self, *elements: Any, error: BaseException | None = None) -> None:
        """Emit these elements as they are demanded, then complete or fail. The source must have ended."""
        with self._lock:
            over = self._gone
            if not over:
                self._tail.extend(elements)
                self._error = error
                self._ending = True
        if not over:
            self._drain()
        elif error is not None and not hooks.is_exit(error):
            hooks.on_error_dropped(error, "the stream was over")

    def request(self, n: int) -> None:
        with self._lock:
            if n > 0:
                self._requested += n
            else:
                self._illegal = n
            ending = self._ending
        if ending:
            self._drain()
        elif n > 0:
            self.ask_more(n)
        else:
            self.ask(n)

    def ask_more(self, n: int) -> None:
        """Demand grew by n > 0, and the source has not ended."""
        self.ask(n)

    def let_go(self) -> None:
        with self._lock:
            self._gone = True
            tail, self._tail = self._tail, deque()
            error, self._error = self._error, None
        tail.clear()  # not under the lock: elements may have finalizers
        if error is not None and not hooks.is_exit(error):
            hooks.on_error_dropped(error, "the stream was over")

    def _drain(self) -> None:
        with self._lock:
            if self._draining:
                return
            self._draining = True
        while True:
            with self._lock:
                if self._gone:
                    return  # the flag stays up, here and at the end
                if self._illegal <= 0:  # 3.9: the source has ended, so that the answer comes from here (1.3)
                    error, self._error = self._error, None
                    if not isinstance(error, NonPositiveRequest):
                        error = non_positive(self._illegal)
                    break
                tail = self._tail
                if tail and self._requested <= self._emitted:
                    self._draining = False
                    return
                if not tail:
                    error, self._error = self._error, None
                    break
                element = tail.popleft()
            self._emitted += 1
            self.emit(element)
        if error is None:
            self.complete()
        else:
            self.fail(error)


class GatherRun(TailRun):
    """A run that needs all elements before it emits one: it requests everything as soon as anything is demanded."""

    __slots__ = ("_asked",)

    def __init__(self) -> None:
        super().__init__()
        self._asked = False

    def ask_more(self, n: int) -> None:
        with self._lock:
            asked, self._asked = self._asked, True
        if not asked:
            self.ask(UNBOUNDED)


class FoldStage(Stage):
    """All elements in, one out at the end. Requests everything; holds what it folds to."""

    @abstractmethod
    def begin(self) -> tuple[Callable[[Any], object], Callable[[], Any]]:
        """Return two functions of one subscription: what to do with each element, and what the result is."""

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        return self._folded(iterator, whole, whole.hold_back(), *self.begin())

    def _folded(
        self,
        iterator: Iterator[Any],
        whole: Chain[Any],
        gauge: Gauge,
        step: Callable[[Any], object],
        result: Callable[[], Any],
    ) -> Iterator[Any]:
        for element in iterator:
            try:
                step(element)
            except BaseException:
                whole.raised_in(self)
                raise
        whole.check_end()  # before the result of half the elements is taken for that of all
        try:
            last = result()
        except BaseException:
            whole.raised_in(self)
            raise
        gauge.used_up = True
        yield last

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _FoldRun(*self.begin())


class _FoldRun(GatherRun):
    __slots__ = ("_result", "_step")

    def __init__(self, step: Callable[[Any], object], result: Callable[[], Any]) -> None:
        super().__init__()
        self._step = step
        self._result = result

    def on_next(self, element: Any) -> None:
        self._step(element)

    def on_complete(self) -> None:
        result = self._result()
        self._forget()
        self.end_with(result)

    def let_go(self) -> None:
        super().let_go()
        self._forget()

    def _forget(self) -> None:
        self._step = self._result = _dropped
