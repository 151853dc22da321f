"""Choose the TCK: the Python port, the official one in a JVM, or both."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, TypeAlias

from pyrs.tck._java import Family, JavaReferee
from pyrs.tck.expected import Kind
from pyrs.tck.verdicts import Report, Status, Verdict, judge, verify

JVMS = "jpype (in this process), spark (a local driver) or MODULE:NAME (a session, a gateway, or a factory of one)"

_MULTICAST = "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequesting"
_RECORDED = "it records the missing on_complete and never checks the recorded errors"
_OVERFLOW = "it raises the overflow of its buffer, which the Publisher may suppress, and does not record it"
_CANCELLED = f"{_OVERFLOW}; it does not check the effect of cancel"
# The tests in which the official TCK passes a violation, so that the port may disagree; see docs/java-referee.md.
KNOWN_FALSE_PASSES: Mapping[str, str] = MappingProxyType(
    {
        "optional_spec105_emptyStreamMustTerminateBySignallingOnComplete": _RECORDED,
        "optional_spec111_maySupportMultiSubscribe": _CANCELLED,
        "optional_spec111_registeredSubscribersMustReceiveOnNextOrOnCompleteSignals": _CANCELLED,
        f"{_MULTICAST}OneByOne": _RECORDED,
        f"{_MULTICAST}ManyUpfront": _OVERFLOW,
        f"{_MULTICAST}ManyUpfrontAndCompleteAsExpected": _RECORDED,
        "required_spec201_blackbox_mustSignalDemandViaSubscriptionRequest": "its loop ends before the first element",
    }
)


class PythonReferee:
    """Runs the Python port of the TCK."""

    verify = staticmethod(verify)
    judge = staticmethod(judge)

    def __str__(self) -> str:
        return "python"


Referee: TypeAlias = PythonReferee | JavaReferee


def chosen(referee: str, jvm: str = "jpype", family: str = "reactive-streams") -> list[Referee]:
    """Return the chosen TCKs, the Python port first; start the JVM if necessary.

    Args:
        referee: "python", "java" or "both".
        jvm: see ``JVMS``.
        family: "reactive-streams" or "flow".

    Raises:
        JvmUnavailable: the JVM or the jars of the official TCK are not available, or an extra is not installed.
        ValueError: ``jvm`` is not one of ``JVMS``, or its name cannot be loaded or has another type.
    """
    referees: list[Referee] = []
    if referee in ("python", "both"):
        referees.append(PythonReferee())
    if referee in ("java", "both"):
        source = _source(jvm)
        try:
            referees.append(JavaReferee(source, Family(family)))
        except TypeError as error:
            raise ValueError(f"cannot use the JVM {jvm}: {error}") from error
    return referees


def _source(jvm: str) -> Any:
    if jvm == "jpype":
        return None
    if jvm == "spark":
        from pyrs.tck._java.spark import local_session

        return local_session()
    module_name, _, name = jvm.partition(":")
    if not module_name or not name:
        raise ValueError(f"the JVM must be {JVMS}, not {jvm!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        source: Any = getattr(importlib.import_module(module_name), name)
        return source() if callable(source) and not hasattr(source, "_gateway_client") else source
    except (Exception, SystemExit) as error:  # SystemExit(0) would look like success
        raise ValueError(f"cannot load the JVM {jvm}: {type(error).__name__}: {error}") from error


def disagreement(python: Verdict, java: Verdict) -> str:
    """Return the difference between two verdicts on one test; empty if they agree."""
    if python.status is java.status:
        return ""
    if java.status is Status.PASSED and java.name in KNOWN_FALSE_PASSES:
        return ""
    found = (
        f"{each.status.value} in {name}" for name, each in (("the Python port", python), ("the official TCK", java))
    )
    reasons = "; ".join(each.reason.splitlines()[0] for each in (python, java) if each.reason)
    return f"different verdicts on {java.name}: {', '.join(found)} ({reasons})"


def compared(python: Report, java: Report) -> Report:
    """Return the official TCK's report with every disagreement added to its problems."""
    others = {verdict.name: verdict for verdict in python.verdicts if verdict.kind is not Kind.BEYOND}
    found = [disagreement(others[each.name], each) for each in java.verdicts if each.name in others]
    return java._replace(problems=(*java.problems, *filter(None, found)))
