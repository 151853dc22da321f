"""The supported functions of a session, and the bridge to its JVM."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from pyrs.spark.executors.shipping import answer_for_workers
from pyrs.spark.keyed.operators import PROTOBUF, why_no_state
from pyrs.spark.read.partitions import has_fast_path
from pyrs.spark.sessions import checked_session, is_connect, why_not, why_too_old

if TYPE_CHECKING:
    from pyrs.jvm import Bridge

_FUNCTIONS = (
    "from_dataframe",
    "from_stream",
    "events",
    "for_each_frame",
    "apply",
    "apply_by_key",
    "for_each_partition",
    "from_publishers",
    "stream_from_publishers",
    "read_stream",
    "attach",
)
_IN_TASKS = ("apply", "for_each_partition", "from_publishers", "stream_from_publishers")
_lock = Lock()
_bridges: WeakKeyDictionary[Any, Bridge] = WeakKeyDictionary()


def supports(spark: Any) -> dict[str, str]:
    """Return for each function whether it works on a session.

    The answer is ``"ok"``, or ``"no: "`` and the reason. A restriction follows ``"ok, "``: if the driver's JVM lacks
    the Arrow methods, DataFrames are read with Spark's public interface, which is slower. If a function runs tasks that
    use pyrs, a task checks the imports on an executor.

    Args:
        spark: a SparkSession of any kind.

    Raises:
        TypeError: ``spark`` is not a SparkSession.

    Examples:
        >>> supports(spark)["from_dataframe"]   # doctest: +SKIP
        'ok'
    """
    reasons = {name: why_not(spark, name) or why_too_old(spark, name) for name in _FUNCTIONS}
    answers = {name: "ok" if reason is None else f"no: {reason}" for name, reason in reasons.items()}
    if why_not(spark) is not None:
        return answers
    workers = answer_for_workers(spark)
    answers |= {name: workers for name in _IN_TASKS if reasons[name] is None}
    if reasons["apply_by_key"] is None:
        stateless = why_no_state(spark)
        answers["apply_by_key"] = answer_for_workers(spark, PROTOBUF) if stateless is None else f"no: {stateless}"
    if is_connect(spark):
        return answers
    if not has_fast_path(spark.range(0)):
        slower = "ok, with Spark's public interface: this driver lacks the JVM methods of the faster reader"
        answers["from_dataframe"] = answers["from_stream"] = slower
    answers["attach"] = _answer_for_bridge(spark)
    return answers


def attach(spark: Any) -> Bridge:
    """Return the bridge to the JVM of a session.

    The first call creates the bridge with ``pyrs.jvm.connect(spark)``, which loads the jar into the running driver.
    Later calls return the same bridge until it is closed. Its ``from_jvm`` and ``to_jvm`` convert Publishers between
    Python and the driver's JVM, also with Arrow batches as elements.

    Raises:
        TypeError: ``spark`` is not a SparkSession.
        JvmUnavailable: the session is one of Spark Connect, was stopped, runs with ``PYSPARK_PIN_THREAD=false``, or its
            JVM cannot be reached.
        VersionMismatch: the JVM has loaded another version of pyrs.
        LinkBroken: the link could not be opened.
        ImportError: msgpack is not installed.
    """
    from pyrs import jvm

    checked_session(spark, "attach")
    bridge = _bridges.get(spark)
    if bridge is not None and not bridge.closed:
        return bridge
    opened = jvm.connect(spark)  # without the lock, because it starts threads
    with _lock:
        bridge = _bridges.get(spark)
        if bridge is None or bridge.closed:
            _bridges[spark] = bridge = opened
    if bridge is not opened:
        opened.close()
    return bridge


def _answer_for_bridge(spark: Any) -> str:
    try:
        from pyrs.jvm.gateways import gateway_for
        from pyrs.jvm.gateways.jars import packaged_jars

        gateway_for(spark)
        packaged_jars()
    except Exception as error:
        return f"no: {error}"
    return "ok"
