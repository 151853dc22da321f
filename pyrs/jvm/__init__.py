"""The bridge to the JVM.

``connect`` reaches a JVM that runs already, most often a Spark driver's; ``launch`` starts one in this process. Both
give a `Bridge`.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

try:
    import msgpack as _msgpack  # noqa: F401  (asked for here, where the answer can say what to install)
except ImportError as _missing:
    raise ImportError(
        "pyrs.jvm needs msgpack and a gateway: pip install 'pyrs-streams[spark]' for a Spark driver, "
        "'pyrs-streams[jpype]' for a JVM in this process"
    ) from _missing

from pyrs.jvm.bridge import DEFAULT_CALL_TIMEOUT_SECONDS, DEFAULT_MAX_THREADS, Bridge
from pyrs.jvm.classes import JavaClass
from pyrs.jvm.gateways import gateway_for, launch_gateway
from pyrs.jvm.java_objects import JavaFuture, JavaObject, JavaProcessor, JavaPublisher, JavaSubscriber
from pyrs.jvm.link.window import DEFAULT_MAX_PREFETCH
from pyrs.jvm.packages import resolve

__all__ = [
    "Bridge",
    "JavaClass",
    "JavaFuture",
    "JavaObject",
    "JavaProcessor",
    "JavaPublisher",
    "JavaSubscriber",
    "connect",
    "launch",
]


def connect(
    jvm: Any = None,
    *,
    max_prefetch: int = DEFAULT_MAX_PREFETCH,
    max_threads: int = DEFAULT_MAX_THREADS,
    call_timeout_seconds: float = DEFAULT_CALL_TIMEOUT_SECONDS,
    name: str | None = None,
) -> Bridge:
    """Open a bridge to a JVM that runs already.

    The jar goes into the running JVM by itself; no callback server is started, nothing is restarted.

    Args:
        jvm: a SparkSession, a SparkContext, a py4j ``JavaGateway`` or ``ClientServer``; None for the JVM that JPype
            runs in this process.
        max_prefetch: how many elements a stream may hold ahead of its Subscriber at most.
        max_threads: how many Subscribers may be blocked at a time before others wait for a thread.
        call_timeout_seconds: how long Java waits for a Python stage function or callable.
        name: a name for threads, logs and ``repr``.

    Raises:
        JvmUnavailable: there is no JVM to be reached that way (Spark Connect, a gateway that is not on this machine,
            Java 8, ...).
        VersionMismatch: another version of pyrs is in that JVM already.
        TypeError: `jvm` is none of these.
    """
    return Bridge(
        gateway_for(jvm),
        max_prefetch=max_prefetch,
        max_threads=max_threads,
        call_timeout_seconds=call_timeout_seconds,
        name=name,
    )


def launch(
    classpath: Sequence[str | PathLike[str]] = (),
    jvm_options: Sequence[str] = (),
    *,
    packages: Sequence[str] = (),
    repositories: Sequence[str | PathLike[str]] = (),
    exclude: Sequence[str] = (),
    max_prefetch: int = DEFAULT_MAX_PREFETCH,
    max_threads: int = DEFAULT_MAX_THREADS,
    call_timeout_seconds: float = DEFAULT_CALL_TIMEOUT_SECONDS,
    name: str | None = None,
) -> Bridge:
    """Start a JVM in this process with JPype and open a bridge to it.

    A second call attaches to the running JVM and adds to its class path what is not there in the same version or a
    later one. Leaving the bridge closes it, never the JVM.

    Args:
        classpath: jars and directories, ahead of ours.
        jvm_options: options of the JVM, such as ``"-Xmx1g"``. A second call refuses different ones.
        packages: Maven coordinates, ``group:artifact:version``, as in ``spark.jars.packages``. They and what they
            depend on are fetched once, see `pyrs.jvm.packages.resolve`, and are searched after `classpath`.
        repositories: addresses or folders of Maven repositories, searched after Maven Central.
        exclude: ``group:artifact`` of dependencies to leave out.
        max_prefetch: see `connect`.
        max_threads: see `connect`.
        call_timeout_seconds: see `connect`.
        name: see `connect`.

    Raises:
        JvmUnavailable: JPype is not installed, no JVM of version 11 or later was found, a package is not to be had, or
            the JVM that runs has an earlier version of one.
        FileNotFoundError: a part of the class path is not there.
        ValueError: a coordinate, a repository or an exclusion is malformed.
        TypeError: a list is due, and it is one text or path.
    """
    if isinstance(classpath, (str, PathLike)):
        raise TypeError("classpath takes a list of paths, not one path")
    jars = resolve(packages, repositories, exclude=exclude)
    return Bridge(
        launch_gateway(classpath=[*classpath, *jars], jvm_options=jvm_options),
        max_prefetch=max_prefetch,
        max_threads=max_threads,
        call_timeout_seconds=call_timeout_seconds,
        name=name,
    )
