"""The jars inside the package."""

from __future__ import annotations

from pathlib import Path

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.gateways.jars import packaged_jars

NAMES = ["pyrs.jar", "reactive-streams-1.0.4.jar"]


def test_both_jars_are_found(tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).touch()
    jars = packaged_jars(tmp_path)
    assert [jars.pyrs, jars.reactive_streams] == [tmp_path / name for name in NAMES]


@pytest.mark.parametrize("missing", NAMES)
def test_a_missing_jar_is_reported_with_the_remedy(tmp_path: Path, missing: str) -> None:
    for name in NAMES:
        if name != missing:
            (tmp_path / name).touch()
    with pytest.raises(JvmUnavailable, match=f"{missing} is missing.*make setup.*pip install"):
        packaged_jars(tmp_path)
