"""The import layers, the lengths of the files, and the public names with their docstrings."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "pyrs"

# A package may import from its own layer and the layers below it. Every package must be listed.
LAYERS: tuple[frozenset[str], ...] = (
    frozenset({"api"}),
    frozenset({"rules", "errors"}),
    frozenset({"_core"}),
    frozenset({"stream", "operators", "publishers", "sinks", "schedulers", "aio", "testing", "adapters", "strictness"}),
    frozenset({""}),  # pyrs/__init__.py exports the core only
    frozenset({"jvm"}),
    frozenset({"spark", "tck", "telemetry"}),
    frozenset({"_demo", "_doctor", "_top", "__main__", "pytest_plugin"}),
)
LAYER_OF = {package: height for height, layer in enumerate(LAYERS) for package in layer}

CORE = frozenset().union(*LAYERS[:4])

LONGEST_FILE = 600

# Third-party packages, and the files or folders that may import them.
PLACES = {
    "msgpack": ("jvm/",),
    "py4j": ("jvm/gateways/",),
    "jpype": ("jvm/gateways/",),
    "pyarrow": ("jvm/values/", "spark/"),
    "pandas": ("spark/",),
    "pyspark": ("jvm/gateways/", "spark/", "_demo/", "tck/_java/spark.py"),
    "opentelemetry": ("telemetry/",),
    "pytest": ("tck/plugin.py",),
    "tqdm": ("operators/progress.py", "spark/read/showing.py"),
    "reactivex": ("adapters/reactivex.py",),
    "reactivestreams": ("adapters/rsocket.py",),
    "rsocket": ("adapters/rsocket.py",),
}
# Optional packages of the core. They are imported inside functions, so importing the core loads none of them.
OPTIONAL = frozenset({"tqdm"})
# One file each may import these, so a new version of the library affects one file.
ONE_FILE = ("py4j", "jpype")


class Import(NamedTuple):
    """One imported module with the file and line of the import."""

    file: Path
    line: int
    module: str

    def __str__(self) -> str:
        return f"{self.file.relative_to(ROOT)}:{self.line} imports {self.module}"


def python_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def module_name(file: Path) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


def resolve(module: str, names: list[str]) -> Iterator[str]:
    """Yield the imported modules: pyrs.jvm for ``from pyrs import jvm``, pyrs.api for ``from pyrs.api import T``."""
    folder = ROOT.joinpath(*module.split("."))
    for name in names:
        is_module = (folder / name).is_dir() or (folder / f"{name}.py").is_file()
        yield f"{module}.{name}" if is_module else module


def imports_of(file: Path) -> Iterator[Import]:
    package = module_name(file) if file.name == "__init__.py" else module_name(file).rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(file, node.lineno, alias.name)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            if node.level:
                parent = package.rsplit(".", node.level - 1)[0] if node.level > 1 else package
                module = f"{parent}.{module}" if module else parent
            for name in sorted(set(resolve(module, [alias.name for alias in node.names]))):
                yield Import(file, node.lineno, name)


@cache
def every_import() -> tuple[Import, ...]:
    return tuple(each for file in python_files() for each in imports_of(file))


def is_in(file: Path, places: tuple[str, ...]) -> bool:
    return file.relative_to(PACKAGE).as_posix().startswith(places)


def test_every_package_is_in_a_layer() -> None:
    packages = {package_of(module_name(file)) for file in python_files()}
    assert packages, "no module found: is the checkout complete?"
    assert packages - set(LAYER_OF) == set()


def test_no_package_imports_from_a_higher_layer() -> None:
    wrong = [
        str(each)
        for each in every_import()
        if each.module.split(".")[0] == "pyrs"
        and LAYER_OF[package_of(module_name(each.file))] < LAYER_OF[package_of(each.module)]
    ]
    assert wrong == []


def test_the_core_imports_the_standard_library_only() -> None:
    wrong = [
        str(each)
        for each in every_import()
        if package_of(module_name(each.file)) in CORE - {"adapters"}  # an adapter imports its library
        and each.module.split(".")[0] not in sys.stdlib_module_names | {"pyrs"} | OPTIONAL
    ]
    assert wrong == []


def test_core_machinery_imports_neither_asyncio_nor_sockets() -> None:
    wrong = [
        str(each)
        for each in every_import()
        if package_of(module_name(each.file)) == "_core" and each.module.split(".")[0] in {"asyncio", "socket"}
    ]
    assert wrong == []


def test_third_party_packages_are_imported_in_their_places_only() -> None:
    wrong = []
    for each in every_import():
        top = each.module.split(".")[0]
        if top not in sys.stdlib_module_names | {"pyrs"} and not is_in(each.file, PLACES.get(top, ())):
            wrong.append(str(each))
    assert wrong == []


@pytest.mark.parametrize("package", ONE_FILE)
def test_gateway_library_is_imported_in_one_file(package: str) -> None:
    files = {each.file for each in every_import() if each.module.split(".")[0] == package}
    assert len(files) <= 1, files


def test_pyspark_is_imported_by_the_py4j_gateway_only() -> None:
    gateways = {each.file for each in every_import() if each.module.split(".")[0] == "py4j"}
    users = {
        each.file for each in every_import() if each.module.split(".")[0] == "pyspark" and is_in(each.file, ("jvm/",))
    }
    assert users <= gateways


def test_the_protocol_does_no_input_or_output() -> None:
    """Frames, window and stream table are sans-I/O; only the connection opens a socket."""
    wrong = [
        str(each)
        for each in every_import()
        if is_in(each.file, ("jvm/link/",))
        and each.file.stem != "connection"
        and each.module.split(".")[0] in {"socket", "select", "selectors", "ssl", "asyncio"}
    ]
    assert wrong == []


def test_the_python_tck_shares_no_code_with_the_implementations() -> None:
    """The port imports only interfaces, rules and errors. The runner of the Java TCK also uses the bridge."""
    wrong = [
        str(each)
        for each in every_import()
        if is_in(each.file, ("tck/",))
        and not is_in(each.file, ("tck/_java/",))
        and each.module.split(".")[0] == "pyrs"
        and package_of(each.module) not in {"api", "rules", "errors", "tck"}
    ]
    assert wrong == []


def test_no_file_exceeds_600_lines() -> None:
    sources = [*PACKAGE.rglob("*.py"), *(ROOT / "tests").rglob("*.py"), *(ROOT / "benchmarks").rglob("*.py")]
    sources += [*(ROOT / "examples").rglob("*.py"), *(ROOT / "jvm" / "src").rglob("*.java")]
    lengths = {file.relative_to(ROOT): len(file.read_text(encoding="utf-8").splitlines()) for file in sources}
    assert {str(file): lines for file, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_every_class_name_is_unique() -> None:
    """Py4J prescribes the name ``Java`` in a class that implements a Java interface."""
    places: dict[str, list[str]] = {}
    for file in python_files():
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and node.name != "Java":
                places.setdefault(node.name, []).append(f"{file.relative_to(ROOT)}:{node.lineno}")
    assert {name: found for name, found in places.items() if len(found) > 1} == {}


# Users import the names of these packages from pyrs.
INTERNAL = frozenset({"operators", "publishers", "stream"})


def public_packages() -> list[str]:
    """Return pyrs and the packages in it that users import from."""
    packages = [folder.parent for folder in PACKAGE.glob("*/__init__.py") if not folder.parent.name.startswith("_")]
    named = {"pyrs", *(f"pyrs.{folder.name}" for folder in packages if folder.name not in INTERNAL)}
    return sorted(named)


def test_every_public_name_is_exported_once() -> None:
    seen: dict[str, str] = {}
    problems = []
    for package in public_packages():
        module = importlib.import_module(package)
        names: list[str] = list(module.__all__)
        problems += [f"{package}.{name} does not exist" for name in names if not hasattr(module, name)]
        for name in names:
            if name in seen:
                problems.append(f"{name} is exported by {seen[name]} and by {package}")
            seen[name] = package
    assert problems == []


def test_every_public_name_is_documented() -> None:
    """Classes, functions and public methods; a method may inherit its docstring."""
    undocumented = []
    for package in public_packages():
        module = importlib.import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and not inspect.getdoc(thing):
                undocumented.append(f"{package}.{name}")
            if inspect.isclass(thing):
                methods = inspect.getmembers(thing, inspect.isfunction)
                undocumented += [
                    f"{package}.{name}.{method}"
                    for method, function in methods
                    if is_undocumented(thing, method, function)
                ]
    assert undocumented == []


def is_undocumented(owner: type, method: str, function: Callable[..., object]) -> bool:
    return (
        not method.startswith("_")
        and function.__module__.startswith("pyrs")
        and not inspect.getdoc(getattr(owner, method))
    )


def test_importing_the_core_loads_no_third_party_module() -> None:
    """A new process has no modules that other tests have imported. -S excludes site-packages."""
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import pyrs; print(*sorted(sys.modules))"
    run = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stderr
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert loaded - sys.stdlib_module_names - {"pyrs", "__main__"} == set()
    slow = {"asyncio", "concurrent", "dataclasses", "inspect", "logging", "random", "socket", "subprocess", "traceback"}
    assert loaded & slow == set(), "import pyrs must not import slow modules"
