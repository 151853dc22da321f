"""A synchronous operator: what it does to an iterator, and what it does to elements that are pushed.

Most operators are an ``ElementStage`` (one element in, at most one out) or a ``FoldStage`` (all elements in, one out at
the end) and say what they do once. One that has to say more is a ``Stage`` with a ``StageRun``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from pyrs._core.demand import UNBOUNDED
from pyrs._core.sites import Site, add_note

if TYPE_CHECKING:
    from pyrs._core.fusion import Chain

__all__ = ["DROP", "END", "ElementStage", "FoldStage", "Stage", "StageRun", "TailRun"]


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
        site: the line of user code that assembled it.
    """

    calls_user_code = True
    fuses = True
    site: Site | None = None

    @abstractmethod
    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """Return the iterator of this stage's output. It must pull no more than the element asked for needs."""

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
        add_note(error, f"in {self!r}" + (f", assembled at {self.site}" if self.site else ""))

    def passed_by(self, error: BaseException) -> None:  # noqa: B027 - only a checkpoint has something to say
        """An error from upstream goes by."""


class StageRun(ABC):
    """One stage's part in one subscription.

    Linked before the first signal: ``emit``, ``complete`` and ``fail`` hand a signal on towards the Subscriber,
    ``ask`` hands demand on towards the Publisher, and ``finish`` ends the stream well from here: upstream is cancelled,
    downstream completes.
    """

    __slots__ = ("ask", "complete", "emit", "fail", "finish")

    emit: Callable[[Any], None]
    complete: Callable[[], None]
    fail: Callable[[BaseException], None]
    ask: Callable[[int], None]
    finish: Callable[[], None]

    def on_subscribe(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Called once, before ``on_subscribe`` is handed on."""

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
        """Downstream cancelled, or a stage behind this one ended the stream. Called once at most."""

    def request(self, n: int) -> None:
        """Take demand, from any thread. n <= 0 is handed on as it is: the source answers it (3.9), serially."""
        self.ask(n)


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
            except BaseException as error:
                self.blame(error)
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


class TailRun(StageRun):
    """A run that may emit one element after its source has ended, as soon as it is demanded.

    A subclass emits through ``pass_on``, which counts, and ends through ``end_with``.
    """

    __slots__ = ("_emitted", "_lock", "_requested", "_tail")

    def __init__(self) -> None:
        self._lock = Lock()
        self._requested = 0
        self._emitted = 0
        self._tail: tuple[Any, ...] = ()

    def pass_on(self, element: Any) -> None:
        """Emit an element of the source's."""
        self._emitted += 1
        self.emit(element)

    def end_with(self, element: Any) -> None:
        """Emit this last element once it is demanded, then complete. The source must have ended."""
        with self._lock:
            if self._requested <= self._emitted:
                self._tail = (element,)
                return
        self.emit(element)
        self.complete()

    def request(self, n: int) -> None:
        if n > 0:
            with self._lock:
                self._requested += n
                tail, self._tail = self._tail, ()
            if tail:
                self.emit(tail[0])
                self.complete()
                return
        self.ask(n)


class FoldStage(Stage):
    """All elements in, one out at the end. Requests everything; holds what it folds to."""

    @abstractmethod
    def begin(self) -> tuple[Callable[[Any], object], Callable[[], Any]]:
        """Return two functions of one subscription: what to do with each element, and what the result is."""

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """See ``Stage``."""
        step, result = self.begin()
        whole.hold_back()
        return self._folded(iterator, whole, step, result)

    def _folded(
        self, iterator: Iterator[Any], whole: Chain[Any], step: Callable[[Any], object], result: Callable[[], Any]
    ) -> Iterator[Any]:
        for element in iterator:
            try:
                step(element)
            except BaseException as error:
                self.blame(error)
                raise
        whole.check_end()  # before the result of half the elements is taken for that of all
        try:
            last = result()
        except BaseException as error:
            self.blame(error)
            raise
        yield last

    def run(self) -> StageRun:
        """See ``Stage``."""
        return _FoldRun(*self.begin())


class _FoldRun(TailRun):
    __slots__ = ("_asked", "_result", "_step")

    def __init__(self, step: Callable[[Any], object], result: Callable[[], Any]) -> None:
        super().__init__()
        self._step = step
        self._result = result
        self._asked = False

    def on_next(self, element: Any) -> None:
        self._step(element)

    def on_complete(self) -> None:
        self.end_with(self._result())

    def request(self, n: int) -> None:
        if n <= 0:
            self.ask(n)
            return
        with self._lock:
            self._requested += n
            asked, self._asked = self._asked, True
            tail, self._tail = self._tail, ()
        if tail:
            self.emit(tail[0])
            self.complete()
        elif not asked:
            self.ask(UNBOUNDED)
