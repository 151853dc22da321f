"""The interfaces between the bridge and the two carriers of control calls, Py4J and JPype.

Control calls go from Python to Java only; signals cross on the link. ``Gateway`` is a JVM that can be reached,
``Control`` is one ``io.pyrs.bridge.Bridge`` in it, and ``Java`` is the set of primitive calls that a carrier offers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

__all__ = ["Control", "Gateway", "Java"]

T = TypeVar("T")


class Control(Protocol):
    """One bridge in the JVM. Every method calls ``io.pyrs.bridge.Bridge``.

    A Java object has the type ``object`` here: the stand-in of the carrier (Py4J's ``JavaObject``, JPype's
    ``JObject``). Calls with an effect carry a request id, since Py4J sends a command again when its connection was
    reset: the bridge answers a repeated request with the first result. Every method raises what ``Gateway.translate``
    makes of the carrier's exceptions: ``JavaError`` for a Throwable, ``JvmUnavailable`` for a gateway that does not
    answer.
    """

    def port(self) -> int:
        """Return the port on 127.0.0.1 where the JVM waits for the link."""

    def is_open(self) -> bool:
        """Return True if the JVM's side of the bridge is open."""

    def kind(self, value: object) -> int:
        """Return the kind: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage; +16 if hot."""

    def export(self, value: object) -> int:
        """Return the handle of a Java object, counted as received once more."""

    def resolve(self, handle: int) -> object:
        """Return the Java object of a handle."""

    def mirror(self, kind: int, handle: int, options: Mapping[str, object]) -> object:
        """Return a Java object of both families, RS and Flow, that stands for the Python object of ``handle``."""

    def unwrap(self, value: object) -> int:
        """Return the Python handle behind a mirror or reference of this bridge, 0 for anything else."""

    def stage(self, handle: int, interface: str | None, options: Mapping[str, object]) -> object:
        """Return a Java function from Publisher to Publisher that calls Python; None is ``Function``."""

    def callable(self, handle: int, interface: str, options: Mapping[str, object]) -> object:
        """Return a Java object of a single-method interface that calls the Python function of ``handle``."""

    def values(self, interface: str, options: Mapping[str, object]) -> object:
        """Return a Java object of a single-method interface that returns its first argument as plain values."""

    def invoke(self, target: object, method: str, args: Sequence[object] = ()) -> object:
        """Call a method by name, also an inherited default method or one of a non-public class.

        A call from the main thread runs in Java on the thread of a worker (see ``Gateway.shield``): state that Java
        keeps per thread, such as Spark's job group, is not that of the main thread.
        """

    def command(self, command: bytes) -> bytes:
        """Run an operation in Java by name, with values of the table in both directions."""

    def stats(self) -> dict[str, object]:
        """Return the JVM's counters for this bridge."""

    def close(self) -> None:
        """Close the JVM's side of the bridge. Further calls do nothing."""


class Gateway(Protocol):
    """A JVM that control calls can reach. One gateway may open any number of bridges."""

    @property
    def name(self) -> str:
        """``"py4j"`` or ``"jpype"``."""

    def open(self, token: bytes, options: Mapping[str, object]) -> Control:
        """Load the jar if the JVM does not have it, and open a bridge that waits for the link.

        Raises:
            JvmUnavailable: The JVM cannot be reached, is older than Java 11, or refuses to load the jar.
            VersionMismatch: The JVM has loaded another version of pyrs.
        """

    def is_java_object(self, value: object) -> bool:
        """Return True if ``value`` is a stand-in for an object of this gateway's JVM."""

    def translate(self, error: BaseException) -> BaseException:
        """Convert an exception of the carrier to one of pyrs; return anything else unchanged."""

    def describe(self) -> str:
        """Return one line for ``repr`` and logs. Makes no call."""

    def shield(self, task: Callable[[], T]) -> T:
        """Run ``task`` where Ctrl-C cannot interrupt it, and return its result.

        An interrupt reaches the main thread only. From there the task runs on a worker. The wait for it may be
        interrupted: the task still runs to its end, and its result is dropped. Steps that belong together (export an
        object, make its mirror, attach the finalizer that gives it back) form one task. On any other thread, and inside
        another shielded task, the task runs inline.
        """

    def with_java(self, task: Callable[[Java], T]) -> T:
        """Run a task that calls Java directly, shielded."""

    def detach_thread(self) -> None:
        """Release what the JVM holds for this thread. Called at the end of a thread that may have called Java."""


class Java(Protocol):
    """The primitive calls of a carrier. Arguments are None, bool, int, float, str, bytes and Java objects."""

    def static(self, class_name: str, method: str, *args: object) -> object:
        """Call a static method."""

    def new(self, class_name: str, *args: object) -> object:
        """Make an object of a class of the JDK."""

    def call(self, target: object, method: str, *args: object) -> object:
        """Call a public method. Strings and boxes are returned as plain Python values."""

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """Make a Java array."""

    def class_loader(self) -> object:
        """Return the class loader that sees the user's code."""

    def plain(self, value: object) -> object:
        """Convert maps, lists, strings and boxes to plain Python values; return other objects unchanged."""

    def translate(self, error: BaseException) -> BaseException:
        """Convert an exception as ``Gateway.translate`` does."""
