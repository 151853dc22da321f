"""Explain a failure: the expectation, the rule, the signals, the likely cause."""

from __future__ import annotations

import re
from textwrap import indent

from pyrs.rules import RULES
from pyrs.tck.verification import Verification

_SPECIFICATION = "https://github.com/reactive-streams/reactive-streams-jvm/blob/v1.0.4/README.md"
_LATE = "If the call may take that long, set TestEnvironment(hook_timeout=...)."
# The likely cause of a violation, and its repair.
_CAUSES = {
    "1.1": "It does not count the demand. Emit only while sent < requested; count each element before on_next.",
    "1.2": "It lost a request, or stopped emitting while there was demand. Add every request to the demand, and check "
    "the demand again before the emitting loop ends. If it is slow, set TestEnvironment(timeout=...).",
    "1.3": "Two threads emit. Let one thread drain: check and set the flag under a lock, and check for new work after "
    "releasing it.",
    "1.4": "It raises, or swallows the exception. Signal on_subscribe, then on_error with the exception.",
    "1.5": "It waits for a further request, or signals no completion. Call on_complete right after the last element.",
    "1.6": "The terminal signal does not cancel the Subscription. Set the cancelled flag and drop the Subscriber "
    "before calling on_error or on_complete.",
    "1.7": "The emitting loop continues after the terminal signal. Leave the loop, and ignore later requests.",
    "1.8": "The emitting loop does not check for cancel. Check the flag before each signal.",
    "1.9": "subscribe must raise TypeError for None only. Call on_subscribe first, exactly once, and report every "
    "other failure with on_error.",
    "2.1": "It does not call request, or passes another type than int, so nothing can arrive.",
    "2.3": "It cancels or requests inside a terminal signal. The Subscription has ended then; remove the call.",
    "2.4": "A thread or callback of the Subscriber uses the Subscription after the terminal signal. Forget it there.",
    "2.5": "on_subscribe replaces the Subscription. Cancel the new one if there is one already.",
    "2.6": "The Subscriber stops without calling cancel.",
    "2.7": "Several threads call request or cancel. Guard these calls with a lock.",
    "2.8": "on_next fails when it is called after cancel. Ignore such elements.",
    "2.9": "on_complete expects an earlier request or element.",
    "2.10": "on_error expects an earlier request or element.",
    "2.11": "Signals reach the processing logic in another order. Use a queue.",
    "2.12": "subscribe calls on_subscribe again, for example when it retries.",
    "2.13": "A signal method raises, or accepts None. Raise TypeError for None, cancel on other failures, and ignore "
    "signals after a cancel.",
    "3.1": "The Subscribers share a Subscription. Create one for each call of subscribe.",
    "3.2": "request is ignored while on_subscribe or on_next is running. Add it to the demand; emit it afterwards.",
    "3.3": "request emits inside on_next. Let request only add to the demand if an emitting loop is running.",
    "3.5": "cancel waits for a lock, a thread or I/O. Set a flag, and let the emitting loop clean up.",
    "3.6": "request has an effect after cancel. Ignore it.",
    "3.7": "A second cancel has an effect. Ignore it.",
    "3.8": "The demand is not the sum of the requests.",
    "3.9": "request of the Publisher does not check its argument: signal on_error(ValueError) for n <= 0. Or the "
    "Subscriber requests no element: n must be at least 1.",
    "3.12": "cancel does not stop this stream, or stops another one.",
    "3.13": "A list, a thread or a closure keeps the Subscriber. Drop every reference at cancel and at the terminal "
    "signal.",
    "3.15": "cancel raises in this state. It must return normally.",
    "3.16": "request raises or blocks in this state. It must return normally, without waiting for anything.",
    "3.17": "The demand overflows. Cap it at 2**63 - 1, which means unbounded.",
    "4.1": "It drops elements for which a Subscriber has no demand yet, or completes before them. Buffer them for each "
    "Subscriber, and complete when the buffer is empty.",
    "4.2": "The Processor keeps the error of its upstream. Forward it without waiting for demand.",
}


def rule_of(name: str, reason: str = "") -> str:
    """Return the number of the rule that a failure or the name of a test names.

    A rule in the failure has precedence over one in the name. The number is empty if there is none. If a failure names
    several rules, the first MUST rule among them is returned.
    """
    for named in re.finditer(r"rules? (\d\.\d+(?:, \d\.\d+)*)", reason):
        numbers = [number for number in named[1].split(", ") if number in RULES]  # a user's message may name others
        if numbers:
            return next((number for number in numbers if RULES[number].strength == "MUST"), numbers[0])
    in_name = re.search(r"_spec(\d)(\d\d)", name)
    return f"{in_name[1]}.{int(in_name[2])}" if in_name is not None else ""


def explain(subject: Verification, name: str, reason: str, *, judged: bool = True) -> str:
    """Return the expectation of a test, the rule, the signals and the likely cause.

    If a hook failed, the code under test was not judged, and the result omits the rule and its cause.
    """
    parts = {"expected": " ".join((getattr(subject, name).__doc__ or "").split())}
    number = rule_of(name, reason) if judged else ""
    if number:
        parts[f"rule {number} ({RULES[number].strength})"] = RULES[number].text
    env = vars(subject).get("env")  # missing if the environment is not valid
    signals = "" if env is None else env.signals or str(env.trace)
    parts["signals"] = f"\n{indent(signals, '  ')}" if signals else ""
    late = " did not return within" in reason and "(rule" not in reason
    parts["likely cause"] = _LATE if late else _CAUSES.get(number, "")
    parts["see"] = f"{_SPECIFICATION}#{number}" if number else ""
    return "".join(f"{title}: {text}\n" for title, text in parts.items() if text).replace("signals: \n", "signals:\n")
