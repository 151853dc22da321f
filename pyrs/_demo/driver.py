"""Start the demo's JVMs: a local Spark driver, and one for the naive proxy.

Both bind to the loopback interface and log errors only.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import ensure_callback_server_started, launch_gateway
from pyspark.sql import SparkSession

REACTOR = "io.projectreactor:reactor-core:3.7.12"
RATINGS = "data/mllib/sample_movielens_data.txt"
_EXIT_SECONDS = 10.0
_LAST_LINES = 30
_QUIET = {
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.log.level": "ERROR",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}

T = TypeVar("T")


class DemoError(Exception):
    """The demo cannot run, or a stream failed; the message gives the reason."""


def ratings_file() -> Path:
    """Return the path of pyspark's MovieLens ratings, lines of ``user::movie::stars``."""
    path = Path(pyspark.__file__).parent / RATINGS
    if not path.is_file():
        raise DemoError(f"PySpark {pyspark.__version__} was installed without {RATINGS}; the wheel from PyPI has it")
    return path


@contextmanager
def spark_driver() -> Iterator[SparkSession]:
    """Start a local Spark session with Reactor on its class path and without pyrs.

    Raises:
        DemoError: the session did not start; the message quotes the JVM's output.
    """
    settings = {"spark.master": "local[2]", "spark.jars.packages": REACTOR}
    with _started(settings, lambda conf, gateway: SparkContext(conf=conf, gateway=gateway)) as context:
        try:
            yield SparkSession(context)
        finally:
            context.stop()


@contextmanager
def naive_jvm(spark: SparkSession) -> Iterator[Any]:
    """Start a separate JVM for the naive proxy, with the driver's jars.

    The proxy needs Py4J's callback server, which must not be started in the user's driver.
    """
    settings = {"spark.jars": str(spark.sparkContext.getConf().get("spark.jars"))}
    with _started(settings, lambda conf, gateway: gateway) as gateway:
        logging.getLogger("py4j").setLevel(logging.ERROR)
        ensure_callback_server_started(gateway)
        yield gateway.jvm


@contextmanager
def _started(settings: dict[str, str], create: Callable[[SparkConf, Any], T]) -> Iterator[T]:
    """Start a JVM as PySpark does, and yield what ``create`` returns."""
    # Otherwise Spark resolves the machine's host name, which fails on some machines.
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    conf = SparkConf(loadDefaults=False).setAppName("pyrs demo").setAll([*_QUIET.items(), *settings.items()])
    with tempfile.TemporaryFile(prefix="pyrs-demo-") as output, ExitStack() as cleanup:
        try:
            with _uninterrupted():
                gateway = launch_gateway(conf, {"stdout": output, "stderr": output})
                cleanup.callback(_shut_down, gateway)
            created = create(conf, gateway)
        except Exception as error:
            output.seek(0)
            printed = output.read().decode(errors="replace").splitlines()[-_LAST_LINES:]
            raise DemoError("\n".join([f"Spark's JVM did not start: {error}", *printed])) from error
        yield created


def _shut_down(gateway: Any) -> None:
    process = gateway.proc
    # Py4J's finalizer thread may release objects after this point, and would log that the connection is closed.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    logging.getLogger().addFilter(lambda record: record.module not in {"java_gateway", "clientserver"})
    try:
        gateway.shutdown()
        process.stdin.close()  # the JVM exits when its standard input is closed
        process.wait(_EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(_EXIT_SECONDS)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay a first Ctrl-C until the block ends.

    An interrupted PySpark leaks the JVM that it starts.
    """
    pressed = False

    def delay(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    before = signal.signal(signal.SIGINT, delay)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt
