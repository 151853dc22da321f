"""The version of PySpark under test."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest

NEEDED = {"read_stream": (4, 0), "stream_from_publishers": (4, 0), "apply_by_key": (4, 1)}
"""The functions that older versions of PySpark do not support, with the first version that does."""
_version = [int(part) for part in pyspark.__version__.split(".")[:2]]


def has_pyspark(major: int, minor: int) -> bool:
    """Return whether the tests run with this PySpark or a later one."""
    return _version >= [major, minor]


def needs_pyspark(major: int, minor: int, reason: str) -> Any:
    """Return a mark that skips a test on an older PySpark."""
    return pytest.mark.skipif(not has_pyspark(major, minor), reason=f"needs PySpark {major}.{minor}: {reason}")
