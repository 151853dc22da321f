"""Run the jcstress tests of the Java side: races of the drain loop, the outbox, the handles and the window.

jcstress runs two threads on each state millions of times, and counts the results. It has no seed.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

from pyrs.jvm.gateways.jars import packaged_jars
from tests.campaigns.reporting import Violation, log

HERE = Path(__file__).parent / "jcstress"
# The options by the maximum time in minutes. The mode ``sanity`` is too short to find a lost wake-up. The first two
# entries test fewer configurations of the JVM.
MODES = (
    (2, "-m quick -f 1 -sc false -jvmArgs -Xmx256m"),
    (5, "-m quick -f 1 -sc false"),
    (15, "-m quick -f 1"),
    (float("inf"), "-m default"),
)


def run(minutes: float) -> None:
    """Run all tests, with the settings of jcstress that fit into the time.

    Raises:
        Violation: a result is forbidden, or the tests could not run.
    """
    mode = next(words for most, words in MODES if minutes <= most)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = fetch()
        jars = packaged_jars()
        path = f"{library}/*:{jars.pyrs}:{jars.reactive_streams}"
        command("javac", "-nowarn", "-d", name, "-cp", path, str(HERE / "java" / "Races.java"), folder=folder)
        output = command(
            "java",
            "-cp",
            f"{name}:{path}",
            "org.openjdk.jcstress.Main",
            *mode.split(),
            "-r",
            name,
            "-c",
            "2",
            folder=folder,
        )
    result = [line for line in output.splitlines() if line.startswith("(Results:")][-1]
    if "0 failed, 0 soft errs, 0 hard errs" not in result:
        raise Violation(f"jcstress: {result}\n{output[output.rfind('RUN RESULTS') :][:5_000]}")
    log(f"races: jcstress {mode}: {result}")


def fetch() -> Path:
    """Return the folder of jcstress, which Gradle fetches once."""
    library = HERE / "lib"
    if not any(library.glob("jcstress-core-*.jar")):
        command("gradle", "--console=plain", "--no-daemon", "-q", "-p", str(HERE), folder=HERE)
    return library


def command(program: str, *arguments: str, folder: Path) -> str:
    """Run a program and return its output.

    Raises:
        Violation: the program is missing or failed.
    """
    found = shutil.which(program)
    if found is None:
        raise Violation(f"{program} was not found: install it")
    done = subprocess.run([found, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode and "(Results:" not in done.stdout:
        raise Violation(f"{program} failed: {done.stdout[-1_500:]}{done.stderr[-1_500:]}")
    return done.stdout
