"""Who judges: the port in Python, the official kit in a JVM, or both, which must agree."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Protocol

from pyrs.tck.expected import Kind
from pyrs.tck.verdicts import Report, Status, Verdict, judge, verify
from pyrs.tck.verification import Verification

__all__ = ["CHOICES", "JAVA_DOES_NOT_LOOK", "JVMS", "PythonReferee", "Referee", "chosen", "compared", "disagreement"]

CHOICES = ("python", "java", "both")
JVMS = "jpype (one in this process), spark (a local driver's) or MODULE:NAME, a session or gateway or what returns one"

_MULTICAST = "optional_spec111_multicast_mustProduceTheSameElementsInTheSameSequenceToAllOfItsSubscribersWhenRequesting"
_RECORDED = "it records that on_complete did not come, and never looks at what it has recorded"
_OVERFLOW = "it raises that its buffer is full, which the Publisher may swallow, and does not record it"
_CANCELLED = f"{_OVERFLOW}; and it does not look at what comes of the cancel"
# Where the Java kit passes what is wrong: no disagreement of the port's making. The page "The referee" has the list.
JAVA_DOES_NOT_LOOK: Mapping[str, str] = MappingProxyType(
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


class Referee(Protocol):
    """What can judge a verification."""

    def verify(self, verification: type[Verification], /) -> Report:
        """Run all its tests."""

    def judge(self, verification: type[Verification] | Verification, name: str, /) -> Verdict:
        """Run one test."""


class PythonReferee:
    """The port."""

    def __str__(self) -> str:
        return "python"

    def verify(self, verification: type[Verification], /) -> Report:
        """Run all its tests."""
        return verify(verification)

    def judge(self, verification: type[Verification] | Verification, name: str, /) -> Verdict:
        """Run one test."""
        return judge(verification, name)


def chosen(referee: str, jvm: str = "jpype", family: str = "reactive-streams") -> list[Referee]:
    """Return who is to judge, Python first; the JVM starts here if it is needed.

    Args:
        referee: one of `CHOICES`.
        jvm: see `JVMS`.
        family: "reactive-streams" or "flow".

    Raises:
        JvmUnavailable: there is no such JVM, or the Java kit is not to be had.
        ValueError: ``jvm`` is none of what it may be.
    """
    referees: list[Referee] = []
    if referee in ("python", "both"):
        referees.append(PythonReferee())
    if referee in ("java", "both"):
        from pyrs.tck._java import Family, JavaReferee

        referees.append(JavaReferee(_source(jvm), Family(family)))
    return referees


def _source(jvm: str) -> Any:
    if jvm == "jpype":
        return None
    if jvm == "spark":
        from pyrs.tck._java.spark import local_session

        return local_session()
    module_name, _, name = jvm.partition(":")
    if not module_name or not name:
        raise ValueError(f"the JVM is named as {JVMS}, and not {jvm!r}")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    try:
        source: Any = getattr(importlib.import_module(module_name), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"there is no JVM named {jvm}: {error}") from error
    return source() if callable(source) and not hasattr(source, "_gateway_client") else source


def disagreement(python: Verdict, java: Verdict) -> str:
    """Return what two verdicts on one test disagree about, or nothing."""
    if python.status is java.status:
        return ""
    if java.status is Status.PASSED and java.name in JAVA_DOES_NOT_LOOK:
        return ""
    said = (f"{name} says {each.status.value}" for name, each in (("Python", python), ("Java", java)))
    reasons = "; ".join(each.reason.splitlines()[0] for each in (python, java) if each.reason)
    return f"the referees disagree about {java.name}: {', '.join(said)} ({reasons})"


def compared(python: Report, java: Report) -> Report:
    """Return Java's report, with every disagreement among its problems."""
    others = {verdict.name: verdict for verdict in python.verdicts if verdict.kind is not Kind.BEYOND}
    found = [disagreement(others[each.name], each) for each in java.verdicts if each.name in others]
    return java._replace(problems=(*java.problems, *filter(None, found)))
