"""The fixtures of tests/interop over a JVM with the jars of one system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from pyrs import jvm
from pyrs.jvm.packages import resolve
from tests.interop.harness import Java, JPypeJava, Py4JJava, compiled
from tests.interop.systems import system as systems
from tests.interop.systems.recipes import RECIPES, load_program, load_recipe, output_of
from tests.sessions import spark_session

FOLDER = Path(__file__).parent

# Modules with shared assertions need the assertion messages of pytest.
pytest.register_assert_rewrite("tests.interop.systems.akka_streams", "tests.interop.systems.demand")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker("system")
            # The starts of the JVM and the servers have deadlines, so the timeout applies only to the test function.
            item.add_marker(pytest.mark.timeout(func_only=True))


@pytest.fixture(scope="session")
def tested(request: pytest.FixtureRequest) -> tuple[str, systems.System]:
    """The system of this process; a JVM has one class path."""
    modules = {item.path.stem: item.module for item in request.session.items if isinstance(item, pytest.Function)}
    if len(modules) != 1:
        raise pytest.UsageError(
            f"a process tests one system, not {', '.join(sorted(modules))} together; "
            "`python -m tests.interop.systems` tests several"
        )
    [(stem, module)] = modules.items()
    return stem.removeprefix("test_"), systems.of_module(module)


@pytest.fixture(scope="session")
def interop_jars(tested: tuple[str, systems.System], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    name, system = tested
    jars = resolve([*system.packages, *system.test_packages])
    sources = FOLDER / "java" / name
    files = sorted(sources.rglob("*.java"))
    return [compiled(files, jars, tmp_path_factory.mktemp("java")), *jars] if files else jars


@pytest.fixture(scope="session")
def machine(
    carrier: str, tested: tuple[str, systems.System], interop_jars: list[Path]
) -> Iterator[tuple[Callable[..., jvm.Bridge], Java]]:
    """Yield functions to open a bridge and to call Java; a Spark driver receives the jars by ``spark.jars``."""
    gateway = "jpype" if carrier == "jpype" else "spark"
    if gateway not in tested[1].gateways:
        raise pytest.UsageError(f"{tested[0]} runs on {', '.join(tested[1].gateways)}, not on {gateway}")
    if gateway == "jpype":
        with jvm.launch(classpath=interop_jars, jvm_options=tested[1].jvm_options):
            yield jvm.launch, JPypeJava()
        return
    options = {
        "spark.driver.memory": "1g",
        "spark.driver.extraJavaOptions": " ".join(tested[1].jvm_options),
        "spark.jars": ",".join(map(str, interop_jars)),
        "spark.log.level": "ERROR",
    }
    spark = spark_session("local[2]", options)
    try:
        yield partial(jvm.connect, spark), Py4JJava(spark.sparkContext._gateway)
    finally:
        spark.stop()


@pytest.fixture(scope="session")
def recipe(tested: tuple[str, systems.System]) -> ModuleType:
    """The code on the page of the system."""
    return load_recipe(tested[0])


@pytest.fixture
def program(
    machine: tuple[Callable[..., jvm.Bridge], Java],
    tested: tuple[str, systems.System],
    recipe: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> ModuleType:
    """Return the program, with a ``jvm.launch`` that checks the options and returns a bridge to the JVM of the tests.

    The code is that of the page or, if the program needs a server, of its file in examples/recipes. tests/project runs
    the other files.
    """
    name, system = tested
    needs_server = output_of(RECIPES / f"{name}.md") is None
    program = load_program(name)[0] if needs_server else recipe

    def launched(packages: Sequence[str] = (), jvm_options: Sequence[str] = ()) -> jvm.Bridge:
        assert (tuple(packages), tuple(jvm_options)) == (system.packages, system.jvm_options)
        return machine[0]()

    monkeypatch.setattr(program.jvm, "launch", launched)
    return program
