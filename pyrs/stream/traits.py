"""Describe the demand, buffers and threads of operators, for ``Stream.explain``.

A test compares the entries with the registry of operators (``tests/operator_registry``). A name in braces is replaced
by the value of that attribute of the operator's object, such as the actual ``prefetch``.
"""

from __future__ import annotations

import os
import re
from typing import Any, Final, NamedTuple

from pyrs._core.demand import UNBOUNDED
from pyrs._core.sites import Site

_NOTHING: Final = "nothing"


class Trait(NamedTuple):
    """The behaviour of one operator.

    Attributes:
        demand: the elements that it requests from upstream.
        holds: the maximum number of elements that it buffers.
        thread: the thread of its signals, if it is not upstream's; otherwise an empty string.
        bounded: whether its demand is bounded even if downstream requests unbounded demand.
    """

    demand: str = "exact"
    holds: str = _NOTHING
    thread: str = ""
    bounded: bool = False


class ExplainedStep(NamedTuple):
    """One operator of a stream, or its source.

    Attributes:
        call: the user's call, such as ``map(str)``.
        site: the line of user code that assembled it, if it is known.
        demand, holds, thread, bounded: see ``Trait``.
        branch: the position among the inputs of each combining operator downstream; empty for the main chain.
    """

    call: str
    site: Site | None
    demand: str
    holds: str
    thread: str
    bounded: bool
    branch: tuple[int, ...] = ()

    @property
    def buffers(self) -> bool:
        """True if it buffers elements."""
        return self.holds != _NOTHING


_NAME = re.compile(r"\{(\w+)\}")
_DROPPING = "exact, one more for each dropped element"
_EVERYTHING = "everything, with the first demand"

# The keys are names of classes, or names of operators if several operators share a class.
_TRAITS: Final = {
    "Decode": Trait("exact, one more for each chunk without a complete character", "an incomplete character"),
    "SplitLines": Trait("exact: a chunk when no line is left; everything, if that is demanded", "{lines}"),
    "AsyncMap": Trait("ahead: {concurrency}", "{concurrency}", "an asyncio loop", bounded=True),
    "Scan": Trait("exact; an initial value uses one", "one value"),
    **dict.fromkeys(("Handle", "Filter", "OfType", "SkipWhile", "Throttle"), Trait(_DROPPING)),
    "Materialize": Trait("exact", "one notification"),
    "Distinct": Trait(_DROPPING, "grows: each key"),
    "DistinctUntilChanged": Trait(_DROPPING, "one key"),
    "Skip": Trait("exact, and {count} more the first time"),
    "SkipLast": Trait("exact, and {count} more the first time", "{count}"),
    "Take": Trait("exact, never more than {count}", bounded=True),
    "TakeLast": Trait(_EVERYTHING, "{count}"),
    **dict.fromkeys(("IgnoreElements", "Count", "Match"), Trait(_EVERYTHING)),
    **dict.fromkeys(("ToList", "ToSet"), Trait(_EVERYTHING, "grows: all elements")),
    "ToDict": Trait(_EVERYTHING, "grows: all keys"),
    **dict.fromkeys(("Reduce", "Last"), Trait(_EVERYTHING, "one value")),
    "First": Trait("exact: one", bounded=True),
    "ElementAt": Trait("{index} + 1, with the first demand", bounded=True),
    "OnlyElement": Trait("two, with the first demand", "one value", bounded=True),
    **dict.fromkeys(("DefaultIfEmpty", "on_error_return"), Trait("exact", "one value")),
    **dict.fromkeys(
        ("Merge", "MergeComparing", "Zip", "SequenceEqual"),
        Trait("ahead: {prefetch} of each", "{prefetch} of each", bounded=True),
    ),
    **dict.fromkeys(("FirstWithSignal", "FirstWithValue"), Trait("exact, of each until one has won")),
    **dict.fromkeys(("Concat", "SwitchIfEmpty"), Trait("exact; the remaining demand goes to the next source")),
    "Then": Trait("everything, with the first demand; exact of the other"),
    "StartWith": Trait("exact, once its own elements are consumed", "its own elements"),
    "CombineLatest": Trait("ahead: {prefetch} of each", "{prefetch} of each, and the latest", bounded=True),
    "WithLatestFrom": Trait(f"{_DROPPING}; everything of the other", "one of the other"),
    "TakeUntil": Trait("exact; one of the other"),
    "SkipUntil": Trait(f"{_DROPPING}; one of the other"),
    **dict.fromkeys(
        ("FlatMap", "FlatMapSequential"),
        Trait("ahead: {concurrency}, and {prefetch} of each inner stream", "{concurrency} * {prefetch}", bounded=True),
    ),
    "Expand": Trait("ahead: {prefetch} of one stream at a time", "{prefetch}; grows: elements to expand", bounded=True),
    "ConcatMap": Trait("ahead: {prefetch}; exact of the inner stream", "{prefetch}", bounded=True),
    **dict.fromkeys(("FilterWhen", "DelayUntil", "Publish"), Trait("ahead: {prefetch}", "{prefetch}", bounded=True)),
    "SwitchOnFirst": Trait("ahead: one element; then as the returned Publisher", "one element"),
    "SwitchMap": Trait("everything; {prefetch} of the inner stream", "one, and {prefetch} of the inner stream"),
    "BufferCount": Trait("{count} for each list", "the open lists, of {count}"),
    "BufferTime": Trait("ahead: {capacity}", "a list and {capacity}", "{scheduler}", bounded=True),
    "BufferBy": Trait("exact, one more for each element that ends no list", "grows: one list"),
    "BufferWhen": Trait("ahead: {prefetch}; one opening for each list", "grows: the open lists", bounded=True),
    "WindowCount": Trait("{count} for each window", "{count} for each unread window"),
    "WindowTime": Trait(
        "the remaining capacity of the open window: {capacity}", "{capacity}", "{scheduler}", bounded=True
    ),
    "WindowWhen": Trait("ahead: {prefetch}; one opening for each window", "{prefetch} in each window", bounded=True),
    "WindowBy": Trait("ahead: {prefetch}", "{prefetch}, in all windows together", bounded=True),
    "GroupBy": Trait("ahead: {prefetch}", "{prefetch}, in all groups together", bounded=True),
    **dict.fromkeys(("Sample", "ThrottleLatest", "Debounce"), Trait("everything", "two", "{scheduler}")),
    "Delay": Trait("exact, at most {prefetch} at a time", "{prefetch}", "{scheduler}", bounded=True),
    "DelaySubscription": Trait("exact, after the delay", "nothing", "{scheduler}"),
    **dict.fromkeys(("Retry", "Repeat"), Trait("exact; the remaining demand goes to the next attempt")),
    "RetryWhen": Trait("exact; the remaining demand goes to the next attempt", "one error"),
    "RepeatWhen": Trait("exact; the remaining demand goes to the next attempt", "one number"),
    "on_error_resume": Trait("exact; the remaining demand goes to the fallback"),
    "PublishOn": Trait("ahead: {prefetch}", "{prefetch}", "{scheduler}", bounded=True),
    "SubscribeOn": Trait("exact", "nothing", "{scheduler}"),
    "Sequential": Trait("ahead: {prefetch} of each rail", "{prefetch} of each rail", "{thread}", bounded=True),
    "LimitRate": Trait("ahead: {high}", "{high}", bounded=True),
    "BackpressureBuffer": Trait("everything", "{capacity}"),
    "BackpressureReduce": Trait("everything", "one"),
    **dict.fromkeys(("BackpressureDrop", "BackpressureError"), Trait("everything")),
    "Replay": Trait("ahead: {prefetch} of the slowest", "{history}", bounded=True),
    "Replay without a limit": Trait("everything", "grows: all elements"),
    **dict.fromkeys(("AutoConnect", "RefCount"), Trait("of the shared stream")),
    # Sources
    "_Interval": Trait("ignored", "one, or nothing", "{scheduler}"),
    "_Create": Trait("visible to the function", "{capacity}", "the threads that push"),
    "AsyncIterablePublisher": Trait("exact: awaited", "nothing", "an asyncio loop"),
    "_FuturePublisher": Trait("the result waits for demand", "nothing", "the thread that resolves the future"),
    **dict.fromkeys(("_Defer", "_Using", "UsingWhen"), Trait("as the created Publisher")),
    "_InertPublisher": Trait("not needed"),
    "IterablePublisher": Trait("exact: pulled"),
    "JavaPublisher": Trait("a window over the bridge", "the window", "the thread of the bridge"),
}


def _value_of(subject: Any, name: str) -> str:
    """Return the text for a name in braces."""
    if name == "scheduler":
        scheduler = getattr(subject, "scheduler", None)
        return "the scheduler of subscribe" if scheduler is None else scheduler_name(scheduler)
    if name == "capacity" and not hasattr(subject, "capacity"):  # BufferTime and WindowTime
        return str(min(subject.prefetch, subject.count or UNBOUNDED))
    if name == "lines":
        return "the lines of a chunk" + ("; grows: one line" if subject.max_length is None else "")
    if name == "history":
        return str(max(subject.limit, subject.prefetch))
    value = getattr(subject, name)
    return "unbounded" if isinstance(value, int) and value >= UNBOUNDED else str(value)


def scheduler_name(scheduler: object) -> str:
    """Return the repr of a scheduler without its state, such as ``single('io')``."""
    shown = repr(scheduler)
    return shown.strip("<>").partition(": ")[0] if shown.startswith("<") else shown


def short_site(site: Site | None) -> str:
    """Return the site, with a relative path inside the working directory."""
    if site is None:
        return ""
    try:
        relative = os.path.relpath(site.file)
    except (OSError, ValueError):  # another drive, or a working directory that was deleted
        return str(site)
    return str(site) if relative.startswith("..") else f"{relative}:{site.line}"


def trait_of(subject: object, name: str) -> Trait:
    """Return the behaviour of an operator or a source, given its object and its name."""
    kind = type(subject).__name__
    if kind == "Replay" and getattr(subject, "limit", None) is None:
        kind = "Replay without a limit"
    known = _TRAITS.get(name if kind == "OnErrorResume" else kind)
    if known is None:
        ahead = getattr(subject, "prefetch", None)
        return Trait(f"ahead: {ahead}", str(ahead), bounded=True) if isinstance(ahead, int) else Trait()
    demand, holds, thread = (_NAME.sub(lambda name: _value_of(subject, name[1]), text) for text in known[:3])
    if holds == "unbounded":
        holds = "grows: all elements"
    if kind == "Retry" and getattr(subject, "backoff", None) is not None:
        thread = _value_of(subject, "scheduler")
    return Trait(demand, _NOTHING if holds == "0" else holds, thread, known.bounded)
