"""Verifications for unittest."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

from pyrs.tck.referees import PythonReferee, Referee
from pyrs.tck.verdicts import Status
from pyrs.tck.verification import Verification

__all__ = ["as_test_case"]


def as_test_case(verification: type[Verification], referee: Referee | None = None) -> type[unittest.TestCase]:
    """Return a TestCase with one method for each test of a verification, named ``test_`` and the Java kit's name.

    One more, ``test_all_tests_are_there``, compares the names with those of the Java kit.

    Args:
        verification: what to run.
        referee: who judges, such as a `JavaReferee`; None for the port in Python.

    Example:
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

    names = verification.test_names() if referee is None else verification.expected
    judges = PythonReferee() if referee is None else referee
    methods: dict[str, Any] = {f"test_{name}": _method(verification, name, judges) for name in names}
    methods["test_all_tests_are_there"] = all_tests_are_there
    methods["__module__"] = verification.__module__
    methods["__doc__"] = f"The tests of {verification.__qualname__}."
    return type(f"{verification.__name__}TestCase", (unittest.TestCase,), methods)


def _method(verification: type[Verification], name: str, referee: Referee) -> Callable[[unittest.TestCase], None]:
    def test(self: unittest.TestCase) -> None:
        subject = verification()
        verdict = referee.judge(subject, name)
        error = verdict.error
        if error is not None:
            if subject.env.deadline is None or not isinstance(error, (Exception, SystemExit)):
                raise error  # somebody debugs, or it is pytest's own
            self.fail(f"{verdict.reason}\n\n{verdict.details}".rstrip())
        if verdict.status is not Status.PASSED:
            self.skipTest(f"{verdict.status.value}: {verdict.reason}")

    test.__name__ = f"test_{name}"
    return test
