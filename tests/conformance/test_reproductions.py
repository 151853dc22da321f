"""The programs that reproduce the failures of third-party libraries print the output on the page."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conformance.jvm_implementations import JVM_IMPLEMENTATIONS
from tests.conformance.third_party import REPRODUCTIONS, THIRD_PARTY, Reproduction
from tests.interop.harness import library_jars


@pytest.mark.parametrize("reproduction", REPRODUCTIONS, ids=lambda each: each.file)
def test_a_reproduction_prints_the_failure(reproduction: Reproduction) -> None:
    if reproduction.language == "java":
        command = ["java", "-cp", ":".join(map(str, library_jars()))]
    elif find_spec(reproduction.package) is None:
        pytest.skip(f"{reproduction.package} is not installed")
    else:
        command = [sys.executable]
    ran = subprocess.run([*command, str(reproduction.path)], capture_output=True, text=True, timeout=100, check=False)
    assert ran.stdout.strip() == reproduction.prints, ran.stderr


def test_each_library_with_a_failure_has_a_reproduction() -> None:
    packages = {library.package for library in THIRD_PARTY if not library.conforms}
    assert [entry.name for entry in JVM_IMPLEMENTATIONS if entry.faults] == ["AsyncIterablePublisher of the examples"]
    packages.add("reactive-streams-examples")
    assert packages == {reproduction.package for reproduction in REPRODUCTIONS}
