"""Synchronous operators, for an iterator and for pushed elements.

Most operators are an ``ElementStage`` (one element in, at most one out) or a ``FoldStage`` (all elements in, one out at
the end) and implement their behaviour once, for both. Any other one is a ``Stage`` with a ``StageRun``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from threading import RLock
from typing import Any, ClassVar, Final

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED, non_positive
from pyrs._core.display import LazyText, name_of
from pyrs._core.drain import DrainLoop
from pyrs._core.fusion import Chain, LengthHint
from pyrs._core.sites import Site, blame
from pyrs._core.validation import checked_callable
from pyrs.errors import NoElement, NonPositiveRequest

DROP: Final = object()
"""The result of an ``ElementStage``'s function for an element to drop."""

END: Final = object()
"""The result that completes the stream instead of emitting the element."""

MAP: Final = 0
"""The function of a plain run returns the element to emit."""

SELECT: Final = 1
"""The function of a plain run returns whether to emit the element."""

STEP: Final = 2
"""The function of a plain run returns the element to emit, ``DROP`` or ``END``."""

Fold = tuple[Callable[[Any], object], Callable[[], Any]]
"""The functions of one subscription to a ``FoldStage``: one takes elements, one returns the result."""


class Stage(ABC):
    """One synchronous operator.

    Attributes:
        calls_user_code: whether the stage calls a function of the user.
        passes_function: whether ``over`` passes ``function`` to an iterator written in C.
        is_mapping: whether the stage replaces each element by the result of that function, as ``map`` does.
        fuses: whether ``over`` implements the stage. If not, the stage only takes pushed elements.
        emits_if_empty: whether ``pull`` yields an element even if the source is empty.
        call: the user's call, such as ``buffer(3)``; a ``LazyText`` if it shows a value of the user. A stage that is
            often assembled overrides ``__repr__`` instead, which costs nothing before it is called.
        site: the line of user code that assembled the stage.
        saved: the variables that contain the state between two elements (see ``saving``); None if it cannot be saved.
        run_type: the class of the stage's run; its only argument is the stage.
    """

    calls_user_code = True
    passes_function = False
    is_mapping = False
    fuses = True
    emits_if_empty = False
    saved: tuple[str, ...] | None = None
    call: str | LazyText
    function: Callable[..., Any]
    site: Site | None = None
    run_type: ClassVar[type[Any]]

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        """Return an iterator over the output; by default, that of ``pull``.

        It pulls only the elements that the next element of the output needs.
        """
        return self.pull(iterator, whole, whole.hold_back(self.emits_if_empty))

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        """Yield the elements of the output, also those after the end of the source."""
        raise NotImplementedError

    def run(self) -> StageRun:
        """Return this stage's state in one subscription, for pushed elements."""
        run: StageRun = self.run_type(self)
        return run

    def __repr__(self) -> str:
        return str(self.call)

    def functions(self) -> tuple[object, ...]:
        """Return the functions that ``over`` passes to an iterator written in C."""
        return (self.function,) if self.passes_function else ()

    def blame(self, error: BaseException) -> None:
        """Add a note that names this stage to an error that it raised."""
        blame(error, repr(self), self.site)

    def on_chain_error(self, error: BaseException) -> None:  # noqa: B027 - only a checkpoint reacts
        """React to an error of a fused chain; see ``StageRun.on_error``."""


class StageRun(ABC):
    """The state of one stage in one subscription.

    The chain links a run before the first signal. ``emit``, ``complete`` and ``fail`` forward a signal towards the
    Subscriber, ``request_upstream`` forwards demand towards the Publisher, and ``finish`` ends the stream from here: it
    cancels upstream and completes downstream. ``discard`` takes each element that the run drops, and ``discard_all``
    empties a buffer. The chain itself discards an element that the function of ``plain`` drops or raises for.

    Attributes:
        sees_elements: whether the stage processes elements. If not, they bypass it.
        request_may_raise: whether ``request`` may raise an error other than those of the stages before this one.
    """

    sees_elements = True
    request_may_raise = False

    emit: Callable[[Any], None]
    complete: Callable[[], None]
    fail: Callable[[BaseException], None]
    request_upstream: Callable[[int], None]
    finish: Callable[[], None]
    discard: Callable[[Any], None]
    discard_all: Callable[[deque[Any] | list[Any] | set[Any]], None]

    def begin_discarding(self) -> None:  # noqa: B027 - most stages always discard
        """Discard dropped elements from now on.

        Called before the first signal if any function receives dropped elements. A stage that drops most elements
        overrides this method, so that it calls ``discard`` only if there is such a function.
        """

    def plain(self) -> tuple[int, Callable[[Any], Any]] | None:
        """Return the kind (``MAP``, ``SELECT``, ``STEP``) and the stage's function.

        The chain calls the function itself, which saves a frame for each element. For a dropped element it calls
        ``skip``. If this returns None, the chain calls ``on_next``.
        """
        return None

    def skip(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """React to an element that the function of ``plain`` dropped."""

    def on_subscribe(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Prepare before ``on_subscribe``; an exception is signalled after it."""

    def begin(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """Begin, once, after ``on_subscribe`` was forwarded."""

    def on_next(self, element: Any) -> None:
        """Process an element; an exception fails the stream.

        Called only if ``plain`` returns None.
        """
        raise NotImplementedError

    def on_complete(self) -> None:
        """Handle the completion of upstream."""
        self.complete()

    def on_error(self, error: BaseException) -> None:
        """Handle the failure of upstream, or of a stage before this one."""
        self.fail(error)

    def on_cancel(self) -> None:  # noqa: B027 - most stages have nothing to do there
        """React, once and without raising, to a cancel or to the end of a later stage.

        It runs before upstream is cancelled. It may run after this stage forwarded a terminal signal that a later
        stage delays, and concurrently with that signal.
        """

    def release(self) -> None:  # noqa: B027 - most stages buffer nothing
        """Release buffered elements, because nothing may be emitted any more (§3.13).

        It runs after upstream was cancelled and after the terminal signal, so it may run twice, from any thread, and
        while ``on_next`` runs.
        """

    def request(self, n: int) -> None:
        """Handle demand, on any thread; the source answers an illegal n (§3.9)."""
        self.request_upstream(n)

    def unlink(self, discards: hooks.Discards) -> None:
        """Drop the references to the chain, after the last ``release``.

        Called from any thread, and possibly while ``on_next`` runs.
        """
        self.emit = self.discard = partial(hooks.discard, discards)
        self.discard_all = partial(hooks.discard_all, discards)
        self.complete = self.finish = self.request_upstream = ignored
        self.fail = hooks.report_late
        self.__dict__.pop("on_next", None)  # a method of this run, chosen by ``begin_discarding``


class FunctionStage(Stage):
    """A stage whose only argument is a function, such as ``map(function)``."""

    name: str
    parameter = "function"

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = checked_callable(function, self.parameter)

    def __repr__(self) -> str:
        return f"{self.name}({name_of(self.function)})"


class PushedStage(Stage):
    """A stage that reacts to a request, a cancel or an error, and is never fused."""

    fuses = False


class ElementStage(Stage):
    """A stage that emits at most one element per element, and nothing at the end."""

    @abstractmethod
    def begin(self) -> Callable[[Any], Any]:
        """Return the function that processes the elements of one subscription.

        It maps an element to a result, ``DROP`` or ``END``.
        """

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
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
        return SelectingRun(STEP, self.begin())


class PlainRun(StageRun):
    """A run that consists of the function that ``plain`` returns."""

    def __init__(self, kind: int, function: Callable[[Any], Any]) -> None:
        self._plain = kind, function

    def plain(self) -> tuple[int, Callable[[Any], Any]]:
        return self._plain

    def release(self) -> None:
        self._plain = STEP, dropped


class DroppingRun(StageRun):
    """A run that may drop elements, and requests one more for each."""

    _unbounded = False

    def skip(self) -> None:
        if not self._unbounded:
            self.request_upstream(1)  # replaces the demand that the dropped element used

    def request(self, n: int) -> None:
        if n >= UNBOUNDED:
            self._unbounded = True
        self.request_upstream(n)


class SelectingRun(PlainRun, DroppingRun):
    """A run that consists of a function, which may drop elements."""


def ignored(*_: object) -> None:
    """Do nothing, in place of a signal or request that must have no effect any more."""


def dropped(*_: Any) -> Any:
    """Return ``DROP``, in place of a function whose state must be released."""
    return DROP


class TailRun(DrainLoop, StageRun):
    """A run that emits elements as they are demanded, also after its source ended.

    A subclass emits through ``forward``, which counts the elements, or puts elements into ``_tail`` and wakes the drain
    loop. It ends through ``end_with``.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lock = RLock()  # reentrant: the collector may run a finalizer that cancels
        self._requested = 0
        self._emitted = 0
        self._illegal = 1  # the n <= 0 that was requested; 1 if none was
        self._tail: deque[Any] = deque()
        self._error: BaseException | None = None
        self._source_ended = False
        self._over = False

    def forward(self, element: Any) -> None:
        """Emit an element of the source."""
        self._emitted += 1
        self.emit(element)

    def drop(self, element: Any, /) -> None:
        """Discard an element of ``end_with`` that was not emitted.

        A subclass whose ``end_with`` elements are not elements of upstream replaces this method by ``ignored``.
        """
        self.discard(element)

    def end_with(self, *elements: Any, error: BaseException | None = None) -> None:
        """Emit these elements after the source's end, then complete or fail."""
        with self._lock:
            over = self._over
            if not over:
                self._tail.extend(elements)
                self._error = error
                self._source_ended = True
        if not over:
            self.wake_here()
            return
        for element in elements:
            self.drop(element)
        if error is not None:
            hooks.report_late(error)

    def request(self, n: int) -> None:
        with self._lock:
            if n > 0:
                self._requested += n
            else:
                self._illegal = n
            ended = self._source_ended
        if ended:
            self.wake_here()
        elif n > 0:
            self.request_more(n)
        else:
            self.request_upstream(n)

    def request_more(self, n: int) -> None:
        """Forward demand that grew by n > 0 while the source has not ended."""
        self.request_upstream(n)

    def release(self) -> None:
        with self._lock:
            self._over = True
            tail, self._tail = self._tail, deque()
            error, self._error = self._error, None
        while tail:  # not under the lock: it runs user code, and elements may have finalizers
            self.drop(tail.popleft())
        if error is not None:
            hooks.report_late(error)

    def _work(self) -> None:
        self._again = False
        while True:
            with self._lock:
                if self._over:
                    return
                if self._source_ended and (self._illegal <= 0 or not self._tail):
                    self._over = True
                    error, self._error = self._error, None
                    break
                if self._requested <= self._emitted or not self._tail:
                    return
                element = self._tail.popleft()
            self._emitted += 1
            self.emit(element)
        if self._illegal <= 0 and not isinstance(error, NonPositiveRequest):
            error = non_positive(self._illegal)  # 3.9: the source has ended, so the answer comes from here
        if error is None:
            self.complete()
        else:
            self.fail(error)


class GatherRun(TailRun):
    """A run that requests ``needed`` elements upstream, once, at the first demand."""

    def __init__(self, needed: int = UNBOUNDED) -> None:
        super().__init__()
        self._needed = needed
        self._requested_upstream = False

    def request_more(self, n: int) -> None:
        with self._lock:
            requested, self._requested_upstream = self._requested_upstream, True
        if not requested:
            self.request_upstream(self._needed)


class _FoldRun(GatherRun):
    def __init__(self, stage: FoldStage) -> None:
        super().__init__(stage.needed)
        self._stage = stage
        self._step, self._result = stage.begin()

    def begin_discarding(self) -> None:
        if self._stage.keeps_no_element:
            self.on_next = self._discard_next  # type: ignore[method-assign]
        else:
            self._step, self._result = self._stage.begin_discarding(self.discard)

    def on_next(self, element: Any) -> None:
        step, take = self._step, self._result
        step(element)
        if self._over:  # release has run on another thread
            if step is dropped:
                self.discard(element)
            else:
                self._drop_result(take)

    def _discard_next(self, element: Any) -> None:
        self._step(element)
        self.discard(element)

    def on_complete(self) -> None:
        with self._lock:
            take = self._result
            self._step = self._result = dropped
        if take is not dropped:
            self.end_with(take())

    def drop(self, element: Any) -> None:
        self.discard_all(self._stage.elements_of(element))

    def release(self) -> None:
        super().release()
        with self._lock:
            take = self._result
            self._step = self._result = dropped
        if take is not dropped:
            self._drop_result(take)

    def _drop_result(self, take: Callable[[], Any]) -> None:
        if not self._stage.keeps_no_element:
            try:
                result = take()
            except NoElement:
                return
            self.drop(result)


class FoldStage(Stage):
    """A stage that folds all elements into one, which it emits at the end.

    Attributes:
        needed: the number of elements to request.
        keeps_no_element: whether the result contains no elements of the source, so that each is discarded at once.
    """

    emits_if_empty = True
    needed = UNBOUNDED
    keeps_no_element = False
    run_type = _FoldRun

    @abstractmethod
    def begin(self) -> Fold:
        """Return the functions of a subscription."""

    def begin_discarding(self, discard: Callable[[Any], None]) -> Fold:
        """Return functions like those of ``begin``, which also discard elements.

        An element that is replaced, or not added to the result, is passed to ``discard``.
        """
        return self.begin()

    def elements_of(self, result: Any) -> list[Any] | set[Any]:
        """Return the source's elements in a result, to discard them; by default none."""
        return []

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        step, result = self.begin()
        hint.holding = True
        for element in iterator:
            try:
                step(element)
            except BaseException:
                whole.raised_in(self)
                raise
        whole.check_end()  # a StopIteration of a function must not look like the end of the source
        try:
            last = result()
        except BaseException:
            whole.raised_in(self)
            raise
        hint.used_up = True
        yield from whole.after_end(last)
