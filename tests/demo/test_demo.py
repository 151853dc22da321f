"""The demo in a separate process, on little data: its output, its exit status and its shutdown."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.demo.driver import environment
from tests.waiting import eventually

SECONDS = 600
SMALL = "Size(laps=1, batch=64, rest_seconds=0.001, race_laps=2, naive_laps=1)"

pytestmark = [pytest.mark.slow, pytest.mark.timeout(SECONDS + 60)]


def run(program: str) -> subprocess.CompletedProcess[str]:
    """Run a program without a terminal, and capture its output."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        env=environment(),
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def shown() -> subprocess.CompletedProcess[str]:
    return run(f"""
        import sys
        from pyrs._demo import Size, main
        sys.exit(main({SMALL}))
    """)


def test_demo_succeeds_and_writes_nothing_to_stderr(shown: subprocess.CompletedProcess[str]) -> None:
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stderr == ""


def test_demo_shows_the_count_and_samples_of_each_stage(shown: subprocess.CompletedProcess[str]) -> None:
    for stage, count in [
        ("Reactor Flux (JVM)", "published 1,501 lines"),
        ("RatingProcessor (Python)", "saw 1,501 lines, kept 353 ratings"),
        ("SubmissionPublisher (JVM)", "received 353 Java objects"),
        ("PatientSubscriber (Python)", "received 353 ratings"),
    ]:
        assert re.search(rf"^ *{re.escape(stage)} +{re.escape(count)}$", shown.stdout, re.MULTILINE), shown.stdout
    assert "java.lang.String  0::2::3" in shown.stdout
    assert re.search(r"java\.util\.\w*Map  \{user=0, movie=2, stars=3\.0", shown.stdout)


def number_after(label: str, output: str) -> int:
    found = re.search(rf"^ *{re.escape(label)} +([\d,]+)", output, re.MULTILINE)
    assert found, f"no line has {label!r}:\n{output}"
    return int(found[1].replace(",", ""))


def test_demand_covers_the_elements_and_is_bounded(shown: subprocess.CompletedProcess[str]) -> None:
    assert number_after("Reactor received", shown.stdout) >= 1501
    assert number_after("RatingProcessor received", shown.stdout) >= 353
    assert number_after("PatientSubscriber requested", shown.stdout) % 64 == 0
    assert 0 < number_after("one stream across the link", shown.stdout) < 1501
    assert 0 < number_after("Processor to Subscriber", shown.stdout) < 353


def test_race_shows_both_rates(shown: subprocess.CompletedProcess[str]) -> None:
    assert number_after("pyrs", shown.stdout.partition("The race")[2]) > 0
    assert number_after("naive Py4J proxy", shown.stdout) > 0
    assert "times as fast" in shown.stdout


def test_every_count_equals_the_count_by_spark(shown: subprocess.CompletedProcess[str]) -> None:
    assert len(re.findall(r"^  right  ", shown.stdout, re.MULTILINE)) == 12
    assert "WRONG" not in shown.stdout


def test_output_is_plain_text(shown: subprocess.CompletedProcess[str]) -> None:
    assert shown.stdout.isascii()
    assert "\x1b" not in shown.stdout
    assert "\r" not in shown.stdout


@pytest.mark.campaign
def test_demo_fails_if_a_stage_loses_elements() -> None:
    """Spark counts ratings of three stars or more; this Processor keeps four or more.

    The demo runs without its race, which starts a second JVM.
    """
    lossy = run(f"""
        import importlib, sys
        from pyrs import _demo
        from pyrs._demo import stages
        stages.KEEP_FROM = 4.0
        importlib.import_module("pyrs._demo.show")._race = lambda *arguments: []
        sys.exit(_demo.main(_demo.{SMALL}))
    """)
    assert lossy.returncode == 1, lossy.stdout
    expected = r"pyrs demo: FAILED: 5 of the counts are wrong; .*: 174, but Spark counted 353\n"
    assert re.fullmatch(expected, lossy.stderr), lossy.stderr
    assert "WRONG  ratings that the Subscriber received: 174, but Spark counted 353" in lossy.stdout


def running_in_group(group: int) -> list[str]:
    """Return the names of a group's running processes, without zombies."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # the process has exited
            name, _, rest = stat.read_text().partition("(")[2].rpartition(")")
            state, _, process_group = rest.split()[:3]
            if int(process_group) == group and state != "Z":
                found.append(name)
    return found


@pytest.mark.parametrize(
    "moment", ["Starting a local Spark driver", pytest.param("requested", marks=pytest.mark.campaign)]
)
def test_ctrl_c_stops_the_demo_and_its_jvm(moment: str) -> None:
    program = "import sys; from pyrs._demo import main; sys.exit(main())"
    demo = subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # one process group, as in a terminal
    )
    try:
        assert demo.stdout is not None
        assert any(moment in line for line in demo.stdout)
        os.killpg(demo.pid, signal.SIGINT)
        _, errors = demo.communicate(timeout=SECONDS)
        assert demo.returncode == 130, errors
        assert errors.endswith("pyrs demo: interrupted\n")
        # The JVM needs a moment to exit.
        eventually(lambda: not running_in_group(demo.pid), lambda: f"still running: {running_in_group(demo.pid)}")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(demo.pid, signal.SIGKILL)


@pytest.mark.parametrize(
    ("output", "status", "message"),
    [
        ("os.pipe()[1]", 141, ""),
        ("os.open('/dev/full', os.O_WRONLY)", 1, "pyrs: cannot write the output: No space left on device\n"),
    ],
    ids=["closed pipe", "full disk"],
)
def test_a_closed_pipe_or_a_full_disk_ends_the_demo_without_a_traceback(output: str, status: int, message: str) -> None:
    ended = run(f"""
        import os, sys
        from pyrs import __main__, _demo

        os.dup2({output}, 1)
        os.closerange(3, 100)  # the pipe has no reader

        def show(screen, size):
            screen.say("counted")

        _demo.show = show
        sys.exit(__main__.main(["demo"]))
    """)
    assert (ended.returncode, ended.stderr) == (status, message)


def test_an_error_of_another_file_is_a_failure_of_the_demo() -> None:
    ended = run("""
        import sys
        from pyrs import __main__, _demo
        _demo.show = lambda *arguments: open("not_there.txt")
        sys.exit(__main__.main(["demo"]))
    """)
    assert ended.returncode == 1
    assert ended.stderr.endswith(
        "pyrs demo: FAILED: FileNotFoundError: [Errno 2] No such file or directory: 'not_there.txt'\n"
    )


def test_missing_ratings_are_reported() -> None:
    missing = run("""
        import sys
        from pyrs import _demo
        from pyrs._demo import driver
        driver.RATINGS = "data/mllib/not_there.txt"
        sys.exit(_demo.main())
    """)
    assert missing.returncode == 1
    assert re.fullmatch(
        r"pyrs demo: FAILED: PySpark \S+ was installed without data/mllib/not_there.txt; .*\n", missing.stderr
    )
