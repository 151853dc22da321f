"""Fuzz with coverage feedback: Jazzer on the Java side, atheris on the Python side.

Both use libFuzzer, which keeps the inputs that reach a new branch, and mutates them. Both sides share the format of the
inputs and the corpus (``fuzz_inputs``). ``python -m tests.campaigns.guided RUNS`` extends the corpus.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from pyrs.jvm.gateways.jars import packaged_jars
from tests.campaigns.fuzz_inputs import CORPUS, committed, write_seeds
from tests.campaigns.races import command
from tests.campaigns.reporting import FOUND, Violation, log

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
JAZZER = HERE / "jazzer"
ATHERIS = "atheris==3.0.0"
ATHERIS_FOLDER = ROOT / "build" / "atheris"
GENERATED = 5_000
"""The number of random conversations with which ``extend_corpus`` starts, in addition to the corpus and the vectors."""
COMMITTED_LENGTH = 512
LENGTH = 4_096
"""The maximum length of an input in bytes."""
OPTIONS = (f"-max_len={LENGTH}", "-timeout=20", "-rss_limit_mb=3000", "-print_final_stats=1", "-verbosity=1")
GRACE_SECONDS = 240
"""The time that a fuzzer may take to start and to end."""
STATUS = re.compile(r"#(\d+)\s+(?:INITED|DONE)\s+cov: (\d+) ft: (\d+) corp: (\d+)")
# The disabled detectors of Jazzer. ReflectiveCall reports that Java loads a class whose name the peer sent, which an
# authenticated peer may do. The code has no regular expression from a peer, and no Java deserialization.
DETECTORS = ("ReflectiveCall", "RegexInjection", "Deserialization")


def python_command() -> list[str] | None:
    """Return the command of the Python side, or None if atheris has no wheel for this Python."""
    if not (ATHERIS_FOLDER / "atheris").is_dir():
        install = ("install", "--quiet", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:")
        done = subprocess.run(
            [sys.executable, "-m", "pip", *install, "--target", str(ATHERIS_FOLDER), ATHERIS],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            log(f"guided fuzz of the Python side: skipped, {ATHERIS} does not install: {done.stderr[-300:].strip()}")
            return None
    return [sys.executable, "-m", "tests.campaigns.fuzz_atheris"]


def compile_java_target(classes: Path) -> str:
    """Compile the target of the Java side against the jar, and return the class path of the jar.

    Raises:
        Violation: the target does not compile.
    """
    jars = packaged_jars()
    path = f"{jars.pyrs}:{jars.reactive_streams}"
    command("javac", "-nowarn", "-d", str(classes), "-cp", path, str(JAZZER / "java" / "FrameFuzz.java"), folder=JAZZER)
    return path


def java_command(classes: Path) -> list[str]:
    """Compile the target, and return the command of the Java side. Gradle fetches Jazzer once."""
    if not any((JAZZER / "lib").glob("jazzer-*.jar")):
        command("gradle", "--console=plain", "--no-daemon", "-q", "-p", str(JAZZER), folder=JAZZER)
    path = compile_java_target(classes)
    return [
        "java",
        "-Xmx512m",
        "-XX:+EnableDynamicAgentLoading",
        "-cp",
        f"{JAZZER / 'lib'}/*:{classes}:{path}",
        "com.code_intelligence.jazzer.Jazzer",
        "--target_class=io.pyrs.link.session.FrameFuzz",
        "--instrumentation_includes=io.pyrs.**",
        "--custom_hook_includes=io.pyrs.**",
        f"--disabled_hooks={':'.join(f'com.code_intelligence.jazzer.sanitizers.{name}' for name in DETECTORS)}",
        "--keep_going=1",
    ]


def run(side: str, program: Sequence[str], seed: int, seconds: float | None, inputs: int | None) -> None:
    """Run one fuzzer from the seeds, for a time or for a number of inputs.

    Raises:
        Violation: an input violates an invariant; it is saved.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_seeds(folder / "seeds", seed)
        (folder / "new").mkdir()
        # The runs of libFuzzer include the seeds.
        seeds = len(list((folder / "seeds").iterdir()))
        limit = f"-runs={seeds + inputs}" if inputs else f"-max_total_time={max(1, round(seconds or 0))}"
        output = fuzzer(
            program, [*OPTIONS, limit, f"-seed={seed % 2**31 or 1}", folder / "new", folder / "seeds"], seconds
        )
    start, *_, end = STATUS.findall(output)
    log(
        f"guided fuzz of the {side} side: {int(end[0]):,} inputs, from {start[1]} to {end[1]} branches and from "
        f"{start[2]} to {end[2]} features: no violation"
    )


def fuzzer(program: Sequence[str], arguments: Sequence[object], seconds: float | None) -> str:
    """Run libFuzzer and return its output.

    Raises:
        Violation: libFuzzer found an input that violates an invariant, or did not run.
    """
    FOUND.mkdir(parents=True, exist_ok=True)
    words = [*program, f"-artifact_prefix={FOUND}/guided-", *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ATHERIS_FOLDER}", "PYTHONHASHSEED": "0"}
    limit = None if seconds is None else seconds + GRACE_SECONDS
    try:
        done = subprocess.run(
            words,
            cwd=FOUND,
            env=environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=limit,
        )
    except subprocess.TimeoutExpired:
        raise Violation(f"the fuzzer did not end within {limit:g} s: {' '.join(words)}") from None
    if done.returncode or not STATUS.search(done.stderr):
        raise Violation(
            f"{' '.join(words)} ended with {done.returncode}; replay: the same command with the path of the saved "
            f"input\n{done.stdout[-1_000:]}{done.stderr[-5_000:]}"
        )
    return done.stderr


def fuzz(seed: int, seconds: float | None, inputs: int | None) -> None:
    """Fuzz both sides.

    Raises:
        Violation: an invariant does not hold.
    """
    share = None if seconds is None else seconds / 2
    program = python_command()
    if program is not None:
        run("Python", program, seed, share, inputs)
    with tempfile.TemporaryDirectory() as name:
        run("Java", java_command(Path(name)), seed, share, inputs)


def extend_corpus(inputs: int) -> None:
    """Fuzz both sides, and add the inputs that reach a branch which the generated conversations do not reach.

    Longer inputs than ``COMMITTED_LENGTH`` are not added. The seeds count towards the runs of a fuzzer.
    """
    kept = dict.fromkeys(each.hex() for each in committed())
    seed = secrets.randbelow(2**31)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "classes").mkdir()
        write_seeds(folder / "seeds", seed, GENERATED)
        for number, program in enumerate((python_command(), java_command(folder / "classes"))):
            if program is None:
                continue
            new = folder / f"new-{number}"
            new.mkdir()
            output = fuzzer(
                program, [*OPTIONS, f"-runs={GENERATED + inputs}", f"-seed={seed or 1}", new, folder / "seeds"], None
            )
            found = [file.read_bytes() for file in new.iterdir()]
            kept.update(dict.fromkeys(each.hex() for each in found if len(each) <= COMMITTED_LENGTH))
            first, *_, last = STATUS.findall(output)
            log(f"side {number}: from {first[1]} to {last[1]} branches, from {first[2]} to {last[2]} features")
    lines = sorted(kept, key=lambda line: (len(line), line))
    CORPUS.write_text("".join(f"{line}\n" for line in lines), encoding="ascii")
    log(f"{len(lines)} inputs in {CORPUS}")


if __name__ == "__main__":
    extend_corpus(int(sys.argv[1]))
