"""Make control calls to a JVM and to the bridges in it.

Control calls go from Python to Java only; signals travel on the link.
``Gateway`` and ``Control`` use ``Java``, the primitive calls of a gateway.
"""

from __future__ import annotations

import itertools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import TypeVar, cast

from pyrs.errors import JavaError, LinkBroken
from pyrs.jvm.gateways.base import Java
from pyrs.jvm.gateways.jars import packaged_jars
from pyrs.jvm.gateways.loading import load_entry
from pyrs.jvm.gateways.shield import Shield

T = TypeVar("T")
_ENDED = ("io.pyrs.LinkClosedException", "io.pyrs.LinkBrokenException")
"""Thrown if the JVM detects the end of a link before Python does."""


class Control:
    """One bridge in the JVM, as the target of control calls.

    Every method calls ``io.pyrs.bridge.Bridge``, protected from Ctrl-C. A Java object has the type ``object`` here: the
    object of the gateway (Py4J's ``JavaObject``, JPype's ``JObject``). Calls whose repetition would have an effect
    carry a request id, since Py4J sends a command again when its connection was reset: the bridge answers a repeated
    request with the first result. ``Java.translate`` converts the exceptions of the gateway: to ``JavaError`` for a
    Throwable, and to ``JvmUnavailable`` for a gateway that does not respond. A ``JavaError`` of an ended link becomes
    ``LinkBroken``.
    """

    shares_memory = False
    """True if the JVM is in this process and may send record batches without a copy."""

    def __init__(self, java: Java, bridge: object, shield: Shield) -> None:
        self._java = java
        self._bridge = bridge
        self._shield = shield
        self._requests = itertools.count(1)

    def port(self) -> int:
        """Return the port on 127.0.0.1 where the JVM waits for the link."""
        return cast(int, self._call("port"))

    def is_open(self) -> bool:
        """Return True if the JVM's side of the bridge is open."""
        return cast(bool, self._call("isOpen"))

    def kind(self, value: object) -> int:
        """Return the number of an object's ``ObjectKind``, plus 16 for a hot Publisher."""
        return cast(int, self._call("kind", value))

    def export(self, value: object) -> int:
        """Return the handle of a Java object, and count the handle as sent once more."""
        return cast(int, self._call("export", next(self._requests), value))

    def resolve(self, handle: int) -> object:
        """Return the Java object of a handle."""
        return self._call("resolve", handle)

    def unwrap(self, value: object) -> int:
        """Return the Python handle of a mirror or reference of this bridge, or 0."""
        return cast(int, self._call("unwrap", value))

    def mirror(self, kind: int, handle: int, options: Mapping[str, object]) -> object:
        """Return the mirror of a Python object, which implements both families."""
        return self._call("mirror", next(self._requests), int(kind), handle, options)

    def stage(self, handle: int, interface: str | None, options: Mapping[str, object]) -> object:
        """Return a Java function from Publisher to Publisher, by default a ``Function``."""
        return self._call("stage", next(self._requests), handle, interface, options)

    def callable(self, handle: int, interface: str, options: Mapping[str, object]) -> object:
        """Return a Java object of a functional interface that calls a Python function."""
        return self._call("callable", next(self._requests), handle, interface, options)

    def values(self, interface: str, options: Mapping[str, object]) -> object:
        """Return a Java function that converts its first argument to plain values."""
        return self._call("values", next(self._requests), interface, options)

    def command(self, command: bytes) -> bytes:
        """Run an operation in Java by name; arguments and result are encoded values."""
        return cast(bytes, self._call("command", next(self._requests), command))

    def share_memory(self) -> None:
        """Let the JVM of this process send record batches without a copy."""
        self._call("shareMemory", os.getpid())
        self.shares_memory = True

    def move_batch(self, handle: int, array: int, schema: int) -> None:
        """Move a shared batch to the ArrowArray and ArrowSchema at two addresses."""
        self._call("moveBatch", handle, array, schema)

    def stats(self) -> dict[str, int]:
        """Return the JVM's counters for this bridge."""
        lines = cast(str, self._call("stats")).splitlines()
        return {name: int(count) for name, count in map(str.split, lines)}

    def close(self) -> None:
        """Close the JVM's side of the bridge. A repeated close does nothing."""
        self._call("close")

    def _call(self, method: str, *args: object) -> object:
        def called() -> object:
            return self._java.call(self._bridge, method, *map(self._in_java, args))

        try:
            return self._shield.run(called)
        except JavaError as error:
            if error.java_class in _ENDED:
                raise LinkBroken(f"the link to the JVM is broken: {error.java_message}") from error
            raise

    def _in_java(self, argument: object) -> object:
        """Convert options to a map, or to null if none is set; null saves calls."""
        if not isinstance(argument, dict):  # not Mapping: Py4J's and JPype's proxies for a java.util.Map are Mappings
            return argument
        return java_map(self._java, argument) if any(value is not None for value in argument.values()) else None


def java_map(java: Java, options: Mapping[str, object]) -> object:
    """Create a ``java.util.HashMap`` of the options that are not None."""
    result = java.new("java.util.HashMap")
    for key, value in options.items():
        if value is not None:
            java.call(result, "put", key, java_map(java, value) if isinstance(value, Mapping) else value)
    return result


class Gateway(ABC):
    """A JVM that control calls can reach.

    One gateway may open any number of bridges.

    Args:
        java: The primitive calls.
        stays: See ``Shield``.
    """

    _without_logs: Callable[[bytes], AbstractContextManager[object]] = nullcontext
    """Keeps a secret out of the logs of the gateway."""

    def __init__(self, java: Java, stays: Callable[[], bool] = lambda: True) -> None:
        self._java = java
        self._shield = Shield(self.detach_thread, stays)

    def open(self, token: bytes, options: Mapping[str, object]) -> Control:
        """Load the jar if necessary, and open a bridge that waits for the link.

        Raises:
            JvmUnavailable: The JVM cannot be reached, is older than Java 11, or refuses to load the jar.
            VersionMismatch: The JVM has loaded another version of pyrs.
        """
        from pyrs import __version__

        jars = packaged_jars()

        def opened() -> Control:
            entry = load_entry(self._java, jars, __version__)
            # If Py4J repeats the command, the JVM opens two bridges, and the port of the unused one closes later.
            with self._without_logs(token):
                bridge = self._java.call(entry, "open", token, java_map(self._java, options))
            return Control(self._java, bridge, self._shield)

        return self._shield.run(opened)

    @abstractmethod
    def is_java_object(self, value: object) -> bool:
        """Return True for a proxy for an object of this JVM. Makes no call."""

    @abstractmethod
    def describe(self) -> str:
        """Return one line for ``repr`` and logs, without a call to the JVM."""

    @abstractmethod
    def detach_thread(self) -> None:
        """Release the resources that the JVM holds for this thread, which is about to end."""

    def shield(self, task: Callable[[], T]) -> T:
        """Run ``task`` where Ctrl-C cannot interrupt it, and return its result.

        An interrupt reaches the main thread only, so a worker runs the tasks of the main thread. An interrupt may end
        the wait for the task: the task still runs to its end, and its result is dropped. Steps that belong together
        (export an object, create its mirror, attach the finalizer that releases it) form one task. On any other thread,
        and inside another shielded task, the task runs inline.

        A worker does not have the state that Java keeps for the main thread, such as Spark's job group.
        """
        return self._shield.run(task)

    def with_java(self, task: Callable[[Java], T]) -> T:
        """Run a task that calls Java directly, shielded."""
        return self._shield.run(lambda: task(self._java))

    def __repr__(self) -> str:
        return f"<{self.describe()}>"
