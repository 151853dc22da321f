"""The verification of the Subscriber that each operator passes to its source.

The TCK signals this Subscriber. The Subscriber downstream of the operator reports to the probe. The verification is a
blackbox one if the operator does not emit each received element at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Event, Lock
from typing import Any, NamedTuple

import pyrs
from pyrs import schedulers
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.tck import WhiteboxProbe
from tests.conformance.entry import NOTHING, Entry, Skips, blackbox, whitebox
from tests.operator_registry import SAMPLES
from tests.operator_registry.row import Apply
from tests.operator_registry.signals import SILENT
from tests.tck.right import Puppet

__all__ = ["OPERATOR_INPUTS", "Input", "input_entry"]

_DEADLINE = 10.0


class Source(Publisher[Any]):
    """Keeps the first Subscriber that it receives, and sends it no signal."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._subscribed = Event()
        self._subscriber: Subscriber[Any] | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        with self._lock:
            if self._subscriber is None:  # an operator such as retry subscribes again
                self._subscriber = subscriber
        self._subscribed.set()

    def subscriber(self) -> Subscriber[Any]:
        """Wait for the Subscriber and return it. An operator may subscribe on another thread."""
        assert self._subscribed.wait(_DEADLINE), "the operator did not subscribe to its source"
        assert self._subscriber is not None
        return self._subscriber


class Output(Subscriber[Any]):
    """The Subscriber downstream of the operator. It reports to the probe, and registers a puppet of its Subscription.

    Args:
        probe: receives the reports; without one, the Subscriber requests everything.
        elements: returns the elements of the source that an element of the operator contains.
    """

    def __init__(self, probe: WhiteboxProbe[Any] | None, elements: Callable[[Any], Iterable[Any]]) -> None:
        self._probe = probe
        self._elements = elements

    def on_subscribe(self, subscription: Subscription, /) -> None:
        if self._probe is None:
            subscription.request(pyrs.UNBOUNDED)
        else:
            self._probe.register_on_subscribe(Puppet(subscription))

    def on_next(self, element: Any, /) -> None:
        for each in self._elements(element):
            if self._probe is not None:
                self._probe.register_on_next(each)

    def on_error(self, error: BaseException, /) -> None:
        if self._probe is not None:
            self._probe.register_on_error(error)

    def on_complete(self) -> None:
        if self._probe is not None:
            self._probe.register_on_complete()


def _itself(element: Any) -> Iterable[Any]:
    return (element,)


def _first(pair: Any) -> Iterable[Any]:
    return (pair[0],)


def _second(pair: Any) -> Iterable[Any]:
    return (pair[1],)


class Input(NamedTuple):
    """The verification of an operator's Subscriber.

    Attributes:
        apply: the call to verify; None for the call of the operator's conformance entries.
        elements: returns the elements of the source that an element of the operator contains.
        create: creates an element of the source for a number.
        whitebox: whether each element of the source is emitted at once, if there is demand.
        skips: tests that do not apply, with the reason.
        subset, all_routes: as in ``Entry``.
    """

    apply: Apply | None = None
    elements: Callable[[Any], Iterable[Any]] = _itself
    create: Callable[[int], Any] = lambda n: n
    whitebox: bool = True
    skips: Skips = NOTHING
    subset: bool = False
    all_routes: bool = False


def input_entry(name: str, given: Input, covers: tuple[str, ...] = ()) -> Entry:
    """Return the entry of the Subscriber that an operator passes to its source."""
    assert given.apply is not None
    apply = given.apply

    def make(probe: WhiteboxProbe[Any] | None = None) -> Any:
        source, output = Source(), Output(probe, given.elements)
        apply(pyrs.Stream(source)).subscribe(output)
        subscriber = source.subscriber()
        assert subscriber is not output, "the operator passed the downstream Subscriber to its source"
        return subscriber

    options: dict[str, Any] = {
        "covers": covers,
        "skips": given.skips,
        "subset": given.subset,
        "all_routes": given.all_routes,
        "create": given.create,
    }
    entry = whitebox(name, make, **options) if given.whitebox else blackbox(name, make, **options)
    entry.verification.skip_tests = {
        test: why
        for beginning, why in given.skips.items()
        for test in entry.verification.test_names()
        if test.startswith(beginning)
    }
    return entry


_AT_THE_END = Input(whitebox=False)
"""The operator emits only when its source completes, or emits other elements than it receives."""

_NEVER_CANCELS = "it reads its source to the end, also without Subscribers"
_FOR_EVER: Skips = {
    "required_exerciseWhiteboxHappyPath": _NEVER_CANCELS,
    "required_spec208": _NEVER_CANCELS,
    "beyond_spec206": _NEVER_CANCELS,
}
_DROPS: Skips = {"beyond_spec211": "it drops elements that follow too soon"}
_FORWARDS = "it forwards every call to the downstream Subscriber, which checks this rule"
_NO_WINNER = "a stream that ends before its first element does not win"

_FOLDS = ("to_list", "to_set", "to_dict", "count", "any", "all", "reduce", "last", "first", "element_at")
# The operators whose row needs another call than their conformance entries, a conversion of elements, a blackbox
# verification or skips.
_INPUTS: dict[str, Input] = {
    "map": Input(lambda s: s.map(lambda n: n), subset=True, all_routes=True),
    "with_index": Input(elements=_second),
    "materialize": _AT_THE_END,
    "dematerialize": Input(
        lambda s: s.dematerialize(),
        elements=lambda n: (pyrs.Notification.next(n),),
        create=pyrs.Notification.next,
    ),
    "decode": Input(lambda s: s.decode(), elements=lambda text: (text.encode(),), create=lambda n: str(n).encode()),
    "split_lines": Input(lambda s: s.split_lines(), elements=lambda line: (line + "\n",), create=lambda n: f"{n}\n"),
    "filter": Input(lambda s: s.filter(lambda n: True)),
    "skip": _AT_THE_END,
    "skip_last": _AT_THE_END,
    "take_last": _AT_THE_END,
    "ignore_elements": _AT_THE_END,
    "single": _AT_THE_END,
    **dict.fromkeys(_FOLDS, _AT_THE_END),
    "default_if_empty": Input(skips={"required_spec209": "an empty stream emits the value first"}),
    "first_with_value": Input(
        lambda s: s.first_with_value(pyrs.never()),
        skips={"required_spec209": _NO_WINNER, "required_spec210": _NO_WINNER},
    ),
    "concat": Input(lambda s: s.concat(pyrs.empty())),
    "switch_if_empty": Input(lambda s: s.switch_if_empty(pyrs.empty())),
    "then": Input(lambda s: s.then(pyrs.empty()), whitebox=False),
    "start_with": _AT_THE_END,
    "sequence_equal": Input(lambda s: s.sequence_equal(pyrs.never()), whitebox=False),
    "zip": Input(lambda s: s.zip(pyrs.range(2**62)), elements=_first),
    "combine_latest": Input(lambda s: s.combine_latest(pyrs.just(0)), elements=_first),
    "with_latest_from": Input(elements=_first),
    "take_until": Input(lambda s: s.take_until(pyrs.never())),
    "flat_map": Input(lambda s: s.flat_map(pyrs.just), subset=True),
    "switch_map": Input(lambda s: s.switch_map(pyrs.just)),
    "buffer": Input(elements=lambda several: several),
    "buffer(seconds)": Input(elements=lambda several: several),
    "buffer_until": Input(elements=lambda several: several),
    "buffer_while": _AT_THE_END,
    "buffer_until_changed": _AT_THE_END,
    "buffer_when": Input(lambda s: s.buffer_when(pyrs.just(0), lambda n: pyrs.never()), whitebox=False),
    "window_when": Input(lambda s: s.window_when(pyrs.just(0), lambda n: pyrs.never()), whitebox=False),
    "group_by": Input(lambda s: s.group_by(lambda n: n % 3).flat_map(lambda group: group)),
    "parallel": Input(lambda s: s.parallel(2).sequential()),
    "publish": Input(lambda s: s.publish().ref_count()),
    "replay": Input(lambda s: s.replay().ref_count()),
    "cache": Input(skips=_FOR_EVER),
    "sample": Input(skips=_DROPS),
    "debounce": Input(skips=_DROPS),
    "throttle_latest": Input(skips=_DROPS),
    "retry": Input(lambda s: s.retry(2, when=KeyError)),
    "on_error_resume": Input(lambda s: s.on_error_resume(pyrs.just(0), kind=KeyError)),
    "on_error_map": Input(lambda s: s.on_error_map(lambda error: error)),
    "on_error_return": Input(lambda s: s.on_error_return(0, kind=KeyError)),
    "log": Input(lambda s: s.log(logger=SILENT)),
    "do_on_discard": Input(skips=dict.fromkeys(("required_spec205", "required_spec213", "beyond_spec205"), _FORWARDS)),
    "subscribe_on": Input(
        skips={"beyond_spec206": "cancel does not wait for a request on the scheduler's thread, which may emit"}
    ),
    "publish_on": Input(lambda s: s.publish_on(schedulers.default()), subset=True),
}


def _entries() -> list[Entry]:
    entries = []
    for name, sample in SAMPLES.items():
        if sample.conformance is not None:
            given = _INPUTS.get(name, Input())
            if given.apply is None:
                given = given._replace(apply=sample.conformance.apply or sample.apply)
            row = f"{sample.conformance.name or name}, its Subscriber"
            entries.append(input_entry(row, given, (f"Stream.{name.partition('(')[0]}",)))
    return entries


def _other(name: str, which: str, given: Input) -> Entry:
    """Return the entry of a further Subscriber of an operator."""
    return input_entry(f"{name}, the Subscriber of {which}", given, (f"Stream.{name}",))


FURTHER_INPUTS = [
    input_entry(
        "filter, map and take in a row, their Subscriber",
        Input(lambda s: s.filter(lambda n: True).map(lambda n: n).take(2**62)),
    ),
    input_entry("publish_on inline, its Subscriber", Input(lambda s: s.publish_on(schedulers.inline()))),
    _other("flat_map", "an inner stream", Input(lambda s: pyrs.just(0).flat_map(lambda _: s))),
    _other("flat_map_sequential", "an inner stream", Input(lambda s: pyrs.just(0).flat_map_sequential(lambda _: s))),
    _other("concat_map", "an inner stream", Input(lambda s: pyrs.just(0).concat_map(lambda _: s))),
    _other("switch_map", "an inner stream", Input(lambda s: pyrs.just(0).switch_map(lambda _: s))),
    _other("filter_when", "an inner stream", Input(lambda s: pyrs.just(0).filter_when(lambda _: s), whitebox=False)),
    _other("delay_until", "an inner stream", Input(lambda s: pyrs.just(0).delay_until(lambda _: s), whitebox=False)),
    _other("merge", "the second stream", Input(lambda s: pyrs.empty().merge(s))),
    _other("merge_comparing", "the second stream", Input(lambda s: pyrs.empty().merge_comparing(s))),
    _other("concat", "the second stream", Input(lambda s: pyrs.empty().concat(s))),
    _other("then", "the second stream", Input(lambda s: pyrs.empty().then(s))),
    _other("switch_if_empty", "the fallback", Input(lambda s: pyrs.empty().switch_if_empty(s))),
    _other("on_error_resume", "the fallback", Input(lambda s: pyrs.error(KeyError()).on_error_resume(s))),
    _other("zip", "the second stream", Input(lambda s: pyrs.range(2**62).zip(s), elements=_second)),
    _other("combine_latest", "the second stream", Input(lambda s: pyrs.just(0).combine_latest(s), elements=_second)),
    _other("with_latest_from", "the second stream", Input(lambda s: pyrs.never().with_latest_from(s), whitebox=False)),
    _other("take_until", "the trigger", Input(lambda s: pyrs.never().take_until(s), whitebox=False)),
    _other("skip_until", "the trigger", Input(lambda s: pyrs.never().skip_until(s), whitebox=False)),
    _other("buffer_when", "the openings", Input(lambda s: pyrs.never().buffer_when(s, pyrs.just), whitebox=False)),
    _other("window_when", "the openings", Input(lambda s: pyrs.never().window_when(s, pyrs.just), whitebox=False)),
    _other("sequence_equal", "the second stream", Input(lambda s: pyrs.never().sequence_equal(s), whitebox=False)),
]

OPERATOR_INPUTS: list[Entry] = _entries() + FURTHER_INPUTS
