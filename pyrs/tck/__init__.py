"""The Python port of the Reactive Streams TCK 1.0.4.

Write a subclass of one of the four verifications and run it with pytest, unittest or ``python -m pyrs tck``; see
``docs/referee.md``. The port shares no code with pyrs' own Publishers: it imports the interfaces, the rules and the
errors only.

The names and the steps of the tests are those of ``org.reactivestreams:reactive-streams-tck:1.0.4`` (licence MIT-0,
https://github.com/reactive-streams/reactive-streams-jvm), rewritten in Python.
"""

from __future__ import annotations

from pyrs.tck._java import Family, JavaReferee
from pyrs.tck.cases import as_test_case
from pyrs.tck.environment import Skipped, TestEnvironment
from pyrs.tck.expected import Kind
from pyrs.tck.processor_verification import IdentityProcessorVerification
from pyrs.tck.subscriber_probes import SubscriberPuppet, WhiteboxProbe
from pyrs.tck.verdicts import Report, Status, Verdict, judge, verify
from pyrs.tck.verifications import (
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
)

__all__ = [
    "Family",
    "IdentityProcessorVerification",
    "JavaReferee",
    "Kind",
    "PublisherVerification",
    "Report",
    "Skipped",
    "Status",
    "SubscriberBlackboxVerification",
    "SubscriberPuppet",
    "SubscriberWhiteboxVerification",
    "TestEnvironment",
    "Verdict",
    "WhiteboxProbe",
    "as_test_case",
    "judge",
    "verify",
]
