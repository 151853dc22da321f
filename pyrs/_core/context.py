"""Context variables: what was set when a stream was subscribed to is seen by every callback of it.

A scheduler carries no context. It could only capture the one of whoever hands it a task, and an operator's lane hands
itself over from whichever thread brought the element: that context is somebody else's. So an operator captures once,
in ``subscribe``, and binds what it gives away:

    context = capture()
    execute = bound_executor(schedulers.current(scheduler), context)    # for the lane
    handle = scheduler.schedule(bound(task, context), delay)            # for a timer

A source whose signals come from foreign threads (a sink, a JVM) wraps its Subscriber by ``in_context`` instead. For a
Publisher of somebody else's, of whose threads nothing is known, whoever subscribes to it does: by ``attach``. Ours say
by ``carries_context`` that there is nothing left to do.

Each task, and each signal, runs in a copy of the captured context, because a context can be entered once at a time and
signals nest and overlap. A copy costs about a tenth of a microsecond, whatever is in it. So what one callback sets is
not seen by the next. Where nothing was set, nothing is carried and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextvars import Context, copy_context
from functools import partial
from typing import Any, Protocol, TypeVar

from pyrs._core.fusion import IteratorConsumer
from pyrs.api import Publisher, Subscriber, Subscription

__all__ = ["attach", "bound", "bound_executor", "capture", "in_context"]

T = TypeVar("T")
Task = Callable[[], object]


class _Executes(Protocol):
    def execute(self, task: Task) -> None: ...


def capture() -> Context | None:
    """Return the caller's context, None when there is nothing in it to carry."""
    context = copy_context()
    return context if len(context) else None


def bound(task: Task, context: Context | None) -> Task:
    """Return a task that runs this one in a copy of the context each time; the task itself where there is none."""
    return task if context is None else partial(_run, context, task)


def _run(context: Context, task: Task) -> object:
    return context.copy().run(task)


def bound_executor(scheduler: _Executes, context: Context | None) -> Callable[[Task], None]:
    """Return ``scheduler.execute``, made to run each task in a copy of the context."""
    execute = scheduler.execute
    if context is None:
        return execute
    # Each of these is run once, so that it can have its copy when it is made: no Python frame in between.
    return lambda task: execute(partial(context.copy().run, task))


def in_context(subscriber: Subscriber[T]) -> Subscriber[T]:
    """Return a Subscriber that takes each signal in a copy of the context that is captured here.

    That is the subscriber itself when there is nothing to carry. Its Subscription is the one that comes, and where it
    takes elements many at a time (``IteratorConsumer``) what is returned does too.
    """
    context = capture()
    if context is None:
        return subscriber
    if isinstance(subscriber, IteratorConsumer):
        return _ConsumerInContext(subscriber, subscriber, context)
    return _SubscriberInContext(subscriber, context)


def attach(source: Publisher[T], subscriber: Subscriber[T]) -> None:
    """Subscribe; the caller's context is seen by every signal, also where the source is a stranger's."""
    source.subscribe(subscriber if getattr(source, "carries_context", False) else in_context(subscriber))


class _SubscriberInContext(Subscriber[T]):
    def __init__(self, subscriber: Subscriber[T], context: Context) -> None:
        self._subscriber = subscriber
        self._context = context

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self._context.copy().run(self._subscriber.on_subscribe, subscription)

    def on_next(self, element: T, /) -> None:
        self._context.copy().run(self._subscriber.on_next, element)

    def on_error(self, error: BaseException, /) -> None:
        self._context.copy().run(self._subscriber.on_error, error)

    def on_complete(self) -> None:
        self._context.copy().run(self._subscriber.on_complete)

    def __repr__(self) -> str:
        return repr(self._subscriber)


class _ConsumerInContext(_SubscriberInContext[T], IteratorConsumer[T]):
    def __init__(self, subscriber: Subscriber[T], consumer: IteratorConsumer[T], context: Context) -> None:
        super().__init__(subscriber, context)
        self._consumer = consumer
        self.steady_only = consumer.steady_only

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        return self._context.copy().run(self._consumer.consume, iterator, limit)
