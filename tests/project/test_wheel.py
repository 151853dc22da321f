"""The wheel outside the checkout: its files, its dependencies, and a stream through it.

Inside the checkout a jar missing from the wheel would still be found.
"""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.timeout(900)  # building and installing the wheel takes time

STREAM = """
from jpype import JClass
import pyrs
from pyrs import jvm

with jvm.launch() as bridge:
    body = JClass("java.net.http.HttpRequest$BodyPublishers").ofByteArray(bytes(range(256)) * 400)
    chunks = bridge.from_jvm(body).map(bytes).collect(timeout=30)
print(pyrs.__file__)
print(sum(map(len, chunks)), b"".join(chunks) == bytes(range(256)) * 400)
"""


def run(*command: str | Path, where: Path) -> str:
    """Run a command without PYTHON* variables, which could point to the checkout."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [str(word) for word in command],
        cwd=where,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    run(*build, folder, ROOT, where=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_holds_the_package_and_the_jars_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "pyrs/jvm/jars/pyrs.jar" in names
    assert "pyrs/jvm/jars/pyrs-tck.jar" in names
    assert "pyrs/jvm/jars/reactive-streams-1.0.4.jar" in names
    assert "pyrs/py.typed" in names
    assert {name.split("/")[0] for name in names if ".dist-info/" not in name} == {"pyrs"}


def test_jar_has_the_version_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as outer, outer.open("pyrs/jvm/jars/pyrs.jar") as jar:
        manifest = Parser().parsestr(zipfile.ZipFile(jar).read("META-INF/MANIFEST.MF").decode())
    assert f"-{manifest['Implementation-Version']}-" in wheel.name


def test_jars_do_not_contain_the_java_tck(wheel: Path) -> None:
    for name, own in (("pyrs.jar", "io/pyrs/"), ("pyrs-tck.jar", "io/pyrs/tck/")):
        with zipfile.ZipFile(wheel) as outer, outer.open(f"pyrs/jvm/jars/{name}") as jar:
            classes = [entry for entry in zipfile.ZipFile(jar).namelist() if entry.endswith(".class")]
        assert classes
        assert [entry for entry in classes if not entry.startswith(own)] == []
        assert name == "pyrs-tck.jar" or not any(entry.startswith("io/pyrs/tck/") for entry in classes)


def test_core_has_no_dependencies(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        required = Parser().parsestr(archive.read(metadata).decode()).get_all("Requires-Dist") or []
    assert required, "the extras are missing"
    assert [line for line in required if "extra ==" not in line] == []


def test_stream_runs_from_the_installed_wheel(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", tmp_path / "venv", where=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[jpype]", where=tmp_path)
    where, counted = run(python, "-c", STREAM, where=tmp_path).splitlines()[-2:]
    assert Path(where).is_relative_to(tmp_path), "the checkout was imported, not the wheel"
    assert counted == "102400 True"


def test_wheel_and_jar_carry_the_licences_of_bundled_code(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name.rpartition("/")[2] for name in archive.namelist() if ".dist-info/licenses/" in name}
        with archive.open("pyrs/jvm/jars/pyrs.jar") as packed, zipfile.ZipFile(packed) as jar:
            notice = jar.read("META-INF/NOTICE.txt").decode()
            apache = jar.read("META-INF/LICENSE-Apache-2.0.txt").decode()
            bundles_msgpack = any(name.startswith("io/pyrs/shaded/msgpack/") for name in jar.namelist())
    assert names == {"LICENSE", "NOTICE.txt", "LICENSE-Apache-2.0.txt"}
    assert bundles_msgpack
    assert "msgpack-core" in notice
    assert "Apache License" in apache
