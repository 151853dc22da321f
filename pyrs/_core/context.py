"""Propagate context variables from ``subscribe`` to every callback of a stream.

A scheduler cannot propagate them: it could only capture the context of the thread that submits a task, and an
operator's drain loop submits itself from any thread that delivers an element. Therefore an operator captures the
context once, in ``subscribe``, and binds its tasks to it:

    context = capture()
    execute = bound_executor(schedulers.current(scheduler), context)    # for the drain loop
    handle = scheduler.schedule(bound(task, context), delay)            # for a timer

A source with signals from other threads (a sink, a JVM) wraps its Subscriber with ``in_context`` instead. ``attach``
does the same for a third-party Publisher, whose threads are unknown. A Publisher of pyrs whose ``carries_context`` is
true needs no wrapper.

Each task and each signal runs in a copy of the captured context, because a context cannot be entered twice at the
same time, and signals may nest and overlap. A variable that one callback sets is therefore not visible to the next. A
copy costs about 0.1 µs, whatever it contains. An empty context is not propagated and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Protocol, cast

from pyrs._core import hooks
from pyrs._core.blocked_threads import check_not_blocked
from pyrs._core.downstream import SubscriberWrapper
from pyrs._core.fusion import IteratorConsumer
from pyrs.api import Publisher, R, Subscriber, Subscription, T

Task = Callable[[], object]


class _Executes(Protocol):
    def execute(self, task: Task) -> None: ...


def capture() -> Context | None:
    """Return the caller's context, or None if it is empty."""
    context = copy_context()
    return context if len(context) else None


def bound(function: Callable[..., R], context: Context | None) -> Callable[..., R]:
    """Return the function, bound to a copy of the context unless that is None."""
    return function if context is None else lambda *arguments: context.copy().run(function, *arguments)


def bound_executor(scheduler: _Executes, context: Context | None) -> Callable[[Task], None]:
    """Return a form of ``scheduler.execute`` that runs tasks in a copy of the context.

    Raises:
        RuntimeError: the scheduler runs tasks on the loop that the thread of this call stalls.
    """
    check_not_blocked(getattr(scheduler, "loop", None))
    execute = scheduler.execute
    execute_owned: Any = getattr(scheduler, "execute_owned", None)
    if execute_owned is not None:

        def execute_on_loop(task: Task) -> None:
            owner = getattr(task, "__self__", None)  # a drain loop, whose method the task is
            discarded = getattr(owner, "discarded", lambda error: None)
            execute_owned(bound(task, context), bound(discarded, context))

        return execute_on_loop
    if context is None:
        return execute
    # Each task runs once, so its copy is made here, which saves a Python frame per task.
    return lambda task: execute(partial(context.copy().run, task))


def in_context(subscriber: Subscriber[T]) -> Subscriber[T]:
    """Return a Subscriber that receives each signal in a copy of the current context.

    Returns the Subscriber itself if the context is empty. The Subscription is forwarded unchanged. The result for an
    ``IteratorConsumer`` is an ``IteratorConsumer``.
    """
    context = capture()
    if context is None:
        return subscriber
    if isinstance(subscriber, IteratorConsumer):
        return _ConsumerInContext(subscriber, context)
    return _SubscriberInContext(subscriber, context)


def attach(source: Publisher[T], subscriber: Subscriber[T]) -> None:
    """Subscribe so that every signal runs in the caller's context.

    This includes the signals of a third-party Publisher.
    """
    if _is_marked(source, "wraps_source"):
        source = cast("Any", source).source  # bypasses a Stream, which checks and observes the Subscribers of users
    source.subscribe(subscriber if _is_marked(source, "carries_context") else in_context(subscriber))


def attach_safely(source: Publisher[T], subscriber: Subscriber[T]) -> None:
    """Attach; signal an exception of ``subscribe`` as an error of the source (§1.9)."""
    try:
        attach(source, subscriber)
    except BaseException as error:
        if hooks.is_exit(error):
            raise
        subscriber.on_error(error)


def _is_marked(source: object, mark: str) -> bool:
    """Return whether the object has this marker attribute of pyrs, and it is true."""
    try:
        return bool(getattr(source, mark, False))
    except Exception:  # raised by __getattr__ of a third-party class
        return False


class _SubscriberInContext(SubscriberWrapper[T]):
    def __init__(self, subscriber: Subscriber[T], context: Context) -> None:
        super().__init__(subscriber)
        self._context = context
        self._copy, self._on_next = context.copy, subscriber.on_next  # looked up once, not for each element

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._context.copy().run(self._subscriber.on_subscribe, subscription)

    def on_next(self, element: T, /) -> None:
        self._copy().run(self._on_next, element)

    def on_error(self, error: BaseException, /) -> None:
        self._context.copy().run(self._subscriber.on_error, error)

    def on_complete(self) -> None:
        self._context.copy().run(self._subscriber.on_complete)


class _ConsumerInContext(_SubscriberInContext[T], IteratorConsumer[T]):
    def __init__(self, subscriber: Any, context: Context) -> None:
        super().__init__(subscriber, context)
        self.steady_only = subscriber.steady_only
        self._consume: Callable[[Iterator[Any], int], int] = subscriber.consume

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        return self._context.copy().run(self._consume, iterator, limit)
