"""Resolve Maven coordinates to jars with Ivy, from a repository in a folder."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyspark
import pytest

import pyrs.jvm
from pyrs import __main__ as command_line
from pyrs.errors import JvmUnavailable
from pyrs.jvm import packages
from pyrs.jvm.packages import IVY, resolve
from tests.gateways.repository import publish

NOWHERE = "http://127.0.0.1:9/maven"
IVY_OF_SPARK = Path(pyspark.__file__).parent / "jars" / IVY.name


@pytest.fixture
def central(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace Maven Central by a folder of test packages; use an empty cache."""
    root = tmp_path / "central"
    publish(root, "org.example:top:1.0", ["org.example:base:1.0"], files=("", "linux"))
    publish(root, "org.example:other:1.0", ["org.example:base:1.10"])
    publish(root, "org.example:base:1.0")
    publish(root, "org.example:base:1.10")
    publish(root, "org.example:broken:1.0", ["org.example:gone:2.0"])
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", root.as_uri())
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "the cache, ä"))
    return root


def names(jars: list[Path]) -> list[str]:
    assert all(jar.is_file() for jar in jars)
    return sorted(jar.name for jar in jars)


def without_java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", os.path.dirname(sys.executable))
    monkeypatch.setattr("pyrs.jvm.packages.default_java_home", lambda: None)


def test_a_package_is_resolved_with_its_dependencies_and_cached(
    central: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = resolve(["org.example:top:1.0"])
    assert names(found) == ["base-1.0.jar", "top-1.0.jar"]
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("pyrs: resolving org.example:top:1.0 into ") and printed.err.count("\n") == 1
    shutil.rmtree(central)
    without_java(monkeypatch)
    assert resolve(["org.example:top:1.0"]) == found
    assert capsys.readouterr().err == "", "a message was printed for a cached package"
    with pytest.raises(JvmUnavailable, match="no java was found in JAVA_HOME or on PATH: install a JDK or JRE"):
        resolve(["org.example:other:1.0"])


def test_the_later_of_two_versions_wins(central: Path) -> None:
    found = resolve(["org.example:top:1.0", "org.example:other:1.0"])
    assert names(found) == ["base-1.10.jar", "other-1.0.jar", "top-1.0.jar"]


def test_an_excluded_dependency_is_left_out(central: Path) -> None:
    assert names(resolve(["org.example:top:1.0"], exclude=["org.example:base"])) == ["top-1.0.jar"]
    assert names(resolve(["org.example:top:1.0"], exclude=["*:ba*"])) == ["top-1.0.jar"]
    assert names(resolve(["org.example:broken:1.0"], exclude=["org.example:gone"])) == ["broken-1.0.jar"]


@pytest.mark.parametrize(
    "exclusion",
    [
        *("org.example:base", "*:*"),
        *(pytest.param(each, marks=pytest.mark.campaign) for each in ("*:base", "org.*:b*e", "org.example:*")),
    ],
)
def test_an_exclusion_keeps_a_requested_package(central: Path, exclusion: str) -> None:
    found = resolve(["org.example:base:1.0", "org.example:other:1.0"], exclude=[exclusion])
    assert names(found) == ["base-1.0.jar", "other-1.0.jar"]


def test_a_classifier_selects_another_file_and_jar_omits_dependencies(central: Path) -> None:
    assert names(resolve(["org.example:top:1.0:linux"])) == ["base-1.0.jar", "top-1.0-linux.jar"]
    assert names(resolve(["org.example:top:1.0@jar"])) == ["top-1.0.jar"]
    both = ["base-1.0.jar", "top-1.0-linux.jar", "top-1.0.jar"]
    assert names(resolve(["org.example:top:1.0", "org.example:top:1.0:linux"])) == both
    assert names(resolve(["org.example:top:1.0:linux", "org.example:top:1.0"])) == both
    assert names(resolve(["org.example:top:1.0:linux@jar"])) == ["top-1.0-linux.jar"]


def test_additional_repositories_are_searched_as_well(central: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    publish(mine, "org.example:mine:1.0", ["org.example:base:1.0"])
    expected = ["base-1.0.jar", "mine-1.0.jar"]
    assert names(resolve(["org.example:mine:1.0"], [mine])) == expected
    assert names(resolve(["org.example:mine:1.0"], [str(mine)])) == expected
    assert names(resolve(["org.example:mine:1.0"], [mine.as_uri() + "/"])) == expected
    assert names(resolve(["org.example:mine:1.0"], [NOWHERE, mine])) == expected  # skips an unreachable repository


def test_an_empty_list_needs_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    without_java(monkeypatch)
    assert resolve([]) == []


@pytest.mark.parametrize(
    "text",
    [
        *("", "org.example:top", "org.example/top/1.0", "a:b:c:d:e", "a:b:1.0@zip", "a:b:", " a:b:1", "a:b:1\n"),
        *("a:b:${x}", "../..:b:1", "a:..:1", "a:b:..", "-a:b:1", "a:b:-1", "a b:c:1"),
    ],
)
def test_a_malformed_coordinate_is_reported_with_the_expected_form(text: str) -> None:
    with pytest.raises(ValueError, match="is not a Maven coordinate of the form group:artifact:version") as refused:
        resolve([text])
    assert repr(text) in str(refused.value)


def test_other_malformed_arguments_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="packages takes a list, not one str"):
        resolve("org.example:top:1.0")
    with pytest.raises(TypeError, match="repositories takes a list"):
        resolve(["org.example:top:1.0"], "https://example.org")
    with pytest.raises(TypeError, match="a coordinate is a str"):
        resolve([tmp_path])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="'top' is not an exclusion of the form group:artifact"):
        resolve(["org.example:top:1.0"], exclude=["top"])
    with pytest.raises(ValueError, match=r"is not a repository: pass a URL such as https://\.\.\. or a folder"):
        resolve(["org.example:top:1.0"], [tmp_path / "nothing"])
    with pytest.raises(ValueError, match=r"at example\.org contains a user name or a password") as refused:
        resolve(["org.example:top:1.0"], ["https://me:secret@example.org/maven"])
    assert "secret" not in str(refused.value)


def test_a_missing_package_is_named(central: Path) -> None:
    with pytest.raises(JvmUnavailable) as refused:
        resolve(["org.example:top:1.0", "org.example:top:9.9", "org.example:nothing:1", "org.example:base:1.0:mac"])
    text = str(refused.value)
    assert text.startswith("not found: org.example:")
    assert all(name in text for name in ("org.example:nothing:1", "org.example:base:1.0:mac", central.as_uri()))
    assert "Check the names and versions" in text


def test_a_missing_dependency_is_distinguished_from_a_missing_package(central: Path) -> None:
    with pytest.raises(
        JvmUnavailable, match=r"not found: org.example:gone:2.0 \(a dependency; exclude= leaves it out\)"
    ):
        resolve(["org.example:broken:1.0"])
    assert names(resolve(["org.example:top:1.0"])) == ["base-1.0.jar", "top-1.0.jar"], "the failure damaged the cache"


def test_an_unreachable_repository_is_reported_with_the_remedy(central: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", NOWHERE)
    with pytest.raises(JvmUnavailable) as refused:
        resolve(["org.example:top:1.0"])
    text = str(refused.value)
    assert "a repository cannot be read (java.net.ConnectException: Connection refused" in text
    assert "org.example:top:1.0" in text and NOWHERE in text
    assert "Connect to the network once, set PYRS_MAVEN_REPOSITORY to a mirror" in text


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (401, "a repository cannot be read (Unauthorized), and"),
        pytest.param(403, "a repository cannot be read (Forbidden), and", marks=pytest.mark.campaign),
        (404, "not found: org.example:top:1.0. Repositories"),
        pytest.param(
            407, "a repository cannot be read (Your proxy requires authentication), and", marks=pytest.mark.campaign
        ),
        pytest.param(503, "a repository cannot be read (Service Unavailable), and", marks=pytest.mark.campaign),
    ],
)
def test_a_refused_download_is_distinguished_from_a_missing_package(
    central: Path, monkeypatch: pytest.MonkeyPatch, status: int, message: str
) -> None:
    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_HEAD(self) -> None:
            self.do_GET()

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", f"http://127.0.0.1:{server.server_port}")
            with pytest.raises(JvmUnavailable) as refused:
                resolve(["org.example:top:1.0"])
        finally:
            server.shutdown()
            thread.join()
    assert str(refused.value).startswith(message)


@pytest.mark.parametrize("damage", [Path.unlink, lambda jar: jar.write_bytes(b"half")])
def test_a_missing_or_truncated_jar_is_downloaded_again(central: Path, damage: object) -> None:
    found = resolve(["org.example:top:1.0"])
    content = found[0].read_bytes()
    assert callable(damage)
    damage(found[0])
    assert resolve(["org.example:top:1.0"]) == found
    assert found[0].read_bytes() == content


def test_a_truncated_jar_is_not_used_by_another_request(central: Path) -> None:
    [jar] = resolve(["org.example:base:1.0"])
    content = jar.read_bytes()
    jar.write_bytes(content[:40])
    found = resolve(["org.example:top:1.0"])
    assert jar in found
    assert jar.read_bytes() == content


def test_a_repository_that_serves_no_jar_is_named(central: Path) -> None:
    (central / "org/example/base/1.0/base-1.0.jar").write_bytes(b"<html>Please log in</html>")
    with pytest.raises(
        JvmUnavailable, match=r"not jars or are truncated: .*base-1\.0\.jar\. They came from: file:.*central"
    ):
        resolve(["org.example:top:1.0"])


def test_a_version_that_may_change_is_resolved_each_time(central: Path) -> None:
    publish(central, "org.example:moving:1.0-SNAPSHOT")
    resolve(["org.example:moving:1.0-SNAPSHOT"])
    publish(central, "org.example:moving:1.0-SNAPSHOT", ["org.example:base:1.0"], text="second, and longer")
    assert names(resolve(["org.example:moving:1.0-SNAPSHOT"])) == ["base-1.0.jar", "moving-1.0-SNAPSHOT.jar"]


def test_processes_share_one_cache(central: Path) -> None:
    """Three processes resolve into a cache that has a partial file of a killed one."""
    folder = central.parent / "the cache, ä" / "pyrs" / "packages"
    cut = folder / "jars" / "org.example" / "top" / "1.0" / "top-1.0.jar.part"
    cut.parent.mkdir(parents=True)
    cut.write_bytes(b"half a f")
    program = "from pyrs.jvm.packages import resolve; print(*resolve(['org.example:top:1.0']), sep='|')"
    runs = [
        subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, env={**os.environ})
        for _ in range(3)
    ]
    answers = {run.communicate(timeout=100)[0] for run in runs}
    assert [run.returncode for run in runs] == [0, 0, 0]
    [answer] = answers
    top, _ = map(Path, answer.strip().split("|"))
    assert top.read_bytes() == (central / "org/example/top/1.0/top-1.0.jar").read_bytes()
    assert sorted(path.name for path in folder.iterdir()) == ["jars", "resolved"], "temporary folders are left"
    assert len(list((folder / "resolved").iterdir())) == 1


def test_files_of_a_killed_process_are_removed_after_a_day(
    central: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    java = tmp_path / "home" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text("#!/bin/sh\nkill -9 $PPID\n")
    java.chmod(0o755)
    program = "from pyrs.jvm.packages import resolve; resolve(['org.example:top:1.0'])"
    with monkeypatch.context() as patched:
        patched.setenv("JAVA_HOME", str(tmp_path / "home"))
        killed = subprocess.run([sys.executable, "-c", program], env={**os.environ}, check=False)
    assert killed.returncode == -signal.SIGKILL
    folder = central.parent / "the cache, ä" / "pyrs" / "packages"
    [left] = folder.iterdir()
    resolve(["org.example:top:1.0"])
    assert left.is_dir()  # a recent folder may belong to a running process on another machine
    two_days_ago = time.time() - 2 * 24 * 60 * 60
    live, unnumbered = folder / f"run-{os.getpid()}-abc", folder / "run-abc"
    for run in (left, live, unnumbered):
        run.mkdir(exist_ok=True)
        os.utime(run, (two_days_ago, two_days_ago))
    resolve(["org.example:other:1.0"])
    assert sorted(path.name for path in folder.iterdir()) == ["jars", "resolved", live.name]


def test_the_ivy_settings_of_the_user_are_not_read(
    central: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".ivy2").mkdir(parents=True)
    (home / ".ivy2" / "ivysettings.xml").write_text("<no settings")
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", f"-Duser.home={home}")
    assert names(resolve(["org.example:base:1.0"])) == ["base-1.0.jar"]
    assert [path.name for path in (home / ".ivy2").iterdir()] == ["ivysettings.xml"]


def test_cache_links_are_followed_and_unwritable_caches_are_reported(central: Path, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    [jar] = resolve(["org.example:base:1.0"], cache=tmp_path / "link")
    assert jar.is_relative_to(tmp_path / "real")
    (tmp_path / "file").touch()
    with pytest.raises(JvmUnavailable, match=r"packages cannot be resolved into .*file"):
        resolve(["org.example:base:1.0"], cache=tmp_path / "file")
    (tmp_path / "half").mkdir()
    (tmp_path / "half" / "resolved").touch()
    with pytest.raises(JvmUnavailable, match=r"packages cannot be resolved into .*half"):
        resolve(["org.example:base:1.0"], cache=tmp_path / "half")
    with pytest.raises(ValueError, match="a class path cannot contain"):
        resolve(["org.example:base:1.0"], cache=tmp_path / f"a{os.pathsep}b")


def test_ivy_is_downloaded_without_spark(central: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(JvmUnavailable, match=rf"jvm\.launch\(packages=\.\.\.\) needs {IVY.name}: it is not in"):
        resolve(["org.example:base:1.0"])
    file = central / IVY.path
    file.parent.mkdir(parents=True)
    shutil.copy(IVY_OF_SPARK, file)
    assert names(resolve(["org.example:base:1.0"])) == ["base-1.0.jar"]


def test_another_failure_of_ivy_shows_its_output(central: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx1")
    with pytest.raises(JvmUnavailable, match=r"The output of Ivy:\n(.|\n)*Too small"):
        resolve(["org.example:base:1.0"])


def test_launch_searches_packages_after_the_class_path(monkeypatch: pytest.MonkeyPatch) -> None:
    class Launched(Exception):
        pass

    def launch_gateway(**options: object) -> object:
        assert options["classpath"] == ["mine.jar", Path("top.jar")]
        raise Launched

    def resolved(*arguments: object, **options: object) -> list[Path]:
        assert arguments == (["a:b:1"], ["https://example.org"]) and options == {"exclude": ["c:d"]}
        return [Path("top.jar")]

    monkeypatch.setattr(pyrs.jvm, "launch_gateway", launch_gateway)
    monkeypatch.setattr(pyrs.jvm, "resolve", resolved)
    with pytest.raises(Launched):
        pyrs.jvm.launch(["mine.jar"], packages=["a:b:1"], repositories=["https://example.org"], exclude=["c:d"])
    with pytest.raises(TypeError, match="classpath takes a list of paths, not one path"):
        pyrs.jvm.launch("mine.jar")
    with pytest.raises(TypeError, match="jvm_options takes a list of options, not one str"):
        pyrs.jvm.launch(jvm_options="-Xmx1g")


def test_the_command_prints_a_class_path(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def resolved(*arguments: object, **options: object) -> list[Path]:
        assert arguments == (["a:b:1"], ["https://example.org"]) and options == {"exclude": ["c:d"]}
        return [Path("b.jar"), Path("c.jar")]

    with monkeypatch.context() as patched:
        patched.setattr(packages, "resolve", resolved)
        options = ["--repository", "https://example.org", "--exclude", "c:d"]
        assert command_line.main(["jars", "a:b:1", *options]) == 0
    assert capsys.readouterr().out == f"b.jar{os.pathsep}c.jar\n"
    assert command_line.main(["jars", "a:b"]) == 1
    assert capsys.readouterr().err.startswith("pyrs jars: 'a:b' is not a Maven coordinate")
