"""``python -m pyrs doctor``: each check on a machine that has the part and on one that lacks it."""

from __future__ import annotations

import json
import os
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import pytest

from pyrs import __main__ as command_line
from pyrs import _doctor
from pyrs.errors import JvmUnavailable
from pyrs.jvm import gateways


def findings(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    """Run ``doctor --json`` and return its findings by subject."""
    status = command_line.main(["doctor", "--json"])
    report = json.loads(capsys.readouterr().out)
    problems = [each for each in report["findings"] if each["status"] == "problem"]
    assert (status, report["ok"]) == ((1, False) if problems else (0, True))
    assert all(each["fix"] for each in report["findings"] if each["status"] != "ok")
    return {each["subject"]: each for each in report["findings"]}


@pytest.fixture
def java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set JAVA_HOME to a folder whose ``java`` prints the content of a file; return the path of that file."""
    (tmp_path / "bin").mkdir()
    script = tmp_path / "bin" / "java"
    script.write_text(f"#!/bin/sh\ncat {tmp_path}/printed >&2\n")
    script.chmod(stat.S_IRWXU)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    return tmp_path / "printed"


def test_this_machine_has_every_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line.main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1] == "The bridge can be used."
    for part in (
        "Python",
        "msgpack",
        "py4j",
        "jpype1",
        "JAVA_HOME",
        "Java",
        "libjvm",
        "Spark",
        "jar",
        "loopback",
        "cache",
    ):
        assert any(line.startswith(f"ok       {part:10} ") for line in lines), part


def test_a_free_threaded_python_is_noted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    found = findings(capsys)["Python"]
    assert (found["status"], found["fix"]) == ("note", "pyrs is tested on Linux, with CPython and its GIL")


@pytest.mark.parametrize(
    ("printed", "status"),
    [
        ('openjdk version "17.0.15" 2025-04-15', "ok"),
        ('openjdk version "25" 2025-09-16', "ok"),
        ('openjdk version "11.0.2" 2019-01-15', "problem"),
        ('java version "1.8.0_392"', "problem"),
        ("Segmentation fault", "problem"),
    ],
)
def test_java_must_be_new_enough_for_pyspark_4(
    java: Path, capsys: pytest.CaptureFixture[str], printed: str, status: str
) -> None:
    java.write_text(printed + "\n")
    found = findings(capsys)["Java"]
    assert found["status"] == status
    assert printed.partition(" version ")[2].split(" ")[0] in found["found"]


def test_java_11_suffices_without_pyspark(
    java: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    java.write_text('openjdk version "11.0.2" 2019-01-15\n')
    installed = {"jpype1": "1.5.0", "msgpack": "1.1.0"}
    monkeypatch.setattr(_doctor, "_version_of", lambda package: installed.get(package, ""))
    found = findings(capsys)
    assert found["Java"]["status"] == "ok"
    assert found["py4j"]["status"] == "note"
    assert "Spark" not in found


def test_wrong_java_home_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    found = findings(capsys)["JAVA_HOME"]
    assert found["status"] == "problem"
    assert found["found"] == f"{tmp_path} has no bin/java"


def test_missing_java_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = findings(capsys)["Java"]
    assert (found["status"], found["found"]) == ("problem", "no java on PATH")


@pytest.mark.parametrize(("py4j", "status"), [("0.10.9.9", "note"), ("", "problem")])
def test_jvm_that_jpype_does_not_find_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, py4j: str, status: str
) -> None:
    installed = {"jpype1": "1.5.0", "msgpack": "1.1.0", "py4j": py4j}
    monkeypatch.setattr(_doctor, "_version_of", lambda package: installed.get(package, ""))
    monkeypatch.setattr(gateways, "default_java_home", lambda: None)
    found = findings(capsys)["libjvm"]
    assert found["status"] == status
    assert "JAVA_HOME" in found["fix"]


def test_core_without_a_gateway_names_the_extras(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor, "_version_of", lambda package: "")
    found = findings(capsys)
    assert [found[name]["status"] for name in ("msgpack", "py4j", "jpype1")] == ["problem"] * 3
    assert found["jpype1"]["fix"] == "pip install 'pyrs-streams[jpype]'"


def test_packages_of_spark_submit_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``spark-submit`` adds them to PYTHONPATH, without the metadata of an installed package."""
    for name, content in (("pyspark_copy", '__version__ = "4.9.0"'), ("py4j_copy", "")):
        (tmp_path / f"{name}.py").write_text(content)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert _doctor._version_of("pyspark_copy") == "4.9.0"
    assert _doctor._version_of("py4j_copy") == "unknown version"
    assert _doctor._version_of("absent_copy") == ""


def test_a_copy_of_pyspark_that_cannot_be_imported_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PYTHONPATH has Spark's folder python, and lacks the archive of Py4J in it."""

    def version(package: str, real: Callable[[str], str] = metadata.version) -> str:
        if package == "pyspark":
            raise metadata.PackageNotFoundError(package)
        return real(package)

    (tmp_path / "pyspark").mkdir()
    (tmp_path / "pyspark" / "__init__.py").write_text("import a_missing_py4j")
    for name in [each for each in sys.modules if each.partition(".")[0] == "pyspark"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(metadata, "version", version)
    found = findings(capsys)["Spark"]
    assert found["status"] == "note"
    assert "cannot be imported: ModuleNotFoundError: No module named 'a_missing_py4j'" in found["found"]


def test_spark_connect_is_noted(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_REMOTE", "sc://somewhere")
    found = findings(capsys)["Spark"]
    assert found["status"] == "note"
    assert "jvm.launch()" in found["fix"] and "pyrs.spark.supports(spark)" in found["fix"]


def test_jar_of_another_version_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor, "__version__", "9.9.9")
    found = findings(capsys)["jar"]
    assert found["status"] == "problem"
    assert "for pyrs 9.9.9" in found["found"]


def test_missing_jar_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_doctor.resources, "files", lambda package: tmp_path)
    found = findings(capsys)["jar"]
    assert found["status"] == "problem"
    assert "make setup" in found["fix"]


def test_closed_loopback_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionRefusedError("not allowed")

    monkeypatch.setattr(socket, "create_connection", refuse)
    assert findings(capsys)["loopback"]["status"] == "problem"


def test_the_cache_of_downloaded_packages_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYRS_MAVEN_REPOSITORY", "https://mirror.example/maven")
    assert findings(capsys)["cache"]["found"] == (
        f"{tmp_path / 'pyrs'} with 0 jars, filled from https://mirror.example/maven"
    )


def test_doctor_runs_on_a_core_only_installation() -> None:
    """Without msgpack ``pyrs.jvm`` cannot be imported."""
    program = (
        "import sys; sys.modules.update(msgpack=None, py4j=None, jpype=None); "
        "from pyrs.__main__ import main; sys.exit(main(['doctor']))"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(_doctor.__file__).parents[1])}
    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert "Traceback" not in done.stderr, done.stderr
    assert "loopback" in done.stdout


def test_error_of_a_missing_gateway_refers_to_doctor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyrs.jvm.gateways.jpype", None)
    with pytest.raises(JvmUnavailable, match="python -m pyrs doctor"):
        gateways.launch_gateway()


def test_java_that_cannot_be_run_is_reported(java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (java.parent / "bin" / "java").write_bytes(b"\0")  # neither a program nor a script
    found = findings(capsys)["Java"]
    assert found["status"] == "problem"
    assert "java cannot be run: [Errno 8]" in found["found"]


def test_output_of_java_in_another_encoding_is_reported(java: Path, capsys: pytest.CaptureFixture[str]) -> None:
    java.write_bytes(b"b\xc3rk")
    assert findings(capsys)["Java"]["status"] == "problem"


def test_an_installed_package_that_cannot_be_imported_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "msgpack", None)
    found = findings(capsys)["msgpack"]
    assert found["status"] == "problem"
    assert "cannot be imported: ModuleNotFoundError" in found["found"]


def test_a_spark_home_without_spark_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_HOME", str(tmp_path))
    found = findings(capsys)["SPARK_HOME"]
    assert found["found"] == f"{tmp_path} has no bin/spark-submit"
    assert found["fix"].startswith("unset SPARK_HOME")


def test_a_host_name_that_is_too_long_is_reported(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_LOCAL_IP", 64 * "a")
    assert "SPARK_LOCAL_IP=127.0.0.1" in findings(capsys)["host name"]["fix"]


def test_a_cache_that_is_a_file_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only packages need the cache, so the bridge can be used."""
    (tmp_path / "pyrs").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    found = findings(capsys)["cache"]
    assert found["status"] == "note"
    assert "XDG_CACHE_HOME" in found["fix"]


def test_a_cache_in_a_folder_that_cannot_be_searched_is_noted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """For such a folder, as in the HOME of another user, ``Path.exists`` raises before Python 3.14."""

    def exists(path: Path, **_: object) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "closed"))
    monkeypatch.setattr(Path, "exists", exists)
    monkeypatch.setattr(_doctor.os, "access", lambda path, mode: False)
    assert findings(capsys)["cache"]["status"] == "note"
