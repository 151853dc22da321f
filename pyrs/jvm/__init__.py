"""The bridge to the JVM.

``connect`` uses a JVM that is already running, usually that of a Spark driver; ``launch`` starts one in this process.
Both return a ``Bridge``.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

try:
    import msgpack as _msgpack  # noqa: F401  (imported here for an error that says what to install)
except ImportError as _missing:
    raise ImportError(
        "pyrs.jvm needs msgpack and a gateway: pip install 'pyrs-streams[spark]' for a Spark driver, "
        "'pyrs-streams[jpype]' for a JVM in this process. `python -m pyrs doctor` checks all that the bridge needs"
    ) from _missing

from pyrs.jvm.bridge import DEFAULT_CALL_TIMEOUT_SECONDS, DEFAULT_MAX_THREADS, Bridge
from pyrs.jvm.classes import JavaClass
from pyrs.jvm.context import register_context
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
    "register_context",
]


def connect(
    jvm: Any = None,
    *,
    max_prefetch: int = DEFAULT_MAX_PREFETCH,
    max_threads: int = DEFAULT_MAX_THREADS,
    call_timeout_seconds: float = DEFAULT_CALL_TIMEOUT_SECONDS,
    reconnect: bool = False,
    name: str | None = None,
) -> Bridge:
    """Open a bridge to a JVM that is already running.

    The jar is loaded into the running JVM. No callback server is started, and nothing is restarted.

    Args:
        jvm: A SparkSession, a SparkContext, a py4j ``JavaGateway`` or ``ClientServer``; None for the JVM that JPype
            runs in this process.
        max_prefetch: The largest number of elements that a stream prefetches.
        max_threads: The number of Subscribers that may block at the same time before others wait for a thread.
        call_timeout_seconds: The time that Java waits for a Python stage function or callable.
        reconnect: Open a new link at the next use of the bridge if the link broke and the JVM still runs. Streams of
            the old link fail with ``LinkBroken``, and its ``JavaObject`` and ``JavaClass`` objects must be obtained
            again; objects of the gateway remain valid.
        name: A name for threads, logs and ``repr``.

    Raises:
        JvmUnavailable: No JVM can be reached (Spark Connect, a gateway on another machine, Java 8, ...).
        VersionMismatch: The JVM has loaded another version of pyrs.
        LinkBroken: The link could not be opened.
        TypeError: ``jvm`` is not one of these, or another argument has the wrong type.
        ValueError: ``max_prefetch`` or ``max_threads`` is less than 1, or ``call_timeout_seconds`` is not positive and
            finite.
    """
    return Bridge(
        gateway_for(jvm),
        max_prefetch=max_prefetch,
        max_threads=max_threads,
        call_timeout_seconds=call_timeout_seconds,
        reconnect=reconnect,
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

    A second call uses the running JVM, and adds to its class path the jars that it does not have in the same or a later
    version. Closing the bridge does not stop the JVM.

    Args:
        classpath: Jars and directories, searched before the jars of pyrs; ``folder/*`` is every jar of a folder.
        jvm_options: Options of the JVM, such as ``"-Xmx1g"``. A second call rejects one that the running JVM lacks.
        packages: Maven coordinates, ``group:artifact:version``, as in ``spark.jars.packages``. They and their
            dependencies are downloaded once, see ``pyrs.jvm.packages.resolve``, and are searched after ``classpath``.
        repositories: URLs or folders of Maven repositories, searched after Maven Central.
        exclude: ``group:artifact`` of dependencies to leave out.
        max_prefetch: See ``connect``.
        max_threads: See ``connect``.
        call_timeout_seconds: See ``connect``.
        name: See ``connect``.

    Raises:
        JvmUnavailable: JPype is not installed, no JVM of version 11 or later was found, a package is not available, or
            the running JVM lacks an option or has an earlier version of a package.
        FileNotFoundError: A part of the class path does not exist.
        ValueError: A coordinate, a repository or an exclusion is malformed, ``jvm_options`` sets the class path, or a
            number is too small, see ``connect``.
        TypeError: An argument is one str or path instead of a list, or has another wrong type.
    """
    if isinstance(classpath, (str, PathLike)):
        raise TypeError("classpath takes a list of paths, not one path; packages=[...] takes Maven coordinates")
    if isinstance(jvm_options, str):
        raise TypeError("jvm_options takes a list of options, not one str")
    jars = resolve(packages, repositories, exclude=exclude)
    return Bridge(
        launch_gateway(classpath=[*classpath, *jars], jvm_options=jvm_options),
        max_prefetch=max_prefetch,
        max_threads=max_threads,
        call_timeout_seconds=call_timeout_seconds,
        name=name,
    )
