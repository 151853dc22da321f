"""The scripts that reproduce the failures of third-party libraries print what the page says."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

import pytest

from tests.conformance.third_party import REPRODUCTIONS, THIRD_PARTY, Reproduction


@pytest.mark.parametrize("reproduction", REPRODUCTIONS, ids=lambda each: each.file)
def test_a_reproduction_prints_the_failure(reproduction: Reproduction) -> None:
    if find_spec(reproduction.package) is None:
        pytest.skip(f"{reproduction.package} is not installed")
    ran = subprocess.run(
        [sys.executable, str(reproduction.path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert ran.stdout.strip() == reproduction.prints, ran.stderr


def test_each_library_with_a_failure_has_a_reproduction() -> None:
    packages = {library.package for library in THIRD_PARTY if not library.conforms}
    assert packages == {reproduction.package for reproduction in REPRODUCTIONS}
