"""Every Python example of the documentation runs unchanged and prints the output on the page.

The page shows the output in the ``text`` block after the example, or in the comment after the printing statement, where
a comma separates two printed lines. A comment may explain the output after ``: ``. An example that needs a JVM or a
server has ``<!-- needs ... -->`` above it; these tests run those of the pages in ``JVM_PAGES``: the examples of a page
in one process, and each example with a SparkSession in a Spark driver. Other tests cover the TCK page (tests/tck), the
other examples of the debugging page (tests/core) and docs/recipes (tests/interop/systems).
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from tests.demo.driver import Driver, completed
from tests.project import wheel_examples
from tests.project.examples import ROOT, Example, Recorder, comments_of, differences, jvm_examples, plain_examples

EXAMPLES = list(plain_examples())
JVM_PAGES = [
    "README.md",
    "docs/index.md",
    "docs/quickstart.md",
    "docs/tutorial.md",
    "docs/recipes.md",
    "docs/interop.md",
    "docs/debugging.md",
    "docs/schedulers.md",
]
SPARK_EXAMPLES = [example for page in JVM_PAGES for example in jvm_examples(page) if "SparkSession" in example.code]


def test_examples_are_found() -> None:
    assert len(EXAMPLES) > 40
    assert {example.page for example in EXAMPLES} > {"README.md", "docs/core.md", "docs/quickstart.md"}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.page}:{example.line}")
def test_example_prints_the_output_on_the_page(example: Example) -> None:
    name = f"{example.page}:{example.line}"
    recorder = Recorder(name)
    with redirect_stdout(recorder):
        exec(compile(example.code, name, "exec"), {"__name__": "__main__"})
    if example.output is not None:
        assert [each.text for each in recorder.printed] == example.output.splitlines()
    assert differences(example.code, recorder.printed) == []


@pytest.mark.parametrize(
    ("code", "wrong"),
    [
        ("print(1)    # 1", 0),
        ("print(1)    # 2", 2),
        ("print(1)    # 1, 2", 1),
        ("print(1)    # 1: the first", 0),
        ("for n in (1, 2):\n    print(n)    # 1, 2", 0),
        ("for n in (1, 2):\n    print(n)    # 1", 1),
        ("def f():\n    print(1)\nf()    # 1", 0),
        ("x = 1    # why", 0),
        ("print(1)", 0),
    ],
)
def test_wrong_comments_are_detected(code: str, wrong: int) -> None:
    recorder = Recorder("here")
    with redirect_stdout(recorder):
        exec(compile(code, "here", "exec"), {})
    assert len(differences(code, recorder.printed)) == wrong


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.campaign if page in wheel_examples.PAGES else ()) for page in JVM_PAGES],
)
def test_jvm_examples_run_in_one_process(page: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.project.pasted", page],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr[-4000:]
    assert "ran " in done.stdout


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("example", SPARK_EXAMPLES, ids=lambda example: f"{example.page}:{example.line}")
def test_spark_examples_run_in_a_driver(example: Example, driver: Driver, tmp_path: Path) -> None:
    program = tmp_path / "example.py"
    program.write_text(example.code, encoding="utf-8")
    done = completed(driver, tmp_path, program)
    assert done.returncode == 0, done.stderr[-4000:]
    shown = comments_of(example.code)
    prints = [line for line in sorted(shown) if example.code.splitlines()[line - 1].strip().startswith("print(")]
    assert done.stdout.splitlines() == [shown[line] for line in prints]
