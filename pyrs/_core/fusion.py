"""Chains of synchronous stages as one iterator chain, and the seam through which a Subscriber takes many at a time.

A stream over an iterable costs what the plain iterator chain costs: ``map`` and ``filter`` here are the built-in
ones, and one Subscription drives the whole chain with exact demand. Two things must not get lost on the way:

* *Prompt ends.* A chain that can tell that nothing is left (a list was used up, ``take`` has taken all) completes
  without being asked for one element more. ``gauges`` holds the iterators whose ``length_hint`` says so.
* *False ends.* In a plain chain a function that raises StopIteration looks like the end. Here an end that was not
  reached by the source or by ``take`` is an error, as PEP 479 has it for generators. Marks, chained behind the
  iterators that may end, tell.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import chain, compress, islice, repeat
from operator import length_hint
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.sites import Site, add_note, blame, code_of, code_of_iterator, is_ours
from pyrs._core.stage import Stage
from pyrs.errors import NullSignal

__all__ = ["Chain", "Gauge", "IteratorConsumer", "false_end", "null_element", "pull"]

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

# Iterators of these types say exactly how many elements are left.
_COUNTED: tuple[type, ...] = (type(iter(())), type(iter([])), type(iter(range(0))), type(iter("")), type(iter(b"")))


class IteratorConsumer(ABC, Generic[T_contra]):
    """A Subscriber that derives from this too is handed the iterator in place of one ``on_next`` call an element.

    It is asked for by inheritance, not by the method's name: a user's Subscriber may have a ``consume`` of its own.

    Attributes:
        steady_only: whether only iterators are wanted that cannot stall: elements in memory, no function of a user's.
    """

    steady_only = False

    @abstractmethod
    def consume(self, iterator: Iterator[T_contra], limit: int) -> int:
        """Take up to ``limit`` elements, each as one ``on_next``, and return how many were taken.

        Fewer than ``limit`` means that the iterator is used up, or that this Subscriber cancelled meanwhile. It never
        takes more than ``limit`` (1.1), looks at its own cancellation after each element (1.8) and raises
        ``null_element()`` for an element that is None. What leaves this method is taken for an error of the iterator
        and signalled as ``on_error``: a consumer deals with its own failures itself, by cancelling (2.13).
        """


class Gauge:
    """What a stage knows about its own end.

    Attributes:
        holding: whether the stage may have elements left that its source does not know of. At first it has.
        used_up: whether it has emitted all it ever will.
    """

    __slots__ = ("_before", "holding", "used_up")

    def __init__(self, before: Sequence[Any]) -> None:
        self._before = before
        self.holding = True
        self.used_up = False

    def __length_hint__(self) -> int:
        if self.used_up:
            return 0
        return int(self.holding or all(map(length_hint, self._before)))


class Chain(Generic[T]):
    """The iterator chain of one subscription.

    An iterator that was made here is closed at the end, if it can be. One that the caller passed in (whose ``iter``
    is itself) belongs to the caller, who may go on with it, and is only let go.
    """

    __slots__ = ("_base", "_close", "_culprits", "_gauges", "_name", "_site", "_stages", "ended", "iterator", "steady")

    def __init__(
        self, iterable: Iterable[Any], stages: Sequence[Stage], name: str = "the source", site: Site | None = None
    ) -> None:
        self._stages = stages
        self._name = name
        self._site = site
        self._culprits: Sequence[int] | None = None  # places; 0 is the source, 1 the first stage
        self._base: Iterator[Any] = iter(iterable)
        base = self._base
        self._close: Callable[[], None] | None = None if base is iterable else getattr(base, "close", None)
        self._gauges: list[Any] = [base] if type(base) in _COUNTED else []
        # Without a user's function nothing can end the chain falsely, and no mark needs to be paid for.
        self.ended = not any(stage.calls_user_code for stage in stages)
        self.steady = self.ended and bool(self._gauges)
        iterator = base if self.ended else chain(base, self._mark())
        # What the stages since the last joint make of the first element: as many as are stateless, for one ``chain``
        # costs each element little, and one for each stage does not. None of them looks behind one that may drop it.
        first: Iterator[Any] | None = None
        certain = False
        looked: Iterator[Any] = iter(())
        for stage in stages:
            if first is not None and not (stage.stateless and (certain or not stage.looks_at_first)):
                iterator, first = chain(first, self._check_look(looked), iterator), None
            if first is None and stage.looks_at_first:
                looked = repeat(True, 1)
                first, certain = islice(compress(iterator, looked), 1), True
            if first is not None:
                first = stage.over_first(first, self)
                certain = certain and stage.one_to_one
            iterator = stage.over(iterator, self)
        self.iterator: Iterator[T] = iterator if first is None else chain(first, self._check_look(looked), iterator)

    def first(self, iterator: Iterator[Any], count: int) -> Iterator[Any]:
        """Return the first ``count`` elements of the iterator, as ``islice``, with an end that can be told at once."""
        count = min(count, sys.maxsize)  # the most that these iterators can count; nobody lives to see the end of it
        ticks = repeat(True, count)
        self._gauges.append(ticks)
        # compress asks for the element before the tick, so islice sees to it that no element too many is asked for.
        taken = islice(compress(iterator, ticks), count)
        return taken if self.ended else chain(taken, self._mark(ticks))

    def _mark(self, ticks: Iterator[Any] | None = None) -> Iterator[Any]:
        if ticks is None or not length_hint(ticks):
            self.ended = True
        yield from ()

    def _check_look(self, looked: Iterator[Any]) -> Iterator[Any]:
        if length_hint(looked):
            self.check_end()  # no first element came: after a false end the one behind it would stand in its place
        yield from ()

    def hold_back(self) -> Gauge:
        """The stage being added may have elements left when its source has none: ask this gauge from now on."""
        gauge = Gauge(self._gauges)
        self._gauges = [gauge]
        return gauge

    def is_used_up(self) -> bool:
        """Return whether it is known, without pulling, that no element is left."""
        return not all(map(length_hint, self._gauges))

    def check_end(self) -> None:
        """Call when the iterator has ended.

        Raises:
            RuntimeError: it was not the source that ended: a function raised StopIteration.
        """
        if not self.ended:
            self._culprits = [place for place, stage in enumerate(self._stages, 1) if stage.functions()]
            raise false_end()

    def raised_in(self, stage: Stage) -> None:
        """Say before an error leaves ``stage.over`` that it arose there; of built-in iterators it is found out."""
        self._culprits = [self._stages.index(stage) + 1]

    def explain(self, error: BaseException) -> None:
        """Note on an error of the iterator where it arose, and which checkpoints it passed."""
        culprits = self._suspects(error) if self._culprits is None else self._culprits
        if len(culprits) == 1 and culprits[0]:
            self._stages[culprits[0] - 1].blame(error)
        elif len(culprits) == 1:
            blame(error, self._name, self._site)
        elif culprits:
            parts = [(self._name, self._site), *((repr(stage), stage.site) for stage in self._stages)]
            add_note(error, "in one of " + ", ".join(f"{parts[n][0]} ({parts[n][1]})" for n in culprits))
        for stage in self._stages[max(culprits, default=0) :]:
            stage.passed_by(error)

    def _suspects(self, error: BaseException) -> Sequence[int]:
        """Return the places where the error may have arisen: one if that can be told.

        A built-in iterator leaves no frame. The first frame that is not ours is the source's, or that of a function:
        then its code is known. What is written in C has no frame either; it is named if it is the only such part.
        """
        codes = [(n, code_of(each)) for n, stage in enumerate(self._stages, 1) for each in stage.functions()]
        if type(self._base) not in _COUNTED:  # those never raise
            codes.insert(0, (0, code_of_iterator(self._base)))
        traceback = error.__traceback__
        while traceback is not None:
            code = traceback.tb_frame.f_code
            known = [n for n, each in codes if each is code]
            if known:
                return known
            if not is_ours(code.co_filename):
                break
            traceback = traceback.tb_next
        else:
            if isinstance(error, NullSignal):
                return (len(self._stages),)  # wherever it came from, this is where it came out
        return [n for n, code in codes if code is None]

    def release(self) -> None:
        """Let go of the source, closing what was opened here. Never raises an Exception."""
        close, self._close = self._close, None
        self._gauges = []
        self.iterator = self._base = iter(())  # the marks point back at this object: leave no cycle behind (3.13)
        if close is not None:
            try:
                close()
            except Exception as error:
                hooks.on_error_dropped(error, "closing the iterator of a stream")


def pull(
    iterable: Iterable[Any], stages: Sequence[Stage], name: str = "the source", site: Site | None = None
) -> Generator[Any, None, None]:
    """Iterate over the chain on the calling thread: each ``next`` is a demand of one."""
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


def false_end() -> RuntimeError:
    """Return the error for a function that raised StopIteration, which would look like the end."""
    return RuntimeError("a function of this stream raised StopIteration")


def null_element() -> NullSignal:
    """Return the error for a None that would become an element. Rules: 2.13."""
    return NullSignal("None is not an element: the source or a function of this stream gave None")
