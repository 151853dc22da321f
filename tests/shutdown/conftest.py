"""A plain JVM behind Py4J, without Spark: started in half a second, and killed without regret."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pyrs import jvm

HERE = Path(__file__).parent

# Py4J reports every object that it cannot give back to a JVM that was killed, from inside the garbage collector.
logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)

sys.path.insert(0, str(HERE))


def spark_jars() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Java parties, compiled."""
    folder = tmp_path_factory.mktemp("parties")
    compiler = shutil.which("javac")
    assert compiler is not None, "javac was not found: install a JDK"
    reactive_streams = next(Path(jvm.__file__).parent.glob("jars/reactive-streams-*.jar"))
    source = str(HERE / "java" / "Parties.java")
    subprocess.run(
        [compiler, "--release", "11", "-nowarn", "-cp", str(reactive_streams), "-d", str(folder), source],
        check=True,
        timeout=90,
    )
    return folder


class PlainJvm:
    """A Java process with a Py4J gateway."""

    def __init__(self, classes: Path) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        reactive_streams = next(Path(jvm.__file__).parent.glob("jars/reactive-streams-*.jar"))
        self._output = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - Py4J would open one and never close it
        self.port, token, self.process = launch_gateway(
            jarpath=str(next(spark_jars().glob("py4j-*.jar"))),
            classpath=f"{classes}:{reactive_streams}",
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
            redirect_stdout=self._output,
        )
        self.token: str = token.decode() if isinstance(token, bytes) else token
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=self.port, auth_token=self.token))
        self.parties: Any = self.gateway.jvm.Parties

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.gateway.close()
            self.kill()
        for stream in (self.process.stdin, self.process.stdout, self._output):
            if stream is not None:
                stream.close()


@pytest.fixture(scope="session")
def shared_jvm(classes: Path) -> Iterator[PlainJvm]:
    """Yield a JVM for tests that do not stop it or block its threads."""
    started = PlainJvm(classes)
    yield started
    started.stop()


@pytest.fixture
def new_jvm(classes: Path) -> Iterator[Callable[[], PlainJvm]]:
    """Yield a function that starts a JVM, which the test may kill."""
    started: list[PlainJvm] = []

    def start() -> PlainJvm:
        started.append(PlainJvm(classes))
        return started[-1]

    yield start
    for each in started:
        each.stop()


@pytest.fixture
def bridge(shared_jvm: PlainJvm) -> Iterator[jvm.Bridge]:
    with jvm.connect(shared_jvm.gateway) as opened:
        yield opened
