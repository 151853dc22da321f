"""The JVMs of the demo: a local Spark driver, quiet and on loopback only, and one more JVM for the naive rival."""

from __future__ import annotations

import logging
import os
import subprocess
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

REACTOR = "io.projectreactor:reactor-core:3.7.11"
RATINGS = "data/mllib/sample_movielens_data.txt"
_END_SECONDS = 10.0
JvmType = TypeVar("JvmType", bound="Jvm")

_QUIET = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class DemoError(Exception):
    """What the demo needs is not there; the message says what and where to look."""


def ratings_file() -> Path:
    """The MovieLens ratings inside the installed pyspark package: lines of ``user::movie::stars``.

    Raises:
        DemoError: This PySpark does not ship them.
    """
    path = Path(pyspark.__file__).parent / RATINGS
    if not path.is_file():
        raise DemoError(f"PySpark {pyspark.__version__} was installed without {RATINGS}; the wheel from PyPI has it")
    return path


class Jvm:
    """A JVM with Spark's Py4J gateway, started as PySpark starts one. What it prints is kept for the day it fails."""

    def __init__(self, settings: dict[str, str]) -> None:
        # Without this Spark looks up the machine's own name, which not every machine can resolve.
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
        self.conf = SparkConf(loadDefaults=False).setAppName("pyrs demo").setAll([*settings.items()])
        self._output: IO[bytes] = tempfile.TemporaryFile(prefix="pyrs-demo-")  # noqa: SIM115 (the block is ours)
        self._resources = ExitStack()
        self._resources.callback(self._output.close)
        try:
            self.gateway: Any = launch_gateway(self.conf, {"stdout": self._output, "stderr": self._output})
        except Exception as error:
            reason = self.output()
            self._resources.close()
            raise DemoError(f"the JVM did not start: {error}\n{reason}") from error
        self._resources.callback(self._end)

    def on_exit(self, function: Any) -> None:
        """Calls a function when the block is left, before the JVM ends."""
        self._resources.callback(function)

    def output(self, lines: int = 30) -> str:
        """The last lines that the JVM printed."""
        self._output.seek(0)
        return "\n".join(self._output.read().decode(errors="replace").splitlines()[-lines:])

    def _end(self) -> None:
        process = self.gateway.proc
        # Py4J's own thread may be giving objects back just now, and would print that nobody takes them.
        logging.disable(logging.ERROR)
        try:
            self.gateway.shutdown()
            process.stdin.close()  # the JVM takes this for the end of its Python process
            process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(_END_SECONDS)
        finally:
            logging.disable(logging.NOTSET)

    def __enter__(self: JvmType) -> JvmType:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._resources.close()


class SparkDriver(Jvm):
    """A local Spark session as a user has it: Reactor came by ``spark.jars.packages``, and nobody has heard of pyrs."""

    def __init__(self) -> None:
        super().__init__({**_QUIET, "spark.master": "local[2]", "spark.jars.packages": REACTOR})
        try:
            context = SparkContext(conf=self.conf, gateway=self.gateway)
        except Exception as error:
            reason = self.output()
            self._resources.close()
            raise DemoError(f"Spark did not start: {error}\n{reason}") from error
        self.on_exit(context.stop)
        self.session = SparkSession(context)

    @property
    def jars(self) -> str:
        """Reactor and what it needs, as Spark got them from Maven Central."""
        return str(self.session.sparkContext.getConf().get("spark.jars"))


class NaiveJvm(Jvm):
    """A JVM for the naive rival alone: the callback server that it needs is started here, not in the user's driver."""

    def __init__(self, jars: str) -> None:
        super().__init__({**_QUIET, "spark.jars": jars})
        logging.getLogger("py4j").setLevel(logging.ERROR)
        ensure_callback_server_started(self.gateway)

    def lines(self, file: Path) -> Any:
        """The lines of a file as a ``java.util.List``, read by this JVM."""
        return self.gateway.jvm.java.nio.file.Files.readAllLines(self.gateway.jvm.java.io.File(str(file)).toPath())
