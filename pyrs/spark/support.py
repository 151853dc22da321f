"""The supported functions of a session, and the bridge to its JVM."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pyrs import __version__
from pyrs.spark.read.partitions import has_fast_path
from pyrs.spark.sessions import Jobs, live_context, why_not_classic
from pyrs.spark.source.streams import why_no_source

if TYPE_CHECKING:
    from pyrs.jvm import Bridge

__all__ = ["attach", "supports"]

_PROBE_SECONDS = 60
_lock = Lock()
_workers: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
"""By SparkContext: the answer of an executor."""
_bridges: WeakKeyDictionary[Any, Bridge] = WeakKeyDictionary()


def supports(spark: Any) -> dict[str, str]:
    """Return which functions work on a session: ``"ok"``, or ``"no: "`` and the reason.

    ``"ok, "`` is followed by a difference: a driver without the JVM's Arrow methods is read with Spark's public
    interface, which is slower. For ``apply`` and ``for_each_partition`` a task on one executor checks the imports
    there.

    Args:
        spark: a SparkSession of any kind.

    Raises:
        TypeError: ``spark`` is not a SparkSession.

    Examples:
        >>> supports(spark)["from_dataframe"]   # doctest: +SKIP
        'ok'
    """
    names = ("from_dataframe", "from_stream", "events", "for_each_frame", "apply", "for_each_partition", "read_stream")
    reason = why_not_classic(spark)
    if reason is not None:
        return dict.fromkeys((*names, "attach"), f"no: {reason}")
    slower = "ok, with Spark's public interface: this driver lacks the JVM methods of the faster reader"
    frames = "ok" if has_fast_path(spark.range(0)) else slower
    workers = _why_no_workers(spark)
    missing = why_no_source()
    source = "ok" if missing is None else f"no: {missing}"
    answers = (frames, frames, "ok", "ok", workers, workers, source)
    return {**dict(zip(names, answers, strict=True)), "attach": _why_no_bridge(spark)}


def attach(spark: Any) -> Bridge:
    """Return the bridge to the JVM of a session.

    Each call returns the same bridge, until it is closed.

    It is ``pyrs.jvm.connect(spark)``: ``from_jvm`` and ``to_jvm`` convert Publishers between Python and the driver's
    JVM, also with Arrow batches as elements. The jar is loaded into the running driver.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
        JvmUnavailable: the session is one of Spark Connect, or was stopped; or its JVM cannot be reached.
        ImportError: msgpack is not installed.
    """
    from pyrs import jvm

    live_context(spark)
    with _lock:
        bridge = _bridges.get(spark)
        if bridge is None or bridge.closed:
            _bridges[spark] = bridge = jvm.connect(spark)
        return bridge


def _why_no_workers(spark: Any) -> str:
    """Return whether the driver and an executor have what tasks import. Runs one task, unless it did before."""
    try:
        from pyspark.sql.pandas.utils import require_minimum_pandas_version

        require_minimum_pandas_version()
    except Exception as error:
        return f"no: {error}"
    context = spark.sparkContext
    if _workers.get(context) != "ok":
        _workers[context] = _asked_executor(context)
    return _workers[context]


def _asked_executor(context: Any) -> str:
    answers: SimpleQueue[str] = SimpleQueue()
    probe = _probe(__version__)

    def ask() -> None:
        try:
            (answer,) = context.parallelize([0], 1).map(probe).collect()
        except Exception as error:
            answer = f"no: {error}"
        answers.put(answer)

    jobs = Jobs(context)
    jobs.submit(ask)
    try:
        return answers.get(timeout=_PROBE_SECONDS)
    except Empty:
        jobs.cancel()
        return f"no: no executor has run a task within {_PROBE_SECONDS} s"


def _probe(driver: str) -> Callable[[Any], str]:
    def probe(_: Any) -> str:
        # Travels to the executors by value, so it uses nothing of this package: that may be missing there.
        import importlib
        import sys

        where = f"the executor's Python, {sys.executable},"
        for name in ("pyarrow", "pandas", "pyrs"):
            try:
                module = importlib.import_module(name)
            except ImportError as error:
                ship = "spark.sparkContext.addPyFile('pyrs.zip') sends it. " if name == "pyrs" else ""
                return f"no: {where} cannot import {name} ({error}). {ship}PYSPARK_PYTHON selects another Python"
            if name == "pyrs" and module.__version__ != driver:
                return f"no: {where} has pyrs {module.__version__}, and the driver {driver}"
        return "ok"

    return probe


def _why_no_bridge(spark: Any) -> str:
    try:
        from pyrs.jvm.gateways import gateway_for
        from pyrs.jvm.gateways.jars import packaged_jars

        gateway_for(spark)
        packaged_jars()
    except Exception as error:
        return f"no: {error}"
    return "ok"
