"""The jars, the comparison of verdicts and the choice of a JVM, without a JVM."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import cast

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.downloads import Jar
from pyrs.tck import JavaReferee, Kind, Report, Status, Verdict
from pyrs.tck._java.connection import ConnectionLost, Exchange
from pyrs.tck._java.jars import JARS, cache_folder, tck_jars
from pyrs.tck._java.proxies import JavaSubscription, as_long
from pyrs.tck.referees import KNOWN_FALSE_PASSES, chosen, compared, disagreement

NOWHERE = "http://127.0.0.1:9"


def fill_repository(folder: Path, content: dict[str, bytes]) -> str:
    for jar in JARS:
        file = folder / jar.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content.get(jar.name, jar.name.encode()))
    return folder.as_uri()


@pytest.fixture
def fake_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a folder with a repository of fake jars, which contain their own names, and with an empty cache."""
    jars = [Jar(jar.path, hashlib.sha256(jar.name.encode()).hexdigest()) for jar in JARS]
    monkeypatch.setattr("pyrs.tck._java.jars.JARS", jars)
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", fill_repository(tmp_path / "repository", {}))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def test_the_jars_are_downloaded_once(fake_repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = tck_jars()
    assert [file.parent for file in found] == [fake_repository / "cache" / "pyrs" / "tck-1.0.4"] * len(JARS)
    assert [file.name for file in found] == [jar.name for jar in JARS]
    assert sorted(cache_folder().iterdir()) == sorted(found), "another file remains"
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", NOWHERE)
    assert tck_jars() == found


def test_a_changed_jar_in_the_cache_is_downloaded_again(fake_repository: Path) -> None:
    first = tck_jars()[0]
    first.write_bytes(b"something else")
    assert tck_jars()[0].read_bytes() == JARS[0].name.encode()


def test_a_jar_with_a_wrong_hash_is_rejected(fake_repository: Path) -> None:
    fill_repository(fake_repository / "repository", {JARS[1].name: b"evil"})
    with pytest.raises(JvmUnavailable, match=rf"is not the expected {JARS[1].name}: its SHA-256 is .* instead of"):
        tck_jars()
    assert not (cache_folder() / JARS[1].name).exists()


def test_the_error_without_network_and_cache_names_the_remedies(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", NOWHERE)
    with pytest.raises(JvmUnavailable) as refused:
        tck_jars(tmp_path)
    text = str(refused.value)
    assert f"the official TCK needs {JARS[0].name}: it is not in {tmp_path}" in text
    assert "Connect to the network once, put the file there, or set PYRS_MAVEN_REPOSITORY" in text


def test_the_error_names_a_cache_that_cannot_be_written(fake_repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake_repository / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(fake_repository / "file"))
    with pytest.raises(JvmUnavailable, match="the official TCK cannot store its jars in"):
        tck_jars()


def test_the_cache_is_in_the_home_folder_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert cache_folder() == Path.home() / ".cache" / "pyrs" / "tck-1.0.4"


def verdict(status: Status, name: str = "required_x", reason: str = "") -> Verdict:
    return Verdict(name, Kind.REQUIRED, status, reason)


def test_different_verdicts_are_a_disagreement() -> None:
    for one in Status:
        for other in Status:
            assert bool(disagreement(verdict(one), verdict(other))) is (one is not other)
    text = disagreement(verdict(Status.FAILED, reason="no end\nmore"), verdict(Status.PASSED))
    assert text == "different verdicts on required_x: failed in the Python port, passed in the official TCK (no end)"


@pytest.mark.parametrize("name", KNOWN_FALSE_PASSES)
def test_a_known_false_pass_of_the_official_tck_is_not_a_disagreement(name: str) -> None:
    assert disagreement(verdict(Status.FAILED, name), verdict(Status.PASSED, name)) == ""
    assert disagreement(verdict(Status.PASSED, name), verdict(Status.FAILED, name)) != ""


def test_a_disagreement_fails_the_run() -> None:
    python = Report("m:C", "python", (verdict(Status.PASSED),))
    java = Report("m:C", "java", (verdict(Status.SKIPPED, reason="cannot"),))
    assert python.passed
    assert java.passed
    assert not compared(python, java).passed


def test_an_invalid_jvm_option_is_rejected() -> None:
    with pytest.raises(ValueError, match=r"the JVM must be .*, not 'elsewhere'"):
        chosen("java", "elsewhere")
    with pytest.raises(ValueError, match="cannot load the JVM json:nothing"):
        chosen("java", "json:nothing")
    with pytest.raises(ValueError, match="connect takes a SparkSession"):
        chosen("java", "json:JSONDecoder")


def test_demand_is_clamped_to_the_range_of_a_java_long() -> None:
    assert as_long(2**70) == 2**63 - 1
    assert as_long(-(2**70)) == -(2**63)
    with pytest.raises(TypeError, match="request takes an int, not float"):
        as_long(1.0)


def test_a_jvm_in_the_process_needs_faulthandler_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("faulthandler.is_enabled", lambda: True)
    with pytest.raises(JvmUnavailable, match="run pytest with -p no:faulthandler"):
        JavaReferee()


class _Closed:
    """An exchange whose connection is closed."""

    def call(self, method: str, number: int, *arguments: object) -> object:
        raise ConnectionLost(f"the JVM does not respond to {method}")


def test_a_cancel_over_a_closed_connection_does_not_raise() -> None:
    subscription = JavaSubscription(cast(Exchange, _Closed()), 1)
    subscription.cancel()  # §3.15
    with pytest.raises(ConnectionLost):
        subscription.request(1)
