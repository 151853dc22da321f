"""Reactive Streams for Python.

The packages and modules:

    pyrs.api          Publisher, Subscriber, Subscription, Processor: the four interfaces
    pyrs.rules        the 43 rules of the specification as data
    pyrs.errors       the exception tree
    pyrs.publishers   sources: from_iterable, range, just, create, interval, ...
    pyrs.stream       Stream: a Publisher with operators; Maybe, Single, ConnectableStream
    pyrs.operators    the implementations of the operators
    pyrs.sinks        hot Publishers to push elements into: unicast, multicast, replay, SubmissionPublisher
    pyrs.schedulers   threads, asyncio loops and clocks that run tasks; virtual time
    pyrs.aio          the boundary to asyncio and trio
    pyrs.adapters     futures, queues, RxPY, rsocket-py
    pyrs.strictness   strict: a guard around a third-party Publisher or Subscriber
    pyrs.testing      TestPublisher, TestSubscriber, StepVerifier
    pyrs.tck          the referee: the Reactive Streams TCK for Python code
    pyrs.pytest_plugin  the referee's pytest plugin
    pyrs.jvm          the bridge to the JVM
    pyrs.spark        Spark DataFrames and streaming queries as Publishers
    pyrs.telemetry    spans and metrics of OpenTelemetry, and one trace across the bridge
    pyrs._core        the engine that enforces the rules

``import pyrs`` defines the names that most programs need and imports modules on first use. ``pyrs.adapters``,
``pyrs.schedulers`` and ``pyrs.sinks`` are imported on first access; import other packages, such as ``pyrs.testing`` and
``pyrs.jvm``, explicitly. ``from pyrs import *`` excludes ``range`` and ``zip``, which would hide the built-ins.

Examples:
    >>> import pyrs
    >>> pyrs.from_iterable([1, 2, 3, 4]).filter(lambda n: n % 2 == 0).map(str).collect()
    ['2', '4']
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyrs._core.demand import UNBOUNDED
from pyrs._core.hooks import set_discard_hook, set_element_hook, set_error_hook
from pyrs._core.overflow import Overflow
from pyrs.api import Processor, Publisher, Subscriber, Subscription
from pyrs.errors import NoElement, NonPositiveRequest, NullSignal, PyrsError, SpecViolation, TooManyElements
from pyrs.publishers.basic import empty, error, from_iterable, just, never
from pyrs.publishers.basic import range as range
from pyrs.stream.stream import Maybe, Single, Stream

if TYPE_CHECKING:
    from pyrs import adapters as adapters
    from pyrs import errors as errors
    from pyrs import schedulers as schedulers
    from pyrs import sinks as sinks
    from pyrs.operators.metrics import Metrics
    from pyrs.operators.notification import Notification
    from pyrs.operators.retrying import Backoff
    from pyrs.publishers.asynchronous import from_async_iterable, from_awaitable, from_future, using_when
    from pyrs.publishers.combining import combine_latest, concat, merge
    from pyrs.publishers.combining import zip as zip
    from pyrs.publishers.creating import Emitter, create
    from pyrs.publishers.deferred import defer, from_callable, generate, using
    from pyrs.publishers.timed import interval, timer
    from pyrs.stream.awaiting import AsyncSubscriber
    from pyrs.stream.parallel import ParallelStream
    from pyrs.stream.stream import ConnectableStream, GroupedStream
    from pyrs.strictness import strict

__version__ = "0.1.0"

__all__ = [
    "UNBOUNDED",
    "AsyncSubscriber",
    "Backoff",
    "ConnectableStream",
    "Emitter",
    "GroupedStream",
    "Maybe",
    "Metrics",
    "NoElement",
    "NonPositiveRequest",
    "Notification",
    "NullSignal",
    "Overflow",
    "ParallelStream",
    "Processor",
    "Publisher",
    "PyrsError",
    "Single",
    "SpecViolation",
    "Stream",
    "Subscriber",
    "Subscription",
    "TooManyElements",
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
    "set_discard_hook",
    "set_element_hook",
    "set_error_hook",
    "strict",
    "timer",
    "using",
    "using_when",
]

# These names are imported on first access: each module takes a fraction of a millisecond, and most programs use few.
_LAZY_NAMES = {
    name: f"pyrs.{module}"
    for module, names in {
        "operators.metrics": ("Metrics",),
        "operators.notification": ("Notification",),
        "operators.retrying": ("Backoff",),
        "publishers.asynchronous": ("from_async_iterable", "from_awaitable", "from_future", "using_when"),
        "publishers.combining": ("combine_latest", "concat", "merge", "zip"),
        "publishers.creating": ("Emitter", "create"),
        "publishers.deferred": ("defer", "from_callable", "generate", "using"),
        "publishers.timed": ("interval", "timer"),
        "stream.awaiting": ("AsyncSubscriber",),
        "stream.parallel": ("ParallelStream",),
        "stream.stream": ("ConnectableStream", "GroupedStream"),
        "strictness": ("strict",),
    }.items()
    for name in names
}
_LAZY_MODULES = ("adapters", "schedulers", "sinks")
_OTHER_NAMES = {
    **{name: f"import pyrs.{name} first" for name in ("aio", "jvm", "rules", "spark", "tck", "telemetry", "testing")},
    "ops": "operators are methods of a Stream, such as stream.map(function)",
    "of": "use just()",
    "from_": "use from_iterable()",
    "throw": "use error()",
    "Scheduler": "use schedulers.Scheduler",
    "Flux": "use Stream, and functions such as from_iterable()",
    "Mono": "use Maybe or Single, and functions such as from_callable()",
    "Observable": "use Stream, and functions such as from_iterable()",
    "Subject": "use pyrs.sinks, such as sinks.multicast()",
    **dict.fromkeys(("from_list", "from_array", "iterable"), "use from_iterable()"),
    **dict.fromkeys(("launch", "connect"), "import pyrs.jvm, and use it from there"),
    **dict.fromkeys(("from_dataframe", "from_stream", "read_stream"), "import pyrs.spark, and use it from there"),
}


def _advice(name: str) -> str:
    snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name)
    if name in _OTHER_NAMES:
        return f": {_OTHER_NAMES[name]}"
    if snake in __all__:
        return f": use {snake}()"
    if not snake.startswith("_") and hasattr(Stream, snake):
        return f": operators are methods of a Stream, such as stream.{snake}()"
    return ""


if not TYPE_CHECKING:  # a type checker would accept every attribute

    def __getattr__(name: str) -> Any:
        from importlib import import_module

        module = _LAZY_NAMES.get(name)
        if module is None:
            if name in _LAZY_MODULES:
                return import_module(f"{__name__}.{name}")
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}{_advice(name)}")
        value = getattr(import_module(module), name)
        globals()[name] = value  # later accesses bypass this function
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY_NAMES, *_LAZY_MODULES} - {"Any", "TYPE_CHECKING", "annotations"})
