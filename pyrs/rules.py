"""The 43 rules of Reactive Streams 1.0.4 as data, with the enforcing code.

The text is the specification's (https://github.com/reactive-streams/reactive-streams-jvm/tree/v1.0.4, licence MIT-0).
``python -m pyrs.rules > docs/rules.md`` renders the page.

Examples:
    >>> RULES["3.9"].party, RULES["3.9"].strength
    ('Subscription', 'MUST')
"""

from __future__ import annotations

import re
from typing import NamedTuple

__all__ = ["RULES", "Rule", "as_markdown"]


class Rule(NamedTuple):
    """One rule of the specification.

    Attributes:
        number: the number, such as "1.1".
        party: the interface that the rule applies to: Publisher, Subscriber, Subscription or Processor.
        strength: MUST, SHOULD or MAY, the strongest of these words in the text. REQUIRED counts as MUST, and
            RECOMMENDED as SHOULD.
        text: the specification's text.
        enforced_by: the dotted names of the code in pyrs that enforces the rule. A test resolves them.
        note: a remark on the rule; the page shows it if no code enforces the rule.
    """

    number: str
    party: str
    strength: str
    text: str
    enforced_by: tuple[str, ...] = ()
    note: str = ""


_PARTIES = {"1": "Publisher", "2": "Subscriber", "3": "Subscription", "4": "Processor"}


def _rule(number: str, text: str, enforced_by: tuple[str, ...] = (), note: str = "") -> Rule:
    """Return a rule with the party of its section and the strength of its text."""
    words = set(re.findall("[A-Z]+", text))
    strength = "MUST" if words & {"MUST", "REQUIRED"} else "SHOULD" if words & {"SHOULD", "RECOMMENDED"} else "MAY"
    return Rule(number, _PARTIES[number[0]], strength, text, enforced_by, note)


_DOWNSTREAM = "pyrs._core.downstream.DownstreamSubscription"
_ITERATING = "pyrs._core.iterating.IteratorSubscription"
_PUSHED_CHAIN = "pyrs._core.pushed_chain.PushedChainSubscriber"
_COORDINATOR = "pyrs._core.coordinator.Coordinator"
_ARBITER = "pyrs._core.arbiter.SubscriptionArbiter"
_DRAIN = "pyrs._core.drain.DrainLoop"
_INPUT = "pyrs._core.inputs.Input"
_GUARD = "pyrs._core.guard.GuardedSubscriber"
_CALLBACKS = "pyrs._core.callbacks.CallbackSubscriber"
_PREFETCHING = "pyrs._core.inputs.PrefetchingInput"

_ALL = (
    _rule(
        "1.1",
        "The total number of onNext's signalled by a Publisher to a Subscriber MUST be less than or equal to the total "
        "number of elements requested by that Subscriber's Subscription at all times.",
        (f"{_ITERATING}._produce", f"{_GUARD}.on_next", _COORDINATOR, _ARBITER),
    ),
    _rule(
        "1.2",
        "A Publisher MAY signal fewer onNext than requested and terminate the Subscription by calling onComplete or "
        "onError.",
        note="A permission. Streams terminate early if their source does.",
    ),
    _rule(
        "1.3",
        "onSubscribe, onNext, onError and onComplete signaled to a Subscriber MUST be signaled serially.",
        (_DOWNSTREAM, _GUARD, _COORDINATOR, _DRAIN),
    ),
    _rule("1.4", "If a Publisher fails it MUST signal an onError.", (f"{_DOWNSTREAM}._fail",)),
    _rule(
        "1.5",
        "If a Publisher terminates successfully (finite stream) it MUST signal an onComplete.",
        (f"{_DOWNSTREAM}._complete",),
    ),
    _rule(
        "1.6",
        "If a Publisher signals either onError or onComplete on a Subscriber, that Subscriber's Subscription MUST be "
        "considered cancelled.",
        (f"{_DOWNSTREAM}._terminate",),
    ),
    _rule(
        "1.7",
        "Once a terminal state has been signaled (onError, onComplete) it is REQUIRED that no further signals occur.",
        (f"{_DOWNSTREAM}._terminate", _GUARD),
    ),
    _rule(
        "1.8",
        "If a Subscription is cancelled its Subscriber MUST eventually stop being signaled.",
        (f"{_DOWNSTREAM}.cancel",),
    ),
    _rule(
        "1.9",
        "Publisher.subscribe MUST call onSubscribe on the provided Subscriber prior to any other signals to that "
        "Subscriber and MUST return normally, except when the provided Subscriber is null in which case it MUST throw "
        "a java.lang.NullPointerException to the caller, for all other situations the only legal way to signal failure "
        "(or reject the Subscriber) is by calling onError (after calling onSubscribe).",
        ("pyrs._core.downstream.checked_subscriber", f"{_DOWNSTREAM}._introduce", _GUARD),
    ),
    _rule(
        "1.10",
        "Publisher.subscribe MAY be called as many times as wanted but MUST be with a different Subscriber each time "
        "[see 2.12].",
        (f"{_GUARD}.refuse",),
        note="The rule applies to the caller. Cold sources serve every Subscriber; a guard reports violations.",
    ),
    _rule(
        "1.11",
        "A Publisher MAY support multiple Subscribers and decides whether each Subscription is unicast or multicast.",
        note="A choice. Cold sources serve each Subscriber separately.",
    ),
    _rule(
        "2.1",
        "A Subscriber MUST signal demand via Subscription.request(long n) to receive onNext signals.",
        ("pyrs.operators.terminal._ForEach", _CALLBACKS, _PREFETCHING),
    ),
    _rule(
        "2.2",
        "If a Subscriber suspects that its processing of signals will negatively impact its Publisher's responsivity, "
        "it is RECOMMENDED that it asynchronously dispatches its signals.",
        ("pyrs.aio.iteration._Inbox",),
    ),
    _rule(
        "2.3",
        "Subscriber.onComplete() and Subscriber.onError(Throwable t) MUST NOT call any methods on the Subscription or "
        "the Publisher.",
        (f"{_PUSHED_CHAIN}.on_error", _INPUT, f"{_GUARD}._begin_call"),
    ),
    _rule(
        "2.4",
        "Subscriber.onComplete() and Subscriber.onError(Throwable t) MUST consider the Subscription cancelled after "
        "having received the signal.",
        (f"{_PUSHED_CHAIN}.on_error", _CALLBACKS, f"{_INPUT}._close", _INPUT),
    ),
    _rule(
        "2.5",
        "A Subscriber MUST call Subscription.cancel() on the given Subscription after an onSubscribe signal if it "
        "already has an active Subscription.",
        (
            f"{_PUSHED_CHAIN}.on_subscribe",
            f"{_CALLBACKS}.on_subscribe",
            f"{_INPUT}.on_subscribe",
            f"{_GUARD}.on_subscribe",
            _INPUT,
        ),
    ),
    _rule(
        "2.6",
        "A Subscriber MUST call Subscription.cancel() if the Subscription is no longer needed.",
        (f"{_PUSHED_CHAIN}._cancel_upstream", f"{_INPUT}.cancel", _INPUT),
    ),
    _rule(
        "2.7",
        "A Subscriber MUST ensure that all calls on its Subscription's request and cancel methods are performed "
        "serially.",
        (_PREFETCHING, f"{_GUARD}._begin_call"),
    ),
    _rule(
        "2.8",
        "A Subscriber MUST be prepared to receive one or more onNext signals after having called Subscription.cancel() "
        "if there are still requested elements pending [see 3.12]. Subscription.cancel() does not guarantee to perform "
        "the underlying cleaning operations immediately.",
        (f"{_PUSHED_CHAIN}.on_next", _INPUT),
    ),
    _rule(
        "2.9",
        "A Subscriber MUST be prepared to receive an onComplete signal with or without a preceding "
        "Subscription.request(long n) call.",
        (_INPUT,),
    ),
    _rule(
        "2.10",
        "A Subscriber MUST be prepared to receive an onError signal with or without a preceding "
        "Subscription.request(long n) call.",
        (_INPUT,),
    ),
    _rule(
        "2.11",
        "A Subscriber MUST make sure that all calls on its signal methods happen-before the processing of the "
        "respective signals. I.e. the Subscriber must take care of properly publishing the signal to its processing "
        "logic.",
        ("pyrs.aio.iteration._Inbox",),
    ),
    _rule(
        "2.12",
        "Subscriber.onSubscribe MUST be called at most once for a given Subscriber (based on object equality).",
        (f"{_GUARD}.on_subscribe", _INPUT),
    ),
    _rule(
        "2.13",
        "Calling onSubscribe, onNext, onError or onComplete MUST return normally except when any provided parameter is "
        "null in which case it MUST throw a java.lang.NullPointerException to the caller, for all other situations the "
        "only legal way for a Subscriber to signal failure is by cancelling its Subscription. In the case that this "
        "rule is violated, any associated Subscription to the Subscriber MUST be considered as cancelled, and the "
        "caller MUST raise this error condition in a fashion that is adequate for the runtime environment.",
        (f"{_DOWNSTREAM}._subscriber_raised", _GUARD, _INPUT),
    ),
    _rule(
        "3.1",
        "Subscription.request and Subscription.cancel MUST only be called inside of its Subscriber context.",
        (f"{_GUARD}._begin_call",),
        note="The rule applies to the caller, which a Subscription cannot identify. A guard reports violations.",
    ),
    _rule(
        "3.2",
        "The Subscription MUST allow the Subscriber to call Subscription.request synchronously from within onNext or "
        "onSubscribe.",
        (_DOWNSTREAM,),
    ),
    _rule(
        "3.3",
        "Subscription.request MUST place an upper bound on possible synchronous recursion between Publisher and "
        "Subscriber.",
        (_DRAIN, f"{_GUARD}.on_next"),
    ),
    _rule(
        "3.4",
        "Subscription.request SHOULD respect the responsivity of its caller by returning in a timely manner.",
        note="A recommendation. A synchronous source emits inside request (3.10), so request lasts as long as on_next.",
    ),
    _rule(
        "3.5",
        "Subscription.cancel MUST respect the responsivity of its caller by returning in a timely manner, MUST be "
        "idempotent and MUST be thread-safe.",
        (f"{_DOWNSTREAM}.cancel", f"{_GUARD}.cancel"),
    ),
    _rule(
        "3.6",
        "After the Subscription is cancelled, additional Subscription.request(long n) MUST be NOPs.",
        (f"{_DOWNSTREAM}.request",),
    ),
    _rule(
        "3.7",
        "After the Subscription is cancelled, additional Subscription.cancel() MUST be NOPs.",
        (f"{_DOWNSTREAM}.cancel",),
    ),
    _rule(
        "3.8",
        "While the Subscription is not cancelled, Subscription.request(long n) MUST register the given number of "
        "additional elements to be produced to the respective subscriber.",
        (f"{_DOWNSTREAM}.request", f"{_GUARD}.request"),
    ),
    _rule(
        "3.9",
        "While the Subscription is not cancelled, Subscription.request(long n) MUST signal onError with a "
        "java.lang.IllegalArgumentException if the argument is <= 0. The cause message SHOULD explain that "
        "non-positive request signals are illegal.",
        ("pyrs._core.demand.non_positive", f"{_DOWNSTREAM}.request", f"{_GUARD}.request"),
    ),
    _rule(
        "3.10",
        "While the Subscription is not cancelled, Subscription.request(long n) MAY synchronously call onNext on this "
        "(or other) subscriber(s).",
        (_DOWNSTREAM,),
    ),
    _rule(
        "3.11",
        "While the Subscription is not cancelled, Subscription.request(long n) MAY synchronously call onComplete or "
        "onError on this (or other) subscriber(s).",
        (_DOWNSTREAM,),
    ),
    _rule(
        "3.12",
        "While the Subscription is not cancelled, Subscription.cancel() MUST request the Publisher to eventually stop "
        "signaling its Subscriber. The operation is NOT REQUIRED to affect the Subscription immediately.",
        (f"{_DOWNSTREAM}.cancel",),
    ),
    _rule(
        "3.13",
        "While the Subscription is not cancelled, Subscription.cancel() MUST request the Publisher to eventually drop "
        "any references to the corresponding subscriber.",
        (f"{_DOWNSTREAM}._forget", f"{_DOWNSTREAM}._terminate", f"{_GUARD}.cancel"),
    ),
    _rule(
        "3.14",
        "While the Subscription is not cancelled, calling Subscription.cancel MAY cause the Publisher, if stateful, to "
        "transition into the shut-down state if no other Subscription exists at this point [see 1.9].",
        note="A permission, for Publishers with state that Subscribers share. sinks.unicast uses it, and so does "
        "sinks.multicast unless auto_cancel is False; ref_count and share cancel their source.",
    ),
    _rule(
        "3.15",
        "Calling Subscription.cancel MUST return normally.",
        (_DOWNSTREAM, f"{_PUSHED_CHAIN}._cancel_upstream", f"{_GUARD}._cancel"),
    ),
    _rule("3.16", "Calling Subscription.request MUST return normally.", (_DOWNSTREAM, f"{_GUARD}.request")),
    _rule(
        "3.17",
        "A Subscription MUST support an unbounded number of calls to request and MUST support a demand up to 2^63-1 "
        "(java.lang.Long.MAX_VALUE). A demand equal or greater than 2^63-1 (java.lang.Long.MAX_VALUE) MAY be "
        "considered by the Publisher as “effectively unbounded”.",
        ("pyrs._core.demand.add_demand", f"{_DOWNSTREAM}.request"),
    ),
    _rule(
        "4.1",
        "A Processor represents a processing stage—which is both a Subscriber and a Publisher and MUST obey the "
        "contracts of both.",
        (_PUSHED_CHAIN, "pyrs._core.guard.GuardedProcessor"),
    ),
    _rule(
        "4.2",
        "A Processor MAY choose to recover an onError signal. If it chooses to do so, it MUST consider the "
        "Subscription cancelled, otherwise it MUST propagate the onError signal to its Subscribers immediately.",
        (_PUSHED_CHAIN,),
    ),
)

RULES: dict[str, Rule] = {rule.number: rule for rule in _ALL}
"""Every rule by its number."""


def as_markdown() -> str:
    """Return the rules as a Markdown page with a table for each party."""
    page = [
        "# The 43 rules",
        "",
        "The rules of Reactive Streams 1.0.4, with the specification's text and the code in pyrs that enforces each.",
        "`python -m pyrs.rules` renders this page from `pyrs.rules`.",
    ]
    party = ""
    for rule in _ALL:
        if rule.party != party:
            party = rule.party
            page += ["", f"## {party}", "", "| rule | strength | text | enforced by |", "|---|---|---|---|"]
        enforced = ", ".join(f"`{name.removeprefix('pyrs.')}`" for name in rule.enforced_by) or rule.note
        page.append(f"| {rule.number} | {rule.strength} | {rule.text} | {enforced} |")
    return "\n".join(page) + "\n"


if __name__ == "__main__":
    print(as_markdown(), end="")
