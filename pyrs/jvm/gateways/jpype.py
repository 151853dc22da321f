"""Make control calls through JPype: a JVM in this process.

JPype links the two garbage collectors: a Java collection runs Python's, and Python's may start Java's. pyrs does
not change this, because the switch is private to JPype, and the user may have started the JVM.
"""

from __future__ import annotations

import ctypes
import glob
import os
import signal
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, cast

import jpype

from pyrs.errors import JvmError, JvmUnavailable
from pyrs.jvm.gateways.base import Java, check_argument, java_error
from pyrs.jvm.gateways.control import Control, Gateway
from pyrs.jvm.gateways.jars import packaged_jars
from pyrs.jvm.java_objects import JavaObject
from pyrs.jvm.versions import to_be_added

_starting = threading.RLock()
"""Held while the JVM starts, because ``isJVMStarted`` is true before a class can be found."""


_forked = False
"""True in a child that was forked while the JVM ran.

The child has none of the JVM's threads, so calls may never return.
"""


def _after_fork() -> None:
    """Replace the lock, and record whether a JVM ran in the parent.

    A thread of the parent may hold the lock while it starts the JVM.
    """
    global _starting, _forked
    _starting, _forked = threading.RLock(), jpype.isJVMStarted()


def _check_fork() -> None:
    if _forked:
        raise JvmUnavailable(
            "this process was forked while a JVM ran in its parent, and a JVM does not survive fork(): start the JVM "
            "in the child only, or start the process with multiprocessing's method spawn or forkserver"
        )


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
_SIGNALS = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]


def running_gateway() -> JPypeGateway:
    """Return the gateway to the running JVM of this process.

    Raises:
        JvmUnavailable: No JVM runs in this process, or it was started before a ``fork()``.
    """
    _check_fork()
    with _starting:
        started = jpype.isJVMStarted()
    if not started:
        raise JvmUnavailable(
            "no JVM runs in this process: give connect a SparkSession or a py4j gateway, start a JVM with "
            "jpype.startJVM(), or use jvm.launch()"
        )
    return JPypeGateway()


def default_java_home() -> str | None:
    """Return the home of the default JVM, or None."""
    try:
        library = Path(jpype.getDefaultJVMPath()).resolve()
    except Exception:  # JVMNotFoundException, JVMNotSupportedException
        return None
    return str(library.parents[2])  # lib/server/libjvm.so, bin/server/jvm.dll


def launched_gateway(classpath: Sequence[str | os.PathLike[str]], jvm_options: Sequence[str]) -> JPypeGateway:
    """Start a JVM, or check the options of the running one and extend its class path.

    Raises:
        JvmUnavailable: No JVM was found, or the JVM did not start; or the running JVM was started without one of the
            options, which are fixed at the start, or has an earlier version of a jar.
    """
    _check_fork()
    paths = _expanded(classpath)
    with _starting:
        if not jpype.isJVMStarted():
            _start(paths, jvm_options)
            gateway = JPypeGateway()
            if threading.current_thread() is not threading.main_thread():
                gateway.detach_thread()  # at its exit the process waits for a Java thread that is still attached
            return gateway
    gateway = JPypeGateway()
    gateway.extend(paths, jvm_options)
    return gateway


def _start(paths: Sequence[str], jvm_options: Sequence[str]) -> None:
    jars = packaged_jars()
    for option in jvm_options:
        if option.startswith("-Djava.class.path"):
            raise ValueError("give the class path as classpath=, not as an option of the JVM")
    try:
        library = jpype.getDefaultJVMPath()
    except Exception as error:  # JVMNotFoundException, JVMNotSupportedException
        raise JvmUnavailable(
            f"no JVM was found ({error}): install a JDK or JRE of Java 11 or later and set JAVA_HOME. "
            "`python -m pyrs doctor` checks Java"
        ) from error
    restore = _signal_handlers()
    try:
        jpype.startJVM(
            *jvm_options,
            jvmpath=library,
            # The user's jars are first, so that their org.reactivestreams is used. pyrs.jar is not among them, because
            # its loader must see the jars that a later launch adds, and the loader of the class path does not.
            classpath=[*paths, str(jars.reactive_streams)],
            convertStrings=False,
            interrupt=False,  # Ctrl-C still raises a KeyboardInterrupt in Python
        )
    except (OSError, RuntimeError, TypeError, ValueError) as error:
        raise JvmUnavailable(f"the JVM {library} did not start: {error}") from error
    finally:
        restore()


def _signal_handlers() -> Callable[[], None]:
    """Return a function that restores the handlers of SIGINT, SIGTERM and SIGHUP.

    The JVM leaves SIGINT to Python but sets it to restart system calls: a main thread that waits for a lock would
    receive the interrupt only after the wait. The SIGTERM handler of JPype calls Python on a thread that Python does
    not know, and crashes. On SIGHUP, with which Spark ends its Python workers, the JVM would run shutdown hooks, which
    may block. ``signal.signal`` sets handlers on the main thread only, so the function calls sigaction.
    """
    if os.name != "posix":
        return lambda: None
    sigaction = ctypes.CDLL(None).sigaction
    saved = {number: ctypes.create_string_buffer(512) for number in _SIGNALS}  # larger than a struct sigaction
    for number, action in saved.items():
        sigaction(number, None, action)

    def restore() -> None:
        for number, action in saved.items():
            sigaction(number, action, None)

    return restore


def _expanded(classpath: Sequence[str | os.PathLike[str]]) -> list[str]:
    found: list[str] = []
    for part in classpath:
        path = Path(os.fspath(part)).absolute()
        if path.name == "*":
            found += sorted(glob.glob(os.path.join(glob.escape(str(path.parent)), "*.jar")))
        elif path.exists():
            found.append(str(path))
        else:
            raise FileNotFoundError(f"{path} is on the class path but does not exist")
    return found


class _ThreadEnd(threading.local):
    """Creates a ``_Finalizer`` in each thread that reads ``finalizer``."""

    def __init__(self, function: Callable[[], None]) -> None:
        self.finalizer = _Finalizer(function)


class _Finalizer:
    """Calls a function at the end of the thread that created it."""

    def __init__(self, function: Callable[[], None]) -> None:
        self._function = function
        self._thread = threading.get_ident()

    def __del__(self) -> None:
        if threading.get_ident() == self._thread:  # another thread runs this at the exit of the interpreter
            self._function()


@cache
def _thread_end() -> _ThreadEnd:
    """Return the object that all gateways share.

    With an object for each gateway, the end of a gateway would detach live threads.
    """
    return _ThreadEnd(partial(_detach, jpype.JClass("java.lang.Thread")))


class JPypeGateway(Gateway):
    """The gateway to the JVM that JPype runs in this process."""

    def __init__(self) -> None:
        super().__init__(JPypeJava(), self._stays_attached)
        self._java_thread = jpype.JClass("java.lang.Thread")  # a later look-up would attach the calling thread
        self._thread_end = _thread_end()
        _accept_references()

    def open(self, token: bytes, options: Mapping[str, object]) -> Control:
        control = super().open(token, options)
        control.share_memory()
        return control

    def is_java_object(self, value: object) -> bool:
        if type(type(value)) is type:  # a Java class has another metaclass; isinstance would attach the thread
            return False
        return self._shield.here(lambda: isinstance(value, jpype.JObject))

    def describe(self) -> str:
        return f"JPype {jpype.__version__}, JVM {'.'.join(map(str, jpype.getJVMVersion()))} in this process"

    def detach_thread(self) -> None:
        """Detach this thread from the JVM: JPype would keep its Java thread forever."""
        _detach(self._java_thread)

    def _stays_attached(self) -> bool:
        # A thread of user code is detached again, because JPype would keep the Java thread even after the Python thread
        # has ended. The bridge's workers stay attached from call to call, and detach when they end.
        # The deallocation of a Java object attaches the thread again, so a finalizer detaches a thread that ends.
        self._thread_end.finalizer  # noqa: B018 - creates the finalizer of this thread
        return bool(self._java_thread.isAttached()) or threading.current_thread().name.startswith("pyrs-")

    def extend(self, paths: Sequence[str], jvm_options: Sequence[str]) -> None:
        """Add the missing jars and folders to the class path of the running JVM.

        Checks the options first. An entry is missing if the JVM does not have it in this or a later version.
        """
        if jvm_options:
            bean = self._java.static("java.lang.management.ManagementFactory", "getRuntimeMXBean")
            running = {str(option) for option in cast("Iterable[object]", self._java.call(bean, "getInputArguments"))}
            missing = [option for option in jvm_options if option not in running]
            if missing:
                raise JvmUnavailable(
                    f"a JVM runs in this process already, without {' '.join(missing)}, and a process has only one: "
                    "give these options to the first launch, or launch without them to use the JVM that runs"
                )
        known = jpype.getClassPath(env=False).split(os.pathsep)
        system = str(self._java.static("java.lang.System", "getProperty", "java.class.path")).split(os.pathsep)
        for path in to_be_added(paths, [*known, *system]):
            jpype.addClassPath(path)


def _detach(java_thread: Any) -> None:
    if jpype.isJVMStarted():
        java_thread.detach()


@cache
def _accept_references() -> None:
    """Make JPype accept a ``JavaObject`` for a parameter of type Object."""
    jpype.JConversion("java.lang.Object", instanceof=JavaObject)(lambda kind, reference: reference.java)


class JPypeJava(Java):
    """The primitive calls over JPype."""

    def static(self, class_name: str, method: str, *args: object) -> object:
        return self._invoke(getattr(jpype.JClass(class_name), method), args)

    def new(self, class_name: str, *args: object) -> object:
        return self._invoke(jpype.JClass(class_name), args)

    def call(self, target: object, method: str, *args: object) -> object:
        member = getattr(target, method, None)
        if member is None:
            raise JvmError(f"{type(target).__name__} has no public method {method}")
        return self._invoke(member, args)

    def _invoke(self, member: Any, args: Sequence[object]) -> object:
        try:
            return _result(member(*map(_argument, args)))
        except Exception as error:
            translated = self.translate(error)
            if translated is error:
                raise
            raise translated from translated.__cause__

    def array(self, element_class: str, values: Sequence[object]) -> object:
        return jpype.JArray(jpype.JClass(element_class))([_argument(value) for value in values])

    def class_loader(self) -> object:
        """Return JPype's loader, which sees the class path and all jars that were added."""
        return jpype.JClass("org.jpype.JPypeContext").getInstance().getClassLoader()

    def translate(self, error: BaseException) -> BaseException:
        # isinstance is not called with a Java class: after the shutdown of the JVM, it may abort the process.
        if isinstance(error, jpype.JVMNotRunning):
            return JvmUnavailable("the JVM of this process has been shut down, and it cannot be started again")
        if jpype.JException in type(error).__mro__:
            return java_error(self, error)
        return error


def _argument(value: Any) -> Any:
    if isinstance(value, jpype.JObject):
        return value
    check_argument(value)
    if isinstance(value, (bytes, bytearray)):
        return jpype.JArray(jpype.JByte)(value)  # JPype would convert bytes to a String for a parameter of type Object
    return value


def _result(value: Any) -> Any:
    """Convert strings, boxes and byte arrays as Py4J does; return others unchanged."""
    if isinstance(value, jpype.JString):
        return str(value)
    for box, convert in _boxes():
        if isinstance(value, box):
            return convert(value)
    return value


@cache
def _boxes() -> tuple[tuple[Any, Callable[[Any], Any]], ...]:
    return (
        (jpype.JClass("java.lang.Boolean"), bool),
        ((jpype.JClass("java.lang.Double"), jpype.JClass("java.lang.Float")), float),
        (tuple(jpype.JClass(f"java.lang.{name}") for name in ("Long", "Integer", "Short", "Byte")), int),
        (jpype.JClass("java.lang.Character"), str),
        ((jpype.JInt, jpype.JLong, jpype.JShort, jpype.JByte), int),
        ((jpype.JFloat, jpype.JDouble), float),
        (jpype.JChar, str),
        (jpype.JArray(jpype.JByte), bytes),
    )
