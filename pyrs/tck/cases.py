"""Run verifications with unittest."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from pyrs.tck.referees import PythonReferee, Referee
from pyrs.tck.verdicts import NOTHING_JUDGED, Status, Verdict, anything_judged
from pyrs.tck.verification import Verification


def as_test_case(verification: type[Verification], referee: Referee | None = None) -> type[unittest.TestCase]:
    """Return a TestCase with a method ``test_...`` for each test.

    The method ``test_all_tests_are_there`` checks that no test is missing. If all tests run and every one is skipped,
    the class fails, because nothing was verified.

    Args:
        verification: the verification.
        referee: the TCK, such as a ``JavaReferee``; None for the Python port.

    Examples:
        >>> import pyrs
        >>> from pyrs.tck import PublisherVerification
        >>> class RangeVerification(PublisherVerification[int]):
        ...     def create_publisher(self, elements):
        ...         return pyrs.range(elements)
        >>> RangeTestCase = as_test_case(RangeVerification)
        >>> test = "test_required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates"
        >>> RangeTestCase(test).run().wasSuccessful()
        True
    """

    def all_tests_are_there(self: unittest.TestCase) -> None:
        self.assertEqual(verification.problems(), [])

    def tear_down_class(cls: type[unittest.TestCase]) -> None:
        if len(verdicts) == len(names) and not anything_judged(verdicts.values()):
            raise AssertionError(NOTHING_JUDGED)

    names = verification.test_names() if referee is None else verification.expected
    tck = PythonReferee() if referee is None else referee
    verdicts: dict[str, Verdict] = {}
    methods: dict[str, Any] = {f"test_{name}": _method(verification, name, tck, verdicts) for name in names}
    methods["test_all_tests_are_there"] = all_tests_are_there
    methods["tearDownClass"] = classmethod(tear_down_class)
    methods["__module__"] = verification.__module__
    methods["__doc__"] = f"The tests of {verification.__qualname__}."
    return type(f"{verification.__name__}TestCase", (unittest.TestCase,), methods)


def _method(
    verification: type[Verification], name: str, referee: Referee, verdicts: dict[str, Verdict]
) -> Callable[[unittest.TestCase], None]:
    def test(self: unittest.TestCase) -> None:
        subject = verification()
        verdict = referee.judge(subject, name)
        verdicts[name] = verdict
        if verdict.error is not None:
            if subject.is_debugged:
                raise verdict.error  # without a deadline the user is debugging
            self.fail(f"{verdict.reason}\n\n{verdict.details}".rstrip())
        if verdict.status is not Status.PASSED:
            self.skipTest(f"{verdict.status.value}: {verdict.reason}")

    test.__name__ = f"test_{name}"
    return test
