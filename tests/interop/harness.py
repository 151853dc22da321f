"""Helpers of the end-to-end tests: calls into Java over either gateway, and observable Python components."""

from __future__ import annotations

import contextlib
import keyword
import re
import shutil
import subprocess
import threading
import zipfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Protocol

from pyrs import Processor, Publisher, Subscriber, Subscription
from pyrs.jvm import JavaObject
from tests.sessions import spark_session

HERE = Path(__file__).parent
LIBRARIES = HERE / "jars" / "lib"
DECLARED = re.compile(r"^ *libraries '[^':]+:([^':]+):([^':]+)'", re.MULTILINE)
"""The name and the version of each library in ``build.gradle``."""
DEADLINE = 20.0
MILLISECONDS = 20_000


class Java(Protocol):
    """Calls into the JVM, as a user of the gateway makes them."""

    def new(self, class_name: str, *arguments: Any) -> Any: ...
    def static(self, class_name: str, method: str, *arguments: Any) -> Any: ...
    def call(self, target: Any, method: str, *arguments: Any) -> Any: ...


class Py4JJava:
    """Calls through the gateway of a Spark driver."""

    def __init__(self, gateway: Any) -> None:
        self._jvm = gateway.jvm
        self._classes: dict[str, Any] = {}

    def _class(self, name: str) -> Any:
        if name not in self._classes:
            found = self._jvm
            for part in name.split("."):
                found = getattr(found, part)
            self._classes[name] = found
        return self._classes[name]

    def new(self, class_name: str, *arguments: Any) -> Any:
        return self._class(class_name)(*map(_unwrapped, arguments))

    def static(self, class_name: str, method: str, *arguments: Any) -> Any:
        return getattr(self._class(class_name), method)(*map(_unwrapped, arguments))

    def call(self, target: Any, method: str, *arguments: Any) -> Any:
        return getattr(_unwrapped(target), method)(*map(_unwrapped, arguments))


class JPypeJava:
    """Calls into the JVM of this process."""

    def __init__(self) -> None:
        import jpype

        self._jpype = jpype

    def new(self, class_name: str, *arguments: Any) -> Any:
        return self._jpype.JClass(class_name)(*map(self._argument, arguments))

    def static(self, class_name: str, method: str, *arguments: Any) -> Any:
        return self._invoke(self._jpype.JClass(class_name), method, arguments)

    def call(self, target: Any, method: str, *arguments: Any) -> Any:
        return self._invoke(_unwrapped(target), method, arguments)

    def _invoke(self, target: Any, method: str, arguments: tuple[Any, ...]) -> Any:
        name = f"{method}_" if keyword.iskeyword(method) else method
        return self._plain(getattr(target, name)(*map(self._argument, arguments)))

    def _argument(self, value: Any) -> Any:
        if isinstance(value, bytes):  # JPype would pass a String
            return self._jpype.JArray(self._jpype.JByte)(value)
        return _unwrapped(value)

    def _plain(self, value: Any) -> Any:
        return str(value) if isinstance(value, self._jpype.JString) else value


def _unwrapped(value: Any) -> Any:
    return value.java if isinstance(value, JavaObject) else value


def library_jars(folder: Path = LIBRARIES) -> list[Path]:
    """Return the jars of the libraries.

    Raises:
        FileNotFoundError: a library of ``build.gradle`` is missing in the folder.
    """
    declared = DECLARED.findall((HERE / "jars" / "build.gradle").read_text(encoding="utf-8"))
    missing = [name for name in map("-".join, declared) if not (folder / f"{name}.jar").is_file()]
    if missing:
        raise FileNotFoundError(
            f"{folder} has no {', '.join(missing)}: run `gradle -p tests/interop/jars` (`make test` does)"
        )
    return sorted(folder.glob("*.jar"))


def compile_helpers(folder: Path) -> Path:
    """Compile tests/interop/java to a jar."""
    return compiled(sorted((HERE / "java").glob("*.java")), library_jars(), folder)


def compiled(sources: Iterable[Path], classpath: Iterable[Path], folder: Path) -> Path:
    """Compile Java sources to a jar in an empty folder."""
    compiler = shutil.which("javac")
    if compiler is None:
        raise FileNotFoundError("javac was not found: install a JDK")
    classes = folder / "classes"
    command = [compiler, "--release", "17", "-nowarn", "-proc:none", "-cp", ":".join(map(str, classpath))]
    subprocess.run([*command, "-d", str(classes), *map(str, sources)], check=True, timeout=90)
    jar = folder / "interop.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, path.relative_to(classes).as_posix())
    return jar


class Watched(Publisher[Any]):
    """Emits the elements of an iterator on demand, and records requests and cancellation."""

    def __init__(self, elements: Callable[[], Iterator[Any]], error: BaseException | None = None) -> None:
        self._elements = elements
        self._error = error
        self.requested = 0
        self.emitted = 0
        self.subscribers = 0
        self.cancelled = threading.Event()
        self.counting = threading.Lock()

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        with self.counting:
            self.subscribers += 1
        subscriber.on_subscribe(_WatchedSubscription(self, subscriber, self._elements(), self._error))


class _WatchedSubscription(Subscription):
    def __init__(
        self, watched: Watched, subscriber: Subscriber[Any], elements: Iterator[Any], error: BaseException | None
    ) -> None:
        self._watched = watched
        self._subscriber = subscriber
        self._elements = elements
        self._error = error
        self._demand = 0
        self._emitting = False
        self._terminated = False
        self._lock = watched.counting

    def request(self, n: int, /) -> None:
        with self._lock:
            self._watched.requested += n
            self._demand += n
            if self._emitting:
                return
            self._emitting = True
        while True:
            with self._lock:
                if self._terminated or self._demand == 0:
                    self._emitting = False
                    return
                self._demand -= 1
            try:
                element = next(self._elements)
            except StopIteration:
                self._terminated = True
                if self._error is None:
                    self._subscriber.on_complete()
                else:
                    self._subscriber.on_error(self._error)
                return
            with self._lock:
                self._watched.emitted += 1
            self._subscriber.on_next(element)

    def cancel(self) -> None:
        self._terminated = True
        self._watched.cancelled.set()


class MapProcessor(Processor[Any, Any]):
    """A Processor for one Subscriber, written without pyrs."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function
        self._lock = threading.Lock()
        self._upstream: Subscription | None = None
        self._downstream: Subscriber[Any] | None = None
        self._connected = False
        self._subscribed = False
        self._terminal: Callable[[Subscriber[Any]], None] | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        with self._lock:
            self._downstream = subscriber
        self._connect()

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._lock:
            self._upstream = subscription
        self._connect()

    def _connect(self) -> None:
        with self._lock:
            if self._connected or self._upstream is None or self._downstream is None:
                return
            self._connected = True
        self._downstream.on_subscribe(self._upstream)
        with self._lock:
            self._subscribed = True
            terminal = self._terminal
        if terminal is not None:
            terminal(self._downstream)

    def on_next(self, element: Any, /) -> None:
        assert self._downstream is not None and self._upstream is not None
        if self._terminal is not None:  # upstream has not yet received the cancel
            return
        try:
            result = self._function(element)
        except Exception as error:
            self._upstream.cancel()
            self.on_error(error)
            return
        self._downstream.on_next(result)

    def on_error(self, error: BaseException, /) -> None:
        self._end(lambda downstream: downstream.on_error(error))

    def on_complete(self) -> None:
        self._end(lambda downstream: downstream.on_complete())

    def _end(self, terminal: Callable[[Subscriber[Any]], None]) -> None:
        """Signal the termination, or keep it until a Subscriber arrives."""
        with self._lock:
            if self._terminal is not None:
                return
            self._terminal = terminal
            if not self._subscribed:
                return
        assert self._downstream is not None
        terminal(self._downstream)


@contextlib.contextmanager
def spark_driver(jars: list[Path]) -> Iterator[Any]:
    """Add the jars to the running Spark session, or to a new one, which is stopped at the end."""
    from pyspark.sql import SparkSession

    running = SparkSession.getActiveSession()
    session = running or spark_session("local[1]", {"spark.driver.memory": "1g", "spark.log.level": "ERROR"})
    try:
        machine = session.sparkContext._gateway.jvm
        loader = machine.java.lang.Thread.currentThread().getContextClassLoader()
        for jar in jars:
            loader.addURL(machine.java.io.File(str(jar)).toURI().toURL())
        yield session
    finally:
        if running is None:
            session.stop()
