"""The seam between the bridge and the two carriers of control calls, Py4J and JPype.

Control calls go from Python to Java only; signals never take this way, they cross on the link. Three protocols, from
outside to inside: ``Gateway`` is a JVM that we can reach, ``Control`` is one ``io.pyrs.bridge.Bridge`` in it, and
``Java`` is the handful of primitive calls that a carrier offers and that everything else here stands on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeVar

__all__ = ["Control", "Gateway", "Java"]

T = TypeVar("T")


class Control(Protocol):
    """One bridge in the JVM, typed. Every method is a call of ``io.pyrs.bridge.Bridge``.

    A Java object is typed ``object`` here: the carrier's own stand-in (Py4J's ``JavaObject``, JPype's ``JObject``).
    Calls that change something carry a request id of ours, since Py4J sends a command again when its connection was
    reset: the bridge answers a second arrival with the first one's result. Every method raises what
    ``Gateway.translate`` makes of the carrier's exceptions: ``JavaError`` for a Throwable, ``JvmUnavailable`` for a
    gateway that does not answer.
    """

    def port(self) -> int:
        """The port on 127.0.0.1 where the JVM waits for the link."""

    def is_open(self) -> bool:
        """Whether the bridge still stands on the JVM's side."""

    def kind(self, value: object) -> int:
        """What a Java object is: 0 object, 1 publisher, 2 subscriber, 3 processor, 4 completion stage; +16 if hot."""

    def export(self, value: object) -> int:
        """Give a Java object a handle, or count one more receipt of the handle that it has."""

    def resolve(self, handle: int) -> object:
        """The Java object behind a handle of the JVM's."""

    def mirror(self, kind: int, handle: int, options: Mapping[str, object]) -> object:
        """A Java object of both families, RS and Flow, that stands for the Python object behind ``handle``."""

    def unwrap(self, value: object) -> int:
        """The Python handle that a mirror or reference of this bridge stands for, 0 for anything else."""

    def stage(self, handle: int, interface: str | None, options: Mapping[str, object]) -> object:
        """A Java function from Publisher to Publisher that Python computes. None: ``java.util.function.Function``."""

    def callable(self, handle: int, interface: str, options: Mapping[str, object]) -> object:
        """A Java object of a single-method interface that calls the Python function behind ``handle``."""

    def values(self, interface: str, options: Mapping[str, object]) -> object:
        """A Java object of a single-method interface that gives its first argument as plain values, in Java."""

    def invoke(self, target: object, method: str, args: Sequence[object] = ()) -> object:
        """Call a method by name, inherited default methods and methods of non-public classes included.

        A call from the main thread runs in Java on the thread of a worker (see ``Gateway.shield``): what is
        kept for each thread there, such as Spark's job group, is not the main thread's.
        """

    def command(self, command: bytes) -> bytes:
        """Execute an encoded command by name; ``io.pyrs.link.session.Commands`` lists the operations."""

    def stats(self) -> dict[str, object]:
        """The JVM's counters for this bridge, as plain Python values."""

    def close(self) -> None:
        """Close the bridge on the JVM's side. More calls do nothing."""


class Gateway(Protocol):
    """A JVM that control calls reach. One object may open any number of bridges."""

    @property
    def name(self) -> str:
        """``"py4j"`` or ``"jpype"``."""

    def open(self, token: bytes, options: Mapping[str, object]) -> Control:
        """Load the jar if this JVM has not got it yet, and open a bridge that waits for the link.

        Raises:
            JvmUnavailable: the JVM cannot be reached, is older than Java 11, or does not let us load the jar.
            VersionMismatch: another version of pyrs has been loaded into this JVM.
        """

    def is_java_object(self, value: object) -> bool:
        """Whether ``value`` is a stand-in for an object of this gateway's JVM."""

    def translate(self, error: BaseException) -> BaseException:
        """The carrier's exception as one of ours; anything else is returned as it is."""

    def describe(self) -> str:
        """One line for ``repr`` and logs. Makes no call."""

    def shield(self, task: Callable[[], T]) -> T:
        """Run ``task`` where Ctrl-C cannot cut it in half, and return what it returns.

        An interrupt reaches the main thread only. There the task is handed to a worker, and the wait for it may be
        interrupted: the task still runs to its end, and its result is dropped. So a composite that must not be half
        done (export an object, make its mirror, attach the finalizer that gives it back) goes in as one task. On any
        other thread, and inside another shielded task, it runs inline.
        """

    def with_java(self, task: Callable[[Java], T]) -> T:
        """Run a task that calls Java by itself, shielded: for what is no bridge."""

    def detach_thread(self) -> None:
        """For the ``finally`` of a thread that may have called Java: gives back what the JVM holds for it."""


class Java(Protocol):
    """The primitive calls of a carrier. Arguments may be None, bool, int, float, str, bytes and Java objects."""

    def static(self, class_name: str, method: str, *args: object) -> object:
        """Call a static method."""

    def new(self, class_name: str, *args: object) -> object:
        """Make an object of a class of the JDK's."""

    def call(self, target: object, method: str, *args: object) -> object:
        """Call a public method. Strings and boxes come back as plain Python values."""

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """A Java array."""

    def class_loader(self) -> object:
        """The loader from which the user's own code is visible."""

    def plain(self, value: object) -> object:
        """Maps, lists, strings and boxes as plain Python values; other objects as they are."""

    def translate(self, error: BaseException) -> BaseException:
        """See :meth:`Gateway.translate`."""
