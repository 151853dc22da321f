"""The wheel outside the checkout: its files, its dependencies, and a stream through it.

Inside the checkout a jar missing from the wheel would still be found.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import pyrs
from tests.interop.systems.recipes import RECIPES, code_of, output_of
from tests.project import wheel_examples
from tests.project.wheel_examples import PASTE, driver_examples, pasted_examples

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


def copied_tree(folder: Path) -> Path:
    """Copy the parts of the checkout that a wheel needs, without the jars."""
    for part in (".ci", "pyrs", "jvm/src/main/licenses"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("jars", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


def failed_build(tree: Path, outside: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Build a wheel without Gradle and a JDK on PATH, and return the output."""
    monkeypatch.setenv("PATH", str(outside))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(outside), str(tree)]
    done = subprocess.run(command, cwd=outside, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode != 0
    assert list(outside.glob("*.whl")) == []
    return done.stdout + done.stderr


def test_wheel_is_not_built_without_the_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").mkdir()
    printed = failed_build(copied_tree(tmp_path / "tree"), tmp_path / "outside", monkeypatch)
    assert "pyrs/jvm/jars/pyrs.jar is missing, and Gradle or the JDK" in printed
    assert "make wheel" in printed


def test_wheel_is_not_built_with_a_jar_of_another_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside").mkdir()
    tree = copied_tree(tmp_path / "tree")
    shutil.copytree(ROOT / "pyrs/jvm/jars", tree / "pyrs/jvm/jars")
    source = tree / "pyrs" / "__init__.py"
    source.write_text(source.read_text(encoding="utf-8").replace(f'"{pyrs.__version__}"', '"9.9.9"'), encoding="utf-8")
    printed = failed_build(tree, tmp_path / "outside", monkeypatch)
    assert f"pyrs.jar is of version {pyrs.__version__}, not 9.9.9" in printed


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir"]
    run(*build, folder, ROOT, where=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_wheel_contains_the_package_and_the_jars_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert "pyrs/jvm/jars/pyrs.jar" in names
    assert "pyrs/jvm/jars/pyrs-tck.jar" in names
    assert "pyrs/jvm/jars/reactive-streams-1.0.4.jar" in names
    assert "pyrs/py.typed" in names
    assert "pyrs/_top/page.html" in names
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


def environment_with(wheel: Path, extra: str, folder: Path) -> Path:
    """Install the wheel with one extra in a virtual environment, and return its Python."""
    run(sys.executable, "-m", "venv", folder / "venv", where=folder)
    python = folder / "venv" / "bin" / "python"
    run(python, "-m", "pip", "install", "--quiet", f"{wheel}[{extra}]", where=folder)
    return python


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_with(wheel, "jpype", tmp_path_factory.mktemp("installed"))


def test_stream_runs_from_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    where, counted = run(installed, "-c", STREAM, where=tmp_path).splitlines()[-2:]
    assert Path(where).is_relative_to(installed.parents[1]), "the checkout was imported, not the wheel"
    assert counted == "102400 True"


def test_doctor_runs_from_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    assert run(installed.with_name("pyrs"), "doctor", where=tmp_path).endswith("The bridge can be used.\n")


def test_examples_run_from_the_installed_wheel(installed: Path, tmp_path: Path) -> None:
    """Run the blocks of README and of the quick start in their order, except those of a Spark driver."""
    examples = pasted_examples()
    assert len(examples) > 6
    shutil.copy(ROOT / "tests" / "project" / "examples.py", tmp_path)
    (tmp_path / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
    (tmp_path / "paste.py").write_text(PASTE, encoding="utf-8")
    assert run(installed, "paste.py", where=tmp_path).endswith("[]\n")


@pytest.fixture(scope="module")
def with_spark(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return environment_with(wheel, "spark", tmp_path_factory.mktemp("with_spark"))


@pytest.mark.campaign
def test_examples_of_a_driver_run_from_the_installed_wheel(with_spark: Path, tmp_path: Path) -> None:
    """Run the Spark blocks of README and of the quick start, each in a separate driver, outside of the checkout."""
    blocks = list(driver_examples())
    assert len(blocks) > 1
    for number, (code, output) in enumerate(blocks):
        program = tmp_path / f"example_{number}.py"
        program.write_text(code, encoding="utf-8")
        printed = run(with_spark, program, where=tmp_path).splitlines()
        assert [line for line in printed if line in output] == output, printed


@pytest.mark.parametrize("name", wheel_examples.RECIPES)
def test_recipes_run_from_the_installed_wheel(installed: Path, tmp_path: Path, name: str) -> None:
    page = RECIPES / f"{name}.md"
    (tmp_path / "pasted.py").write_text(code_of(page, program=True), encoding="utf-8")
    output = output_of(page)
    assert output is not None
    assert run(installed, "pasted.py", where=tmp_path).endswith(output)


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
