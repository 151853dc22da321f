"""Publishers over iterables, and their Subscription."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import LazyText
from pyrs._core.downstream import checked_subscriber
from pyrs._core.fusion import Chain, IteratorConsumer, null_element
from pyrs._core.sites import Site, blame
from pyrs._core.source import InertSubscription, SourceSubscription
from pyrs._core.stage import Stage
from pyrs.api import Publisher, Subscriber, T

MAX_STAGES: Final = 500
"""The maximum number of operators in one iterator chain.

Iterators written in C call each other without Python's recursion check: a chain that is too deep for the stack ends the
process. In CPython 3.10 to 3.13 an operator takes up to 160 bytes of stack as such an iterator, and up to 700 as a
generator. The recursion check counts generators, but not their bytes. This maximum leaves at least a third of a stack
of 512 KiB to the called functions.
"""


class IterablePublisher(Publisher[T]):
    """An iterable with up to ``MAX_STAGES`` stages: an iterator chain per Subscriber."""

    carries_context = True  # all signals run on the threads that subscribe and request

    def __init__(
        self, iterable: Iterable[Any], stages: Sequence[Stage], name: str | LazyText, site: Site | None = None
    ) -> None:
        self.iterable = iterable
        self.stages = tuple(stages)
        self.name = name
        self.site = site
        if len(self.stages) > MAX_STAGES:
            raise RecursionError(
                f"more than {MAX_STAGES} operators in one chain after {name} could exhaust the stack: "
                "combine several into one function"
            )

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        subscriber = checked_subscriber(subscriber)
        stages = self.stages
        if stages and hooks.is_discarding(hooks.discards_of(subscriber)):
            # An iterator chain cannot discard the elements that it drops. Therefore all elements are pushed.
            from pyrs._core.pushed_chain import PushedChainSubscriber

            subscriber, stages = PushedChainSubscriber(subscriber, stages), ()
        try:
            whole: Chain[T] = Chain(self.iterable, stages, self.name, self.site)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            blame(error, self.name, self.site)
            InertSubscription(subscriber, error).start()  # §1.9: an error follows on_subscribe
            return
        IteratorSubscription(subscriber, whole).start()

    def __repr__(self) -> str:
        return ".".join(filter(None, [str(self.name), *map(repr, self.stages)]))


class IteratorSubscription(SourceSubscription[T]):
    """Pulls the demanded elements from an iterator chain, on the requesting thread."""

    def __init__(self, subscriber: Subscriber[T], whole: Chain[T]) -> None:
        super().__init__(subscriber)
        self._chain: Chain[T] = whole
        self._consume: Callable[[Iterator[T], int], int] | None = None
        if isinstance(subscriber, IteratorConsumer) and (whole.steady or not subscriber.steady_only):
            self._consume = subscriber.consume

    def _produce(self, subscriber: Subscriber[T], demand: int) -> int:
        iterator = self._chain.iterator
        produced = 0
        try:
            if self._consume is not None:
                produced = self._consume(iterator, demand)
                if produced >= demand or self._interrupted:
                    return produced
            else:
                on_next = subscriber.on_next
                bounded = demand < UNBOUNDED  # unbounded demand is not counted
                for element in iterator:
                    if element is None:
                        raise null_element()
                    try:  # separates a Subscriber that raises (§2.13) from a source or function that does (§1.4)
                        on_next(element)
                    except BaseException as error:
                        self._subscriber_raised(error, "on_next")
                    if bounded:
                        produced += 1
                        if produced == demand:
                            demand = self._requested - self._emitted
                            if produced == demand:
                                return produced  # before the loop pulls an element that was not requested (§1.1)
                    if self._interrupted:
                        return produced
            self._chain.check_end()
        except BaseException as error:
            self._failed(error)
        else:
            self._complete()
        return produced

    def _look_for_end(self) -> None:
        try:
            ended = self._chain.is_used_up()
        except BaseException as error:
            self._failed(error)
        else:
            if ended:
                self._complete()

    def _failed(self, error: BaseException) -> None:
        """Fail with the error of the iterator; raise it again if it is an exit."""
        self._chain.explain(error)
        self._fail(error)
        if hooks.is_exit(error):
            raise error

    def _release(self) -> None:
        self._consume = None
        self._chain.release()
