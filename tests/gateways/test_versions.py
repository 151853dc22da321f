"""The jars to add to a running JVM, which may already have other versions of them."""

from __future__ import annotations

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.versions import to_be_added

CLASS_PATH = [
    *("", "/my/classes", "/app/mine-1.0.jar", "/m2/org/example/base/1.0/base-1.0.jar"),
    *("/cache/org.example/base/1.0/base-1.0.jar", "/cache/org.example/top/1.0/top-1.0-linux.jar"),
]


@pytest.mark.parametrize(
    "jar",
    [
        *("/cache/org.example/other/2.0/other-2.0.jar", "/cache/com.example/base/2.0/base-2.0.jar"),
        *("/app/mine-2.0.jar", "/my/other/classes", "/", "mine.jar", "/app/mine/2.0/mine.jar"),
        "/cache/org.example/top/1.0/top-1.0.jar",
    ],
)
def test_a_missing_jar_is_added(jar: str) -> None:
    assert to_be_added([jar], CLASS_PATH) == [jar]


@pytest.mark.parametrize("version", ["1.0", "0.9", "1.0-rc1", "1.0.RELEASE", "1"])
def test_the_same_version_and_an_earlier_one_are_left_out(version: str) -> None:
    assert to_be_added([f"/cache/org.example/base/{version}/base-{version}.jar", *CLASS_PATH], CLASS_PATH) == []


@pytest.mark.parametrize(
    ("earlier", "later"),
    [("1.9", "1.10"), ("1.0", "1.0.1"), ("1.0-rc1", "1.0"), ("1.0-rc1", "1.0-rc2"), ("1.0-beta", "1.0-rc1")],
)
def test_a_later_version_is_refused(earlier: str, later: str) -> None:
    first, second = (f"/cache/org.example/base/{version}/base-{version}.jar" for version in (earlier, later))
    with pytest.raises(JvmUnavailable, match="later"):
        to_be_added([second], [first])
    assert to_be_added([first], [second]) == []
    assert to_be_added([second], [first, second]) == []  # the JVM was started with both versions


def test_every_later_jar_is_named_with_the_loaded_one() -> None:
    jars = ["/cache/org.example/other/2.0/other-2.0.jar", "/cache/org.example/base/1.10/base-1.10.jar"]
    jars.append("/cache/org.example/top/1.1/top-1.1.jar")
    with pytest.raises(JvmUnavailable) as refused:
        to_be_added(jars, CLASS_PATH)
    text = str(refused.value)
    assert "base-1.10.jar (it has base-1.0.jar), top-1.1.jar (it has top-1.0-linux.jar)" in text
    assert "pass all packages to the first launch" in text and "other-2.0" not in text
