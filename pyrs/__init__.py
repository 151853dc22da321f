"""Reactive Streams for Python.

The house, room by room:

    pyrs.api          Publisher, Subscriber, Subscription, Processor: the four interfaces
    pyrs.rules        the 43 rules of the specification as data
    pyrs.errors       every error, drawn as a tree
    pyrs.publishers   sources: from_iterable, range, just, create, interval, ...
    pyrs.stream       Stream: a Publisher with operators, a file per family; Single, ConnectableStream
    pyrs.operators    what the operators do, a file per family
    pyrs.sinks        what you push elements into: unicast, multicast, replay, SubmissionPublisher
    pyrs.schedulers   on which thread a task runs, and when; virtual time
    pyrs.aio          the asyncio edge
    pyrs.adapters     futures, queues, RxPY, rsocket-py
    pyrs.strictness   strict: a guard around somebody else's Publisher or Subscriber
    pyrs.testing      TestPublisher, TestSubscriber, StepVerifier, for your tests and ours
    pyrs.tck          the referee: does my Publisher keep the rules?
    pyrs.pytest_plugin  lets the referee into pytest
    pyrs.jvm          the bridge to the JVM
    pyrs.spark        Spark's DataFrames and streaming queries as Publishers
    pyrs._core        the machinery that keeps the rules

``import pyrs`` shows what most programs need, and loads no more than they use. Sinks, schedulers and adapters are there
as ``pyrs.sinks`` and so on; testing, tck, jvm and spark are imported by their names, for they bring more with them.
``from pyrs import *`` leaves ``range`` and ``zip`` out: those names are Python's.

Examples:
    >>> import pyrs
    >>> pyrs.from_iterable([1, 2, 3, 4]).filter(lambda n: n % 2 == 0).map(str).collect()
    ['2', '4']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrs._core.demand import UNBOUNDED
from pyrs._core.hooks import set_element_hook, set_error_hook
from pyrs._core.overflow import Overflow
from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.errors import NoElement, NonPositiveRequest, NullSignal, PyrsError, SpecViolation
from pyrs.publishers.basic import empty, error, from_iterable, just, never
from pyrs.publishers.basic import range as range
from pyrs.stream.single import Single
from pyrs.stream.stream import Stream

if TYPE_CHECKING:
    from pyrs import adapters as adapters
    from pyrs import schedulers as schedulers
    from pyrs import sinks as sinks
    from pyrs.operators.backoff import Backoff
    from pyrs.operators.metrics import Metrics
    from pyrs.operators.notification import Notification
    from pyrs.publishers.asynchronous import from_async_iterable, from_awaitable, from_future
    from pyrs.publishers.combining import combine_latest, concat, merge
    from pyrs.publishers.combining import zip as zip
    from pyrs.publishers.creating import Emitter, create
    from pyrs.publishers.deferred import defer, from_callable, generate, using
    from pyrs.publishers.timed import interval, timer
    from pyrs.stream.awaiting import AsyncSubscriber
    from pyrs.stream.connectable import ConnectableStream
    from pyrs.stream.grouped import GroupedStream
    from pyrs.strictness import strict

__version__ = "0.1.0"

__all__ = [
    "UNBOUNDED",
    "AsyncSubscriber",
    "Backoff",
    "ConnectableStream",
    "Emitter",
    "GroupedStream",
    "Metrics",
    "NoElement",
    "NonPositiveRequest",
    "Notification",
    "NullSignal",
    "Overflow",
    "Processor",
    "Publisher",
    "PyrsError",
    "Single",
    "SpecViolation",
    "Stream",
    "Subscriber",
    "Subscription",
    "combine_latest",
    "concat",
    "create",
    "defer",
    "empty",
    "error",
    "from_async_iterable",
    "from_awaitable",
    "from_callable",
    "from_future",
    "from_iterable",
    "generate",
    "interval",
    "just",
    "merge",
    "never",
    "set_element_hook",
    "set_error_hook",
    "strict",
    "timer",
    "using",
]

# Most programs use a few of these, and every module costs part of a millisecond: they are imported when they are used.
_FOUND_IN = {
    "Backoff": "pyrs.operators.backoff",
    "Metrics": "pyrs.operators.metrics",
    "Notification": "pyrs.operators.notification",
    "from_async_iterable": "pyrs.publishers.asynchronous",
    "from_awaitable": "pyrs.publishers.asynchronous",
    "from_future": "pyrs.publishers.asynchronous",
    "combine_latest": "pyrs.publishers.combining",
    "concat": "pyrs.publishers.combining",
    "merge": "pyrs.publishers.combining",
    "zip": "pyrs.publishers.combining",
    "Emitter": "pyrs.publishers.creating",
    "create": "pyrs.publishers.creating",
    "defer": "pyrs.publishers.deferred",
    "from_callable": "pyrs.publishers.deferred",
    "generate": "pyrs.publishers.deferred",
    "using": "pyrs.publishers.deferred",
    "interval": "pyrs.publishers.timed",
    "timer": "pyrs.publishers.timed",
    "AsyncSubscriber": "pyrs.stream.awaiting",
    "ConnectableStream": "pyrs.stream.connectable",
    "GroupedStream": "pyrs.stream.grouped",
    "strict": "pyrs.strictness",
}
_ROOMS = ("adapters", "schedulers", "sinks")  # that are asked for by their names
_ROOMS_TO_IMPORT = ("aio", "jvm", "rules", "spark", "tck", "testing")


if not TYPE_CHECKING:  # to a type checker it would say that there is every name

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        module = _FOUND_IN.get(name)
        if module is None:
            if name in _ROOMS:
                return import_module(f"{__name__}.{name}")
            what_to_do = f": import pyrs.{name} first" if name in _ROOMS_TO_IMPORT else ""
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{what_to_do}")
        value = getattr(import_module(module), name)
        globals()[name] = value  # the next time it is found at once
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_FOUND_IN, *_ROOMS} - {"Any", "TYPE_CHECKING", "annotations"})
