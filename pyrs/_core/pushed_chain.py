"""Synchronous stages as a Subscriber over any other Publisher. A stage says what it does; the rules are kept here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from threading import RLock
from typing import Any

from pyrs._core import hooks
from pyrs._core.context import attach
from pyrs._core.demand import UNBOUNDED, checked_count
from pyrs._core.fusion import null_element
from pyrs._core.stage import Stage, StageRun
from pyrs._core.subscription import checked_subscriber
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal

__all__ = ["PushedChainPublisher", "PushedChainSubscriber"]


class PushedChainPublisher(Publisher[Any]):
    """A Publisher with synchronous stages behind it; all of them together are one Subscriber."""

    carries_context = True

    def __init__(self, source: Publisher[Any], stages: Sequence[Stage]) -> None:
        self.source = source
        self.stages = tuple(stages)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        attach(self.source, PushedChainSubscriber(checked_subscriber(subscriber), self.stages))

    def __repr__(self) -> str:
        return ".".join([repr(self.source), *map(repr, self.stages)])


class PushedChainSubscriber(Subscriber[Any], Subscription):
    """The Subscriber of the source and the Subscription of the Subscriber in one.

    Rules: 1.4, 1.6, 1.7, 1.8, 2.3, 2.4, 2.5, 2.6, 2.13, 3.6, 3.7, 3.13, 4.1, 4.2. Serial signals (1.3) and the answer
    to request(n <= 0) (3.9) come from the source, or from a stage that holds the end back; demand is kept element by
    element (1.1).
    """

    __slots__ = (
        "_cancelled",
        "_finished",
        "_last",
        "_lock",
        "_open",
        "_rest",
        "_runs",
        "_stages",
        "_steps",
        "_subscribed",
        "_subscriber",
        "_upstream",
    )

    def __init__(self, subscriber: Subscriber[Any], stages: Sequence[Stage]) -> None:
        self._lock = RLock()  # a finalizer, run by the collector while it is held, may cancel or request
        self._open = True  # upstream neither cancelled nor ended
        self._cancelled = 0  # how many stages, from the first, were told of a cancel
        self._finished = -1  # the place of the last stage that ended the stream by itself
        self._subscribed = False
        self._subscriber: Subscriber[Any] | None = subscriber  # None when downstream cancelled or was told the end
        self._upstream: Subscription | None = None
        self._stages = stages
        self._runs = [stage.run() for stage in stages]
        emit: Callable[[Any], None] = self._deliver
        complete: Callable[[], None] = self._deliver_complete
        fail: Callable[[BaseException], None] = self._deliver_error
        for place in reversed(range(len(stages))):
            run = self._runs[place]
            run.emit, run.complete, run.fail = emit, complete, fail
            run.finish = self._finisher(place)
            complete, fail = run.on_complete, run.on_error
            if run.sees_elements:
                emit = run.on_next
        # Elements pass the first stages in a loop, and those behind by ``_rest``; None is the Subscriber itself.
        self._steps: list[tuple[StageRun, bool, Callable[[Any], Any]]] = []
        self._rest: Callable[[Any], None] | None = None
        for run in self._runs:
            plain = run.plain()
            if plain is not None:
                run.simplify = partial(self._simplify, len(self._steps))
                self._steps.append((run, *plain))
            elif run.sees_elements:
                self._rest = run.on_next
                break
        ask: Callable[[int], None] = self._request_upstream
        for run in self._runs:
            run.ask = ask
            ask = run.request
        self._last = ask

    # From upstream.

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if subscription is None:
            raise NullSignal("on_subscribe(None)")
        with self._lock:
            again, self._subscribed = self._subscribed, True
        subscriber = self._subscriber
        if again or subscriber is None:
            subscription.cancel()  # 2.5
            return
        self._upstream = subscription
        refused: BaseException | None = None
        try:
            for run in self._runs:
                run.on_subscribe()
        except BaseException as error:
            refused = error
            self._cancel_upstream(self._place_of(error))  # before anything is requested of it
        try:
            subscriber.on_subscribe(self)  # 1.9, also where only an error follows
        except BaseException as error:
            self._subscriber_raised(error, "on_subscribe")
        if refused is not None:
            self._stage_raised(refused)
            if hooks.is_exit(refused):
                raise refused
            return
        # The last one first: an end that a stage begins with passes those behind it when they have begun, too.
        for place in reversed(range(len(self._runs))):
            if self._subscriber is None or place < self._cancelled:
                return  # a stage has ended the stream for the Subscriber or for all before it, or he cancelled
            self._runs[place].begin()

    def on_next(self, element: Any, /) -> None:
        if element is None:
            raise NullSignal("on_next(None)")  # 2.13
        if not self._open:
            return  # 2.8
        run = None
        try:
            for run, selects, function in self._steps:
                if not selects:
                    element = function(element)
                elif not function(element):
                    run.skip()
                    return
            rest = self._rest
            if rest is not None:
                rest(element)
                return
            if element is None:
                raise null_element()
        except BaseException as error:
            self._stage_raised(error, run)
            if hooks.is_exit(error):
                raise
            return
        subscriber = self._subscriber
        if subscriber is not None:
            try:
                subscriber.on_next(element)
            except BaseException as error:
                self._subscriber_raised(error, "on_next")

    def on_error(self, error: BaseException, /) -> None:
        if error is None:
            raise NullSignal("on_error(None)")
        if not self._open:
            hooks.on_error_dropped(error, "the stream was over")
            return
        self._open = False
        self._upstream = None  # the Subscription is over: nothing is called on it (2.3, 2.4)
        self._guarded(self._runs[0].on_error, error)

    def on_complete(self) -> None:
        if self._open:  # or a stage has ended the stream, and this came too late
            self._open = False
            self._upstream = None  # 2.4
            self._guarded(self._runs[0].on_complete)

    # From downstream.

    def request(self, n: int, /) -> None:
        if n.__class__ is not int:
            n = checked_count(n)
        if self._subscriber is not None:  # 3.6
            self._guarded(self._last, n)

    def cancel(self) -> None:
        if self._take_subscriber() is not None:  # 3.7, 3.13
            self._cancel_upstream(len(self._runs))

    # From the stages.

    def _request_upstream(self, n: int) -> None:
        upstream = self._upstream
        if upstream is not None:  # or it has ended, and whichever stage holds the end back answers n <= 0 (3.9)
            upstream.request(min(n, UNBOUNDED))  # 3.17: a stranger's long holds no more

    def _simplify(self, step: int, function: Callable[[Any], Any]) -> None:
        run, selects, _ = self._steps[step]
        self._steps[step] = (run, selects, function)

    def _finisher(self, place: int) -> Callable[[], None]:
        def finish() -> None:
            if place <= self._finished:
                return  # a stage behind this one ended the stream while it was told of an element, or of the beginning
            self._finished = place
            self._cancel_upstream(place)  # 2.6
            self._runs[place].complete()

        return finish

    def _deliver(self, element: Any) -> None:
        if element is None:
            raise null_element()
        subscriber = self._subscriber
        if subscriber is None:
            return
        try:
            subscriber.on_next(element)
        except BaseException as error:
            self._subscriber_raised(error, "on_next")

    def _deliver_complete(self) -> None:
        subscriber = self._take_subscriber()
        if subscriber is not None:
            try:
                subscriber.on_complete()
            except BaseException as error:
                self._subscriber_raised(error, "on_complete", subscriber)
            finally:
                self._let_go()

    def _deliver_error(self, error: BaseException) -> None:
        subscriber = self._take_subscriber()
        if subscriber is None:
            if not hooks.is_exit(error):
                hooks.on_error_dropped(error, "the stream was over")
            return
        try:
            subscriber.on_error(error)
        except BaseException as raised:
            self._subscriber_raised(raised, "on_error", subscriber)
        finally:
            self._let_go()

    def __repr__(self) -> str:
        over = "over" if self._subscriber is None else f"live, from {self._upstream!r}"
        return f"<{'.'.join(map(repr, self._stages))}: {over}>"

    # What keeps the rules.

    def _take_subscriber(self) -> Subscriber[Any] | None:
        """End the stream for the Subscriber and forget it (3.13). Only the first caller is given it (1.7)."""
        with self._lock:
            subscriber, self._subscriber = self._subscriber, None
        return subscriber

    def _cancel_upstream(self, place: int) -> None:
        """Cancel, on behalf of the stage at this place or of the Subscriber behind the last one (2.6, 3.7)."""
        with self._lock:
            self._open = False
            upstream, self._upstream = self._upstream, None
            runs = self._runs[self._cancelled : place]
            self._cancelled = max(self._cancelled, place)
        try:
            for run in reversed(runs):
                run.on_cancel()
        finally:
            try:
                if upstream is not None:
                    upstream.cancel()
            except Exception as error:  # 3.15 is the upstream's to keep; ours has to return normally all the same
                hooks.on_error_dropped(error, f"raised by cancel() of {type(upstream).__name__}")
            for run in runs:
                run.let_go()

    def _let_go(self) -> None:
        """The end was signalled: the stages drop what they hold, though somebody keep this Subscription (3.13)."""
        for run in reversed(self._runs):
            run.let_go()

    def _guarded(self, step: Callable[..., None], *arguments: Any) -> None:
        try:
            step(*arguments)
        except BaseException as error:
            self._stage_raised(error)
            if hooks.is_exit(error):
                raise

    def _stage_raised(self, error: BaseException, run: StageRun | None = None) -> None:
        """A stage raised: upstream of it is cancelled, downstream of it fails."""
        place = self._place_of(error, run)
        self._stages[place].blame(error)
        self._cancel_upstream(place)
        try:
            self._runs[place].fail(error)
        except BaseException as raised:  # a stage behind it raised while it was told
            self._deliver_error(raised)
            if hooks.is_exit(raised):
                raise

    def _place_of(self, error: BaseException, run: StageRun | None = None) -> int:
        """Return the place of the stage whose frame is the last in the traceback; that of ``run`` if there is none."""
        place = len(self._runs) - 1 if run is None else self._runs.index(run)
        traceback = error.__traceback__
        while traceback is not None:
            there = traceback.tb_frame.f_locals.get("self")
            if isinstance(there, StageRun) and there in self._runs:
                place = self._runs.index(there)
            traceback = traceback.tb_next
        return place

    def _subscriber_raised(self, error: BaseException, signal: str, subscriber: Subscriber[Any] | None = None) -> None:
        who = self._take_subscriber() or subscriber
        self._cancel_upstream(len(self._runs))  # 2.13: counts as cancelled, and is not signalled again
        if hooks.is_exit(error):
            raise error
        hooks.on_error_dropped(error, f"raised by {signal} of {type(who).__name__}" if who else signal)
