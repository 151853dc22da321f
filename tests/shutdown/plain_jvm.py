"""A plain JVM behind Py4J, without Spark, which starts in half a second."""

from __future__ import annotations

import logging
import os
import shutil
import subprocess
from pathlib import Path
from typing import IO, Any

from pyrs import jvm

HERE = Path(__file__).parent

# Py4J logs every object that it cannot release in a killed JVM, from inside the garbage collector.
logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)


def spark_jars() -> Path:
    """Return the folder of the jars of PySpark."""
    import pyspark

    return Path(pyspark.__file__).parent / "jars"


def reactive_streams() -> Path:
    """Return the jar of the Reactive Streams interfaces."""
    return next(Path(jvm.__file__).parent.glob("jars/reactive-streams-*.jar"))


def compile_parties(folder: Path) -> Path:
    """Compile the Java side of the tests into a folder, and return it."""
    compiler = shutil.which("javac")
    assert compiler is not None, "javac was not found: install a JDK"
    source = str(HERE / "java" / "Parties.java")
    subprocess.run(
        [compiler, "--release", "11", "-nowarn", "-cp", str(reactive_streams()), "-d", str(folder), source],
        check=True,
        timeout=90,
    )
    return folder


class PlainJvm:
    """A Java process with a Py4J gateway.

    Args:
        classes: the folder of the compiled classes.
        options: options of the JVM.
        errors: receives the standard error of the JVM, which is discarded by default.
    """

    def __init__(self, classes: Path, options: tuple[str, ...] = (), errors: IO[str] | None = None) -> None:
        from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

        self._output = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - Py4J would open one and never close it
        self.port, token, self.process = launch_gateway(
            jarpath=str(next(spark_jars().glob("py4j-*.jar"))),
            classpath=f"{classes}:{reactive_streams()}",
            javaopts=list(options),
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
            redirect_stdout=self._output,
            redirect_stderr=errors,
        )
        self.token: str = token.decode() if isinstance(token, bytes) else token
        self.gateway = JavaGateway(gateway_parameters=GatewayParameters(port=self.port, auth_token=self.token))
        self.parties: Any = self.gateway.jvm.Parties

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(20)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.kill()
        self.gateway.close()  # the finalizers of Py4J's objects would log the errors of connections that are left
        for stream in (self.process.stdin, self.process.stdout, self._output):
            if stream is not None:
                stream.close()
