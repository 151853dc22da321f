"""``jvm.launch(packages=[...])`` starts a JVM with packages, and a second call adds further ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.gateways.repository import publish

PROGRAM = """
import jpype
from pyrs import jvm
from pyrs.errors import JvmUnavailable

def content(name):
    stream = jpype.JClass("org.jpype.JPypeContext").getInstance().getClassLoader().getResourceAsStream(name)
    return None if stream is None else bytes(stream.readAllBytes()).decode()

with jvm.launch(packages=["org.example:top:1.0"]):
    print(content("top-1.0.txt"), content("base-1.0.txt"), content("other-1.0.txt"))
try:
    jvm.launch(packages=["org.example:late:1.0"])
except JvmUnavailable as refused:
    print(str(refused).partition("Restart")[0], content("late-1.0.txt"))
with jvm.launch(
    packages=["org.example:other:1.0", "org.example:late:1.0", "org.example:base:0.9"], exclude=["org.example:base"]
):
    print(content("top-1.0.txt"), content("base-1.0.txt"), content("other-1.0.txt"), content("late-1.0.txt"))
    print(content("base-1.10.txt"), content("base-0.9.txt"))
"""


def test_a_second_launch_adds_packages_but_no_other_versions(tmp_path: Path) -> None:
    central = tmp_path / "central"
    publish(central, "org.example:top:1.0", ["org.example:base:1.0"], text="top")
    publish(central, "org.example:base:1.0", text="base")
    publish(central, "org.example:base:0.9", text="earlier base")
    publish(central, "org.example:base:1.10", text="later base")
    publish(central, "org.example:other:1.0", text="other")
    publish(central, "org.example:late:1.0", ["org.example:base:1.10"], text="late")
    environment = {"PYRS_MAVEN_REPOSITORY": central.as_uri(), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, **environment}, capture_output=True, text=True, timeout=110
    )
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.splitlines() == [
        "top base None",
        "the JVM of this process keeps the versions that it has loaded, and these are later: "
        "base-1.10.jar (it has base-1.0.jar).  None",
        "top base other late",
        "None None",
    ]
