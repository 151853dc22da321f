"""``python -m pyrs tck module:Class``: a verdict on the terminal and, for machines, as JUnit XML."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from pyrs.errors import JvmError
from pyrs.tck.referees import chosen, compared
from pyrs.tck.verdicts import Report, Status, Verdict
from pyrs.tck.verification import Verification

__all__ = ["UsageError", "as_junit", "as_text", "find", "run"]

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class UsageError(Exception):
    """What was asked for is not there."""


def run(arguments: argparse.Namespace) -> int:
    """Judge what the arguments name. Returns 0 if all passed, 1 if not, 2 if it could not be judged."""
    try:
        if arguments.junit is not None:
            _make_room(arguments.junit)
        verifications = [find(name) for name in arguments.verifications]
        referees = chosen(arguments.referee, arguments.jvm, arguments.family)
    except (UsageError, JvmError, ValueError) as error:
        print(f"pyrs tck: {error}", file=sys.stderr)
        return 2
    reports = []
    for verification in verifications:
        judged = [referee.verify(verification) for referee in referees]
        if len(judged) > 1:
            judged[1] = compared(*judged)
        for report in judged:
            print(as_text(report))
        reports += judged
    if arguments.junit is not None:
        arguments.junit.write_bytes(as_junit(reports))
    return 0 if all(report.passed for report in reports) else 1


def _make_room(junit: Path) -> None:
    """Remove the verdicts of an earlier run, so that they are not taken for those of one that comes to nothing."""
    if not junit.absolute().parent.is_dir():
        raise UsageError(f"there is no folder {junit.parent}")
    try:
        if junit.is_file() or junit.is_dir():  # not a device or a pipe; a folder is refused by unlink
            junit.resolve().unlink()  # a link stays and leads to the new one
    except OSError as error:
        raise UsageError(f"cannot write {junit}: {error.strerror}") from error


def find(name: str) -> type[Verification]:
    """Return the class that ``module:Class`` names.

    Raises:
        UsageError: it cannot be imported, is no verification, or no object of it can be made.
    """
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or not class_name:
        raise UsageError(f"{name!r} is not of the form module:Class")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as python -m has it; a console script has not
    try:
        thing: object = importlib.import_module(module_name)
    except ImportError as error:
        raise UsageError(f"cannot import {module_name}: {error}") from error
    except (Exception, SystemExit) as error:  # a module that exits must not end the run as if all were well
        raise UsageError(f"cannot import {module_name}: {type(error).__name__}: {error}") from error
    for part in class_name.split("."):
        thing = getattr(thing, part, None)
    if not isinstance(thing, type) or not issubclass(thing, Verification) or not thing.expected:
        raise UsageError(f"{name} is no subclass of a verification")
    try:
        thing()  # as each test makes one
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name}() raised {type(error).__name__}: {error}") from error
    return thing


def as_text(report: Report) -> str:
    """Return a line for each test, then what failed and why, then the numbers."""
    lines = [report.verification]
    lines += [f"  {verdict.status.value:<8}  {verdict.name}" for verdict in report.verdicts]
    for verdict in report.verdicts:
        if verdict.status in (Status.FAILED, Status.SKIPPED):
            lines += ["", f"{verdict.status.value}: {verdict.name}", f"  {verdict.reason}"]
            lines += [f"  {line}" for line in verdict.details.splitlines()]
    if report.problems:
        lines += ["", "the run is void:", *(f"  {problem}" for problem in report.problems)]
    return "\n".join([*lines, "", str(report)])


def as_junit(reports: Sequence[Report]) -> bytes:
    """Return the verdicts as JUnit XML; what makes a run void is an error of a test case of its own."""
    root = ElementTree.Element("testsuites")
    for report in reports:
        failed = report.count(Status.FAILED) + report.count(Status.FAILED, beyond=True)
        skipped = sum(verdict.status in (Status.SKIPPED, Status.UNTESTED) for verdict in report.verdicts)
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=f"{report.verification} ({report.referee})",
            tests=str(len(report.verdicts) + bool(report.problems)),
            failures=str(failed),
            errors=str(int(bool(report.problems))),
            skipped=str(skipped),
            time=f"{sum(verdict.seconds for verdict in report.verdicts):.3f}",
        )
        for verdict in report.verdicts:
            _add_case(suite, report, verdict)
        if report.problems:
            case = ElementTree.SubElement(suite, "testcase", classname=report.verification, name="the tests that ran")
            ElementTree.SubElement(case, "error", message=_clean("; ".join(report.problems)))
    ElementTree.indent(root)
    document: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return document


def _add_case(suite: ElementTree.Element, report: Report, verdict: Verdict) -> None:
    case = ElementTree.SubElement(
        suite, "testcase", classname=report.verification, name=verdict.name, time=f"{verdict.seconds:.3f}"
    )
    if verdict.status is Status.FAILED:
        failure = ElementTree.SubElement(case, "failure", message=_clean(verdict.reason))
        failure.text = _clean(verdict.details)
    elif verdict.status is not Status.PASSED:
        ElementTree.SubElement(case, "skipped", message=_clean(f"{verdict.status.value}: {verdict.reason}"))


def _clean(text: str) -> str:
    """Return the text without the characters that XML cannot hold."""
    return _NOT_IN_XML.sub("\ufffd", text)
