"""Start the demo's JVMs: a local Spark driver, and one for the naive proxy.

Both bind to the loopback interface and log errors only.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import IO, Any

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

REACTOR = "io.projectreactor:reactor-core:3.7.12"
RATINGS = "data/mllib/sample_movielens_data.txt"
_END_SECONDS = 10.0
_LAST_LINES = 30

_QUIET = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}


class DemoError(Exception):
    """The demo cannot run; the message names the missing part and how to get it."""


def ratings_file() -> Path:
    """Return the path of the MovieLens ratings that the pyspark package ships.

    Each line is ``user::movie::stars``.

    Raises:
        DemoError: this PySpark does not ship them.
    """
    path = Path(pyspark.__file__).parent / RATINGS
    if not path.is_file():
        raise DemoError(f"PySpark {pyspark.__version__} was installed without {RATINGS}; the wheel from PyPI has it")
    return path


@dataclass(frozen=True)
class _Jvm:
    """A JVM with Spark's Py4J gateway, its configuration and its output."""

    gateway: Any
    conf: SparkConf
    output: IO[bytes]

    def failure(self, what: str, error: Exception) -> DemoError:
        """Return an error whose message ends with the last lines that the JVM printed."""
        self.output.seek(0)
        printed = self.output.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
        return DemoError("\n".join([f"{what} did not start: {error}", *printed]))


@contextmanager
def spark_driver() -> Iterator[SparkSession]:
    """Start a local Spark session with Reactor on its class path and without pyrs.

    Raises:
        DemoError: the session did not start; the message quotes the JVM's output.
    """
    with _started({"spark.master": "local[2]", "spark.jars.packages": REACTOR}) as jvm:
        try:
            context = SparkContext(conf=jvm.conf, gateway=jvm.gateway)
        except Exception as error:
            raise jvm.failure("Spark", error) from error
        try:
            yield SparkSession(context)
        finally:
            context.stop()


@contextmanager
def naive_jvm(spark: SparkSession) -> Iterator[Any]:
    """Start a separate JVM for the naive proxy, with the driver's jars.

    The proxy needs Py4J's callback server, which must not be started in the user's driver.
    """
    with _started({"spark.jars": str(spark.sparkContext.getConf().get("spark.jars"))}) as jvm:
        logging.getLogger("py4j").setLevel(logging.ERROR)
        ensure_callback_server_started(jvm.gateway)
        yield jvm.gateway.jvm


@contextmanager
def _started(settings: dict[str, str]) -> Iterator[_Jvm]:
    """Start a JVM as PySpark does, stop it at the end, and keep its output for errors."""
    # Otherwise Spark resolves the machine's host name, which fails on some machines.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf(loadDefaults=False).setAppName("pyrs demo").setAll([*_QUIET.items(), *settings.items()])
    with tempfile.TemporaryFile(prefix="pyrs-demo-") as output, ExitStack() as end:
        try:
            with _uninterrupted():
                gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
                end.callback(_end, gateway)
        except Exception as error:
            raise _Jvm(None, conf, output).failure("the JVM", error) from error
        yield _Jvm(gateway, conf, output)


def _end(gateway: Any) -> None:
    process = gateway.proc
    # Py4J's finalizer thread may be releasing objects and would log that the connection is closed.
    logging.disable(logging.ERROR)
    try:
        gateway.shutdown()
        process.stdin.close()  # the JVM exits when its standard input is closed
        process.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_END_SECONDS)
    finally:
        logging.disable(logging.NOTSET)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay a first Ctrl-C until the block ends: an interrupted PySpark leaks the JVM that it starts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = False

    def hold(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, hold)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
