"""Chains of synchronous stages over an iterable as one iterator chain.

A stream over an iterable costs what the plain iterator chain costs: ``map`` and ``filter`` are the built-in ones, and
one Subscription drives the whole chain with exact demand. Two properties need care:

* *Prompt completion.* A chain that knows that nothing is left (a list is exhausted, ``take`` has taken its elements)
  completes without a request for one more element. Nothing is left if the ``length_hint`` of an iterator in ``_hints``
  is 0.
* *False ends.* In a plain chain a function that raises StopIteration looks like the end. Here an end that neither the
  source nor a stage has reported is an error, as it is in generators (PEP 479). A marker chained after the source, and
  after the elements of ``take``, reports their end; other stages set ``ended``.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Sequence
from itertools import chain, compress, islice, repeat, takewhile
from operator import length_hint
from typing import Any, Generic, Protocol

from pyrs._core import hooks
from pyrs._core.display import LazyText
from pyrs._core.sites import Site, add_note, blame, code_of, code_of_iterator, is_own_code
from pyrs.api import T, T_contra
from pyrs.errors import NullSignal

# Iterators of these types report the exact number of remaining elements.
_COUNTED: tuple[type, ...] = (
    type(iter(())),
    type(iter([])),
    type(iter(range(0))),
    type(iter("")),
    type(iter("\u00e9")),  # from Python 3.11, ASCII strings have an iterator type of their own
    type(iter(b"")),
)


class FusibleStage(Protocol):
    """The part of ``Stage`` that a chain uses; importing ``Stage`` would be circular."""

    calls_user_code: bool
    is_mapping: bool
    site: Site | None

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]: ...

    def functions(self) -> tuple[object, ...]: ...

    def blame(self, error: BaseException) -> None: ...

    def on_chain_error(self, error: BaseException) -> None: ...


class IteratorConsumer(ABC, Generic[T_contra]):
    """A Subscriber that takes elements from an iterator instead of ``on_next`` calls.

    A Subscriber opts in by inheritance and not by the method's name: a user's Subscriber may have its own ``consume``.

    Attributes:
        steady_only: whether to offer only iterators that cannot block: elements in memory, no user code.
    """

    steady_only = False

    @abstractmethod
    def consume(self, iterator: Iterator[T_contra], limit: int) -> int:
        """Take up to ``limit`` elements as ``on_next`` does, and return their number.

        Fewer than ``limit`` means that the iterator is exhausted, or that this Subscriber has cancelled or sent an
        illegal request. An implementation never takes more than ``limit`` (§1.1), checks its own cancellation after
        each element, or with ``steady_only`` after each batch (§1.8), and raises ``null_element()`` for an element that
        is None. An exception that leaves this method counts as an error of the iterator and is signalled as
        ``on_error``: a consumer handles its own failures by cancelling (§2.13).
        """


class LengthHint:
    """The length hint of one stage: 0 if it has no more elements, else 1.

    Attributes:
        holding: whether the stage may buffer elements after its source is exhausted.
        used_up: whether the stage has emitted its last element.
    """

    def __init__(self, before: Sequence[Any], holding: bool) -> None:
        self._before = before
        self.holding = holding
        self.used_up = False

    def __length_hint__(self) -> int:
        if self.used_up:
            return 0
        return int(self.holding or all(map(length_hint, self._before)))


class Chain(Generic[T]):
    """The iterator chain of one subscription.

    An iterator that the chain created is closed at the end, if it has ``close``. An iterator that the caller passed in
    (its ``iter`` is itself) belongs to the caller, who may continue with it: it is released, not closed.
    """

    def __init__(
        self,
        iterable: Iterable[Any],
        stages: Sequence[FusibleStage],
        name: str | LazyText = "the source",
        site: Site | None = None,
    ) -> None:
        self._stages = stages
        self._name = name
        self._site = site
        self._culprits: Sequence[int] | None = None  # places; 0 is the source, 1 the first stage
        self._base: Iterator[Any] = iter(iterable)
        base = self._base
        # Looked up on the class, because an object of another process, such as Py4J's, has every attribute.
        closes = base is not iterable and hasattr(type(base), "close")
        self._close: Callable[[], None] | None = getattr(base, "close", None) if closes else None
        self._hints: list[Any] = [base] if type(base) in _COUNTED else []
        # Without user code nothing can end the chain falsely, and no marker is needed.
        self._cannot_end_falsely = not any(stage.calls_user_code for stage in stages)
        self.ended = self._cannot_end_falsely
        self.steady = self.ended and bool(self._hints)
        # The caller may continue with its iterator after an error. ``chain`` hides the type of such an iterator,
        # because ``collect`` reads a list iterator ahead.
        iterator = base if self.ended and base is not iterable else chain(base, self._mark())
        mapping = None
        for place, stage in enumerate(stages, 1):
            iterator = stage.over(iterator, self)
            mapping = place if stage.is_mapping else mapping
        self.iterator: Iterator[T] = iterator if mapping is None else chain(self._first(iterator, mapping), iterator)

    def _first(self, iterator: Iterator[Any], mapping: int) -> Iterator[Any]:
        """Check only the first element for a coroutine: checking each would be slow."""
        for element in iterator:
            try:
                checked_result(element)
            except TypeError:
                self._culprits = [mapping]
                raise
            yield element
            return
        self.check_end()  # otherwise ``chain`` would continue with the iterator after a false end

    def first(self, iterator: Iterator[Any], count: int) -> Iterator[Any]:
        """Return the first ``count`` elements; the end is known without another pull."""
        count = min(count, sys.maxsize)  # the maximum of ``repeat`` and ``islice``
        ticks = repeat(True, count)
        self._hints.append(ticks)
        # compress pulls the element before the tick: without islice it would pull one element too many.
        taken = islice(compress(iterator, ticks), count)
        return taken if self.ended else chain(taken, self._mark(ticks))

    def _mark(self, ticks: Iterator[Any] | None = None) -> Iterator[Any]:
        if ticks is None or not length_hint(ticks):
            self.ended = True
        yield from ()

    def hold_back(self, holding: bool = True) -> LengthHint:
        """Return the hint of a stage that may buffer elements after its source ended.

        Args:
            holding: whether the stage emits an element even if its source is empty.
        """
        hint = LengthHint(self._hints, holding)
        self._hints = [hint]
        return hint

    def after_end(self, *elements: Any) -> Iterator[Any]:
        """Yield elements that a stage emits after its source ended.

        The chain has not ended before they are taken: a later function may raise StopIteration for one of them.
        """
        self.ended = self._cannot_end_falsely
        yield from elements
        self.ended = True

    def is_used_up(self) -> bool:
        """Return whether the length hints show that no element is left.

        Raises the error that the iterators end with.
        """
        if all(map(length_hint, self._hints)):
            return False
        for _ in self.iterator:
            return True  # the list has grown after its end was reached
        self.check_end()
        return True

    def check_end(self) -> None:
        """Check, after the iterator ended, that no function raised StopIteration."""
        if not self.ended:
            self._culprits = [place for place, stage in enumerate(self._stages, 1) if stage.functions()]
            raise RuntimeError("a function of this stream raised StopIteration")

    def raised_in(self, stage: FusibleStage) -> None:
        """Record the stage as the origin of an error that is about to leave its ``over``."""
        self._culprits = [self._stages.index(stage) + 1]

    def explain(self, error: BaseException) -> None:
        """Add the notes of the operator that raised the error, and of stages after it."""
        culprits = self._suspects(error) if self._culprits is None else self._culprits
        if len(culprits) == 1 and culprits[0]:
            self._stages[culprits[0] - 1].blame(error)
        elif len(culprits) == 1:
            blame(error, self._name, self._site)
        elif culprits:
            parts = [(self._name, self._site), *((repr(stage), stage.site) for stage in self._stages)]
            add_note(error, "in one of " + ", ".join(f"{parts[n][0]} ({parts[n][1]})" for n in culprits))
        for stage in self._stages[max(culprits, default=0) :]:
            stage.on_chain_error(error)

    def _suspects(self, error: BaseException) -> Sequence[int]:
        """Return the places where the error may have arisen; one if the origin is known.

        A built-in iterator leaves no frame. The first foreign frame belongs to the source or to a user's function,
        whose code is known. A function written in C has no frame either: if no frame is known, the places of all such
        functions are returned.
        """
        codes = [(n, code_of(each)) for n, stage in enumerate(self._stages, 1) for each in stage.functions()]
        if type(self._base) not in _COUNTED:  # these never raise
            codes.insert(0, (0, code_of_iterator(self._base)))
        traceback = error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            known = [n for n, each in codes if each is code]
            if known:
                return known
            if not is_own_code(code.co_filename):
                break
            traceback = traceback.tb_next
        else:
            if isinstance(error, NullSignal):
                return (len(self._stages),)  # detected at the end of the chain
            if isinstance(error, TypeError) and (uncalled := self._not_callable_with_one(str(error))):
                return uncalled
        return [n for n, code in codes if code is None]

    def _not_callable_with_one(self, message: str) -> Sequence[int]:
        """Return the places of the functions that the message of a TypeError names.

        Such an error is raised before the function has a frame. Several lambdas of one scope share a name; those with
        one parameter are excluded.
        """
        named = [
            (n, code)
            for n, stage in enumerate(self._stages, 1)
            for each in stage.functions()
            if (code := code_of(each)) is not None and message.startswith(f"{getattr(each, '__qualname__', None)}()")
        ]
        wrong = [n for n, code in named if f"takes {code.co_argcount} " in message or code.co_argcount > 1]
        return wrong or [n for n, _ in named]

    def release(self) -> None:
        """Release the source, and close an iterator that the chain created."""
        close, self._close = self._close, None
        self._hints = []
        self._name = ""  # may refer to the source
        self.iterator = self._base = iter(())  # the markers refer to this object: leave no cycle (3.13)
        if close is not None:
            try:
                close()
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                hooks.on_error_dropped(error, "closing the iterator of a stream")


def pull(
    iterable: Iterable[Any],
    stages: Sequence[FusibleStage],
    name: str | LazyText = "the source",
    site: Site | None = None,
) -> Generator[Any, None, None]:
    """Iterate over the chain: each ``next`` is a request for one element."""
    whole: Chain[Any] = Chain(iterable, stages, name, site)
    try:
        for element in whole.iterator:
            if element is None:
                raise null_element()
            yield element
        whole.check_end()
    except GeneratorExit:
        raise
    except BaseException as error:
        whole.explain(error)
        raise
    finally:
        whole.release()


def non_null(iterator: Iterator[T], limit: int) -> tuple[list[T], bool]:
    """Return up to ``limit`` elements, and whether there was a None.

    Only the elements before the first None are returned. The iterator must not block.
    """
    batch = list(islice(iterator, limit))
    for element in batch:  # not "None in batch", which is slower and calls each element's __eq__
        if element is None:
            return list(takewhile(lambda each: each is not None, batch)), True
    return batch, False


def skip(
    iterator: Iterator[Any], limit: int, is_cancelled: Callable[[], bool], discard: Callable[[Any], object]
) -> int:
    """Discard elements until upstream is cancelled; return their number.

    A consumer that has stopped calls this while another thread is about to cancel upstream: a source regards fewer
    elements than requested as the end of its iterator, unless it is cancelled. Discards at most ``limit`` elements.
    """
    skipped = 0
    while skipped < limit and not is_cancelled():
        element = next(iterator, None)
        if element is None:
            break
        discard(element)
        skipped += 1
    return skipped


def null_element() -> NullSignal:
    """Return the error for a None that would become an element (§2.13)."""
    return NullSignal("None is not an element: the source or a function of this stream returned None")


def checked_result(element: Any) -> None:
    """Check that a mapped element is not a coroutine; close a coroutine.

    ``map`` awaits coroutine functions. A plain function that returns a coroutine cannot be recognized before the call.

    Raises:
        TypeError: the element is a coroutine.
    """
    if hasattr(type(element), "__await__") and isinstance(element, Coroutine):  # the first test is fast
        element.close()
        raise TypeError(
            "the function returned a coroutine, and nothing awaits it here: pass the coroutine function itself, "
            "defined with async def, to map or for_each; flat_map awaits the result of its function"
        )
