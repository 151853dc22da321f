"""Two versions of one package: refused in a JVM that runs."""

from __future__ import annotations

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.versions import refuse_other_versions

CLASS_PATH = [
    *("", "/my/classes", "/app/mine-1.0.jar", "/m2/org/example/base/1.0/base-1.0.jar"),
    *("/cache/org.example/base/1.0/base-1.0.jar", "/cache/org.example/top/1.0/top-1.0-linux.jar"),
]


@pytest.mark.parametrize(
    "jars",
    [
        ["/cache/org.example/base/1.0/base-1.0.jar", "/cache/org.example/other/2.0/other-2.0.jar"],
        ["/cache/org.example/top/1.0/top-1.0.jar"],
        ["/cache/com.example/base/2.0/base-2.0.jar"],
        ["/app/mine-2.0.jar", "/my/other/classes", "/", "mine.jar", "/app/mine/2.0/mine.jar"],
    ],
)
def test_other_packages_and_the_same_version_are_taken(jars: list[str]) -> None:
    refuse_other_versions(jars, CLASS_PATH)


def test_every_jar_of_another_version_is_named_with_the_one_that_runs() -> None:
    jars = ["/cache/org.example/other/2.0/other-2.0.jar", "/cache/org.example/base/1.10/base-1.10.jar"]
    jars.append("/cache/org.example/top/1.1/top-1.1.jar")
    with pytest.raises(JvmUnavailable) as refused:
        refuse_other_versions(jars, CLASS_PATH)
    text = str(refused.value)
    assert "base-1.10.jar (it has base-1.0.jar), top-1.1.jar (it has top-1.0-linux.jar)" in text
    assert "give all packages to the first launch" in text and "other-2.0" not in text


def test_where_both_were_there_at_the_start_either_is_taken() -> None:
    both = [*CLASS_PATH, "/cache/org.example/base/1.1/base-1.1.jar"]
    refuse_other_versions(["/cache/org.example/base/1.1/base-1.1.jar"], both)
