"""The command ``python -m pyrs tck module:Class``."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeGuard
from xml.etree import ElementTree

from pyrs.errors import JvmError
from pyrs.tck.advice import rule_of
from pyrs.tck.referees import Referee, chosen, compared
from pyrs.tck.verdicts import Report, Status, Verdict
from pyrs.tck.verification import Verification, imported

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_COLOURS = {Status.PASSED: 32, Status.FAILED: 31, Status.SKIPPED: 33, Status.UNTESTED: 90}  # of ANSI terminals


class UsageError(Exception):
    """The command line names something that does not exist or cannot be used."""


def run(arguments: argparse.Namespace) -> int:
    """Run the verifications and return the exit status.

    The status is 0 if all passed, 1 if not, and 2 if none could run or a file was not written.
    """
    try:
        for path in (arguments.junit, arguments.json):
            if path is not None:
                _remove_old(path)
        verifications = [find(name) for name in arguments.verifications]
        referees = chosen(arguments.referee, arguments.jvm, arguments.family)
    except (UsageError, JvmError, ValueError) as error:
        print(f"pyrs tck: {error}", file=sys.stderr)
        return 2
    reports = []
    try:
        for verification in verifications:
            found = [_verified(referee, verification, arguments.k) for referee in referees]
            reports += found[:1] + [compared(found[0], each) for each in found[1:]]
    except imported(("_pytest.outcomes", "Exit")) as error:  # pytest.exit in a hook
        print(f"pyrs tck: {error}", file=sys.stderr)
        return 2
    for report in reports:
        print(as_text(report))
        if not report.verdicts:
            print(f"pyrs tck: no test of {report.verification} has a name with {arguments.k!r}", file=sys.stderr)
    for path, content in ((arguments.junit, as_junit(reports)), (arguments.json, as_json(reports).encode())):
        try:
            if path is not None:
                path.write_bytes(content)
        except OSError as error:
            print(f"pyrs tck: cannot write {path}: {error.strerror}", file=sys.stderr)
            return 2
    return 0 if all(report.passed for report in reports) and any(report.verdicts for report in reports) else 1


def _verified(referee: Referee, verification: type[Verification], words: str | None) -> Report:
    """Run a verification and print each verdict with the time that has passed."""
    began = time.monotonic()
    print(f"{verification.__module__}:{verification.__qualname__} ({referee})", flush=True)

    def selected(name: str) -> bool:
        return any(word.lower() in name.lower() for word in (words or "").split())

    def show(verdict: Verdict) -> None:
        status = _coloured(verdict.status, f"{verdict.status.value:<8}")
        print(f"  {status}  {verdict.name} ({time.monotonic() - began:.1f} s)", flush=True)

    return referee.verify(verification, only=None if words is None else selected, on_verdict=show)


def _coloured(status: Status, text: str) -> str:
    if not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{_COLOURS[status]}m{text}\033[0m"


def _remove_old(path: Path) -> None:
    """Remove the file of an earlier run, also if this run cannot start."""
    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"the folder {path.parent} does not exist")
    if not path.exists() and not os.access(folder, os.W_OK):  # reported before the run
        raise UsageError(f"cannot write {path}: the folder is not writable")
    try:
        if path.is_file() or path.is_dir():  # not a device or a pipe; unlink refuses a folder
            path.resolve().unlink()  # a symbolic link stays
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from error


def find(name: str) -> type[Verification]:
    """Return the verification that ``module:Class`` names.

    Raises:
        UsageError: it cannot be imported, is not a verification, or cannot be instantiated.
    """
    module_name, colon, class_name = name.partition(":")
    if not colon or not module_name or not class_name:
        raise UsageError(f"{name!r} does not have the form module:Class")
    if os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())  # as for python -m; a console script lacks it
    try:
        thing: object = importlib.import_module(module_name)
    except ImportError as error:
        advice = f" (name the module, {module_name[:-3]})" if module_name.endswith(".py") else ""
        raise UsageError(f"cannot import {module_name}: {error}{advice}") from error
    except (Exception, SystemExit) as error:  # SystemExit(0) would look like success
        raise UsageError(f"cannot import {module_name}: {type(error).__name__}: {error}") from error
    module = thing
    for part in class_name.split("."):
        thing = getattr(thing, part, None)
    if thing is None:
        own = [each for each in vars(module).values() if getattr(each, "__module__", "") == module_name]
        found = [each.__name__ for each in own if _is_verification(each)]
        raise UsageError(f"{module_name} has no {class_name}; its verifications: {', '.join(found) or 'none'}")
    if not _is_verification(thing):
        raise UsageError(f"{name} is not a subclass of a verification of pyrs.tck")
    try:
        thing().env  # noqa: B018 - each test creates both
    except (Exception, SystemExit) as error:
        raise UsageError(f"{name}() raised {type(error).__name__}: {error}") from error
    return thing


def _is_verification(thing: object) -> TypeGuard[type[Verification]]:
    return isinstance(thing, type) and issubclass(thing, Verification) and bool(thing.expected)


def as_text(report: Report) -> str:
    """Return the failures and skips with their reasons, then the summary."""
    lines: list[str] = []
    for verdict in report.verdicts:
        if verdict.status in (Status.FAILED, Status.SKIPPED):
            lines += ["", f"{verdict.status.value}: {verdict.name}", f"  {verdict.reason}"]
            lines += [f"  {line}" for line in verdict.details.splitlines()]
    if report.problems:
        lines += ["", "the run is void:", *(f"  {problem}" for problem in report.problems)]
    return "\n".join([*lines, "", str(report)])


def as_json(reports: Sequence[Report]) -> str:
    """Return a JSON list of the reports, each with its verdicts and problems."""

    def fields(verdict: Verdict) -> dict[str, object]:
        plain = verdict._replace(error=None)._asdict()
        rule = rule_of(verdict.name, verdict.reason)
        return {**plain, "kind": verdict.kind.value, "status": verdict.status.value, "rule": rule}

    listed = [
        {**report._asdict(), "passed": report.passed, "verdicts": [fields(each) for each in report.verdicts]}
        for report in reports
    ]
    return json.dumps(listed, indent=1)


def as_junit(reports: Sequence[Report]) -> bytes:
    """Return the verdicts as JUnit XML, and the problems as one more test case."""
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
    """Replace the characters that XML does not allow."""
    return _NOT_IN_XML.sub("\ufffd", text)
