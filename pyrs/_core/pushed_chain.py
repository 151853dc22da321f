"""A chain of synchronous stages as one Subscriber, which enforces the rules."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import attach, capture
from pyrs._core.demand import UNBOUNDED
from pyrs._core.downstream import DownstreamSubscription, checked_subscriber
from pyrs._core.fusion import IteratorConsumer, checked_result, null_element
from pyrs._core.source import InertSubscription
from pyrs._core.stage import DROP, END, MAP, SELECT, STEP, Stage, StageRun, dropped, ignored
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal

_Failure = tuple[BaseException, int, int | None]  # the error, the stage that raised it, and the stage to blame


class PushedChainPublisher(Publisher[Any]):
    """A Publisher followed by synchronous stages, which together are one Subscriber."""

    carries_context = True

    def __init__(self, source: Publisher[Any], stages: Sequence[Stage]) -> None:
        self.source = source
        self.stages = tuple(stages)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        downstream = checked_subscriber(subscriber)
        # The chain takes an iterator only if its Subscriber does. Otherwise the source calls on_next in its own loop,
        # which also checks the source's state after each element.
        consumes = isinstance(downstream, IteratorConsumer) and not downstream.steady_only
        chain = (ConsumingChainSubscriber if consumes else PushedChainSubscriber)(downstream, self.stages)
        try:
            attach(self.source, chain)
        except BaseException as error:
            if hooks.is_exit(error):
                raise
            chain.source_raised(error)

    def __repr__(self) -> str:
        return ".".join([repr(self.source), *map(repr, self.stages)])


class PushedChainSubscriber(DownstreamSubscription[Any], Subscriber[Any]):
    """The Subscriber of the source and the Subscription for downstream in one object.

    The source signals serially (§1.3), and fails the stream after an illegal request (§3.9). If the source has ended,
    the stage that still emits elements fails the stream instead. A stage requests another element for each that it
    drops (§1.1), unless demand is unbounded. An exception of a stage cancels upstream of that stage and fails
    downstream of it.

    Rules: 2.3, 2.4, 2.5, 2.6, 2.8, 2.12, 4.1, 4.2, and those of ``DownstreamSubscription``.
    """

    catches_user_errors = True
    _introduced = False  # ``on_subscribe`` was signalled downstream

    def __init__(self, subscriber: Subscriber[Any], stages: Sequence[Stage]) -> None:
        super().__init__(subscriber, capture())  # a stage may emit inside of request
        self._open = True  # upstream neither cancelled nor terminated
        self._cancelled = 0  # the number of stages, from the first, that received a cancel
        self._finished = -1  # the place of the last stage that called ``finish``
        self._subscribed = False
        self._upstream: Subscription | None = None
        self._exit: tuple[BaseException, int] | None = None  # an interrupt or exit, and the stage that forwarded it
        self._stages = stages
        self._runs = [stage.run() for stage in stages]
        self._mapping = max((place for place, stage in enumerate(stages) if stage.is_mapping), default=None)
        self._emitting = max((place for place, run in enumerate(self._runs) if run.sees_elements), default=0)
        self._steps: list[list[tuple[int, int, Callable[[Any], Any]]]] = []  # the plain stages of each segment
        self._link()

    def _link(self) -> None:
        """Connect the runs: signals go downstream, demand goes upstream."""
        runs = self._runs
        discarding = hooks.is_discarding(self.discards)
        for run in runs:
            run.discard, run.discard_all = self._discard, self._discard_all
            if discarding:
                run.begin_discarding()
        plain = [run.plain() for run in runs]
        complete: Callable[[], None] = self._deliver
        fail: Callable[[BaseException], None] = self._deliver
        following = len(runs)  # the stage at which the segment after this run stops
        for place in reversed(range(len(runs))):
            run = runs[place]
            run.complete, run.fail, run.finish = complete, fail, partial(self._finish_from, place)
            # A run that does not override a signal is bypassed.
            if type(run).on_complete is not StageRun.on_complete:
                complete = partial(self._guarded, place, run.on_complete)
            if type(run).on_error is not StageRun.on_error:
                fail = partial(self._guarded, place, run.on_error)
            if run.sees_elements and not plain[place]:
                run.emit = self._segment(plain, place + 1, following)
                following = place
        self.on_next = self._segment(plain, 0, following, first=True)  # type: ignore[method-assign]
        self._complete_runs, self._fail_runs = complete, fail
        request: Callable[[int], None] = self._request_upstream
        if any(run.request_may_raise for run in runs):  # such a stage must not be blamed for an error of the source
            request = self._request_source
        for place, run in enumerate(runs):
            run.request_upstream = request
            request = partial(self._request_guarded, place, run.request) if run.request_may_raise else run.request
        self._request_runs = request

    def _segment(
        self, plain: Sequence[tuple[int, Callable[[Any], Any]] | None], start: int, stop: int, *, first: bool = False
    ) -> Callable[[Any], None]:
        """Return a function that passes an element through the plain stages of a segment.

        The segment has the stages from ``start`` to ``stop``. The results go to the run at ``stop``, or to the
        Subscriber. The function costs one Python frame per element.
        """
        runs = self._runs
        steps = [(place, *each) for place, each in enumerate(plain[start:stop], start) if each]
        self._steps.append(steps)
        take = runs[stop].on_next if stop < len(runs) else None
        discards, discard = self.discards, hooks.discard

        def push(element: Any, /) -> None:
            if first:
                if element is None:
                    raise NullSignal("on_next(None)")  # 2.13
                if not self._open:
                    discard(discards, element)
                    return  # 2.8
            place = stop
            try:
                for place, kind, function in steps:
                    if kind == MAP:
                        element = function(element)
                    elif kind == SELECT:
                        if not function(element):
                            if discards or hooks.discard_hook is not None:  # the common case needs no call
                                discard(discards, element)
                            runs[place].skip()
                            return
                    else:
                        result = function(element)
                        if result is DROP:
                            discard(discards, element)
                            runs[place].skip()
                            return
                        if result is END:
                            runs[place].finish()
                            return
                        element = result
                if take is not None:
                    place = stop
                    take(element)
                    return
            except BaseException as error:
                self._stage_raised(error, place, outermost=first)
                discard(discards, element)  # not reached for an exit, which propagates
                return
            if element is None or self._mapping is not None:
                failure = self._check(element)
                if failure is not None:
                    self._stage_raised(*failure)
            subscriber = self._subscriber
            if subscriber is not None:
                try:
                    subscriber.on_next(element)
                except BaseException as error:
                    self._subscriber_raised(error, "on_next")
            elif element is not None:
                discard(discards, element)

        return push

    def _check(self, element: Any) -> _Failure | None:
        """Return the failure if the element is None or a coroutine, else None.

        Only the first mapped element is checked for a coroutine.
        """
        mapping, self._mapping = self._mapping, None
        try:
            if element is None:
                mapping = None
                raise null_element()
            checked_result(element)
        except BaseException as error:
            return error, self._emitting, mapping
        return None

    # Called by upstream.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        with self._lock:
            again, self._subscribed = self._subscribed, True
        if again or not self._live:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        refused: BaseException | None = None
        refusing = 0
        for place, run in enumerate(self._runs):
            try:
                run.on_subscribe()
            except BaseException as error:
                self._drop(refused)  # only the last error is emitted
                refused, refusing = error, place
                self._cancel_upstream(place)  # before the Subscriber can request
                if hooks.is_exit(error):
                    break
        self._introduce()  # 1.9: also before an error
        if refused is not None:
            self._stage_raised(refused, refusing)
            return
        # From the last to the first, because begin() may send a terminal signal to the stages after it.
        for place in reversed(range(len(self._runs))):
            if self._subscriber is None or place < self._cancelled:
                return  # a stage ended the stream, or the Subscriber cancelled
            self._runs[place].begin()

    def on_next(self, element: Any, /) -> None:
        """Discard a late element (§2.8); in a live stream, ``_link`` replaces this method."""
        if element is None:
            raise NullSignal("on_next(None)")  # 2.13
        self._discard(element)

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        if not self._open:
            hooks.on_error_dropped(error, "the stream was cancelled or has terminated")
            return
        self._open = False
        self._upstream = None  # the Subscription has ended and must not be called (2.3, 2.4)
        self._fail_runs(error)

    def on_complete(self) -> None:
        if self._open:  # otherwise a stage has ended the stream, or it was cancelled
            self._open = False
            self._upstream = None  # 2.4
            try:
                self._complete_runs()
            except RecursionError as error:
                self._stage_raised(error, 0, outermost=True)

    def source_raised(self, error: BaseException) -> None:
        """Signal an exception of the source's ``subscribe`` as its error (§1.9)."""
        if self._subscribed:
            self.on_error(error)
        else:
            InertSubscription(self, error).start()

    # Called by downstream.

    def _on_request(self, n: int) -> None:
        try:
            self._request_runs(n)
        except BaseException as error:
            is_exit = hooks.is_exit(error)
            if not is_exit or (self._live and (self._exit is None or error is not self._exit[0])):
                self._source_failed(error)
            if is_exit:
                raise

    def _on_cancel(self) -> None:
        self._forget()
        self._cancel_upstream(len(self._runs))

    # Called by the stages.

    def _request_upstream(self, n: int) -> None:
        upstream = self._upstream
        if upstream is not None:
            upstream.request(min(n, UNBOUNDED))  # 3.17: the maximum for a third-party Subscription

    def _request_source(self, n: int) -> None:
        """Request upstream; an error of the source passes through all stages."""
        try:
            self._request_upstream(n)
        except BaseException as error:
            if hooks.is_exit(error):
                raise  # handled by ``_on_request``
            self._source_failed(error)

    def _source_failed(self, error: BaseException) -> None:
        self._cancel_upstream(0)
        self._fail_runs(error)

    def _finish_from(self, place: int) -> None:
        """End the stream from a stage: cancel upstream of it, complete downstream."""
        if place <= self._finished:
            return  # a later stage has ended the stream already
        self._finished = place
        self._cancel_upstream(place)  # 2.6
        self._runs[place].complete()

    def _guarded(self, place: int, signal: Callable[..., None], *arguments: Any) -> None:
        """Forward a signal to a stage, and fail the stream from that stage if it raises."""
        try:
            signal(*arguments)
        except BaseException as error:
            self._stage_raised(error, place)

    def _request_guarded(self, place: int, request: Callable[[int], None], n: int) -> None:
        """Call ``request`` of a stage, and fail the stream from that stage if it raises."""
        try:
            request(n)
        except BaseException as error:
            if hooks.is_exit(error):
                raise  # handled by ``_on_request``
            self._stage_raised(error, place)

    def _introduce(self) -> None:
        self._introduced = True
        super()._introduce()

    def _deliver(self, error: BaseException | None = None) -> None:
        try:
            if not self._introduced:  # §1.9: a signal handler raised in ``on_subscribe``
                self._introduce()
            self._end_with(error)
        finally:
            self._release()

    # Lifecycle.

    @property
    def _call(self) -> str:
        return ".".join(map(repr, self._stages))

    def __repr__(self) -> str:
        state = f"live, from {self._upstream!r}" if self._live else "over"
        return f"<{self._call}: {state}>"

    def _forget(self) -> None:
        """Drop the Subscriber (§3.13); the stages are released after the terminal signal."""
        self._subscriber = self._exit = None

    def _release(self) -> None:
        """Make the stages release their elements (§3.13)."""
        if not self._live:
            for run in reversed(self._runs):
                run.release()
            self._disarm(len(self._runs))
            self._unlink()

    def _unlink(self) -> None:
        """Break the reference cycles with the runs (§3.13).

        Otherwise only the garbage collector would release them. If another thread still signals, its elements are
        discarded and its errors are reported.
        """
        for run in self._runs:
            run.unlink(self.discards)
        self.__dict__.pop("on_next", None)
        self._complete_runs, self._fail_runs, self._request_runs = ignored, hooks.report_late, ignored

    def _disarm(self, stop: int) -> None:
        """Release the functions of the stages before this place, and their state (§3.13)."""
        for steps in self._steps:
            for index, (place, *_) in enumerate(steps):
                if place < stop:
                    steps[index] = (place, STEP, dropped)

    def _cancel_upstream(self, place: int) -> None:
        """Cancel upstream of the stage at this place.

        The place after the last stage stands for the downstream Subscriber.
        """
        with self._lock:
            self._open = False
            upstream, self._upstream = self._upstream, None
            runs = self._runs[self._cancelled : place]
            self._cancelled = max(self._cancelled, place)
        try:
            for run in reversed(runs):
                run.on_cancel()
        finally:
            hooks.cancel_safely(upstream)  # 2.6, 3.7, 3.15
            for run in runs:
                run.release()
            self._disarm(place)
            if place == len(self._runs):
                self._unlink()

    def _stage_raised(
        self, error: BaseException, place: int, blamed: int | None = None, *, outermost: bool = False
    ) -> None:
        """Cancel upstream of the stage and fail downstream of it.

        An interrupt or an exit is raised again.

        Args:
            error: the exception.
            place: the place of the stage.
            blamed: the place of the stage that the note of the exception names; by default ``place``.
            outermost: whether the frame that caught the exception is the one that the source called.
        """
        is_exit = hooks.is_exit(error)
        place = min(place, len(self._stages) - 1)  # a signal handler may raise an error behind the last stage
        # An exit that a stage forwards as on_error is also raised, through the segments of earlier stages. They must
        # not forward it again while a later stage delays the on_error until its buffered elements are demanded.
        # On an exhausted stack, each stage that forwards a RecursionError raises another one. If each earlier stage
        # forwarded that one, the number of calls would double with each stage. Only the outermost frame tries again.
        exit_, last = self._exit or (None, 0)
        again = error is exit_ or (
            not outermost and isinstance(error, RecursionError) and isinstance(exit_, RecursionError)
        )
        if not is_exit or (self._live and (not again or place > last)):
            if is_exit:
                self._exit = error, place
            if not is_exit or not hasattr(error, "__notes__"):  # an exit with notes was blamed already
                self._stages[place if blamed is None else blamed].blame(error)
            self._cancel_upstream(place)
            self._runs[place].fail(error)
        if is_exit:
            raise error

    def _subscriber_raised(
        self, error: BaseException, signal: str = "on_next", subscriber: Subscriber[Any] | None = None
    ) -> None:
        receiver = self._terminate()
        self._cancel_upstream(len(self._runs))  # 2.13: counts as cancelled
        super()._subscriber_raised(error, signal, subscriber if receiver is None else receiver)


class ConsumingChainSubscriber(PushedChainSubscriber, IteratorConsumer[Any]):
    """A chain that takes an iterator, because its Subscriber takes one.

    A source with a list of elements, such as a stream from a JVM, then needs one call for the whole list.
    """

    steady_only = True
    _taken = 0  # the number of elements that the last call of ``consume`` took
    _deferred: Callable[[], None] | None = None  # sends the terminal signal after the call

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        limit = min(limit, UNBOUNDED)  # several requests may exceed the maximum of one, which is also that of islice
        subscriber: Any = self._subscriber
        if subscriber is not None and len(self._steps) == 1:
            processed = self._process(iterator, limit)
            try:
                subscriber.consume(processed, limit)
            finally:
                processed.close()
                # A terminal signal must not overtake the elements that the Subscriber takes from the iterator.
                deferred, self._deferred = self._deferred, None
                if deferred is not None:
                    deferred()
            return self._taken
        taken = 0
        for taken, element in enumerate(islice(iterator, limit), 1):  # noqa: B007 - returned
            self.on_next(element)
            if not self._open or self._interrupted:
                break
        return taken

    def _process(self, iterator: Iterator[Any], limit: int) -> Generator[Any, None, None]:
        """Yield the elements that the only segment emits.

        The steps are those of ``push`` in ``_segment``.
        """
        steps, runs, discards = self._steps[0], self._runs, self.discards
        taken = 0
        try:
            for element in islice(iterator, limit):
                taken += 1
                if element is None:
                    raise null_element()
                if not self._open:
                    hooks.discard(discards, element)
                    return
                place = 0
                try:
                    for place, kind, function in steps:
                        if kind == MAP:
                            element = function(element)
                        elif kind == SELECT:
                            if not function(element):
                                break
                        else:
                            result = function(element)
                            if result is DROP:
                                break
                            if result is END:
                                self._deferred = runs[place].finish
                                return
                            element = result
                    else:
                        place = -1
                    if place >= 0:
                        if discards or hooks.discard_hook is not None:
                            hooks.discard(discards, element)
                        runs[place].skip()
                        continue
                except BaseException as error:
                    self._deferred = partial(self._stage_raised, error, place)
                    hooks.discard(discards, element)
                    return
                if element is None or self._mapping is not None:
                    failure = self._check(element)
                    if failure is not None:
                        self._deferred = partial(self._stage_raised, *failure)
                        if element is not None:
                            hooks.discard(discards, element)
                        return
                if self._subscriber is None:  # a function of a stage cancelled
                    hooks.discard(discards, element)
                    return
                yield element
        finally:
            self._taken = taken
