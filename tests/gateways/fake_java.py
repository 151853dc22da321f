"""A simulated JVM with class loaders only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pyrs.errors import JavaError

ENTRY = "io.pyrs.bridge.Entry"
PUBLISHER = "org.reactivestreams.Publisher"
CONTENTS = {"pyrs.jar": ENTRY, "reactive-streams-1.0.4.jar": PUBLISHER}
SPARK_LOADER = ("org.apache.spark.util.MutableURLClassLoader", "java.net.URLClassLoader", "java.lang.Object")
SPARK_CHILD_FIRST = ("org.apache.spark.util.ChildFirstURLClassLoader", *SPARK_LOADER)
JPYPE_LOADER = ("org.jpype.JPypeClassLoader", "java.net.URLClassLoader", "java.lang.Object")
APPLICATION_LOADER = ("jdk.internal.loader.ClassLoaders$AppClassLoader", "java.lang.Object")
CHILD_LOADER = ("java.net.URLClassLoader", "java.lang.Object")


@dataclass(eq=False)
class Loader:
    names: tuple[str, ...] = APPLICATION_LOADER
    parent: Loader | None = None
    classes: set[str] = field(default_factory=set)

    def find(self, name: str) -> Loader | None:
        found = self.parent.find(name) if self.parent is not None else None
        return found or (self if name in self.classes else None)


@dataclass
class JavaClass:
    name: str
    loader: Loader


@dataclass
class LoaderKind:
    names: tuple[str, ...]


@dataclass
class Jar:
    path: str


class FakeJava:
    """Implements ``Java``; ``added`` lists each class loader and the jar added to it."""

    def __init__(self, context: Loader, *, version: str = "0.1.0", java: str = "17", readable: bool = True) -> None:
        self.context = context
        self.version = version
        self.java = java
        self.readable = readable
        self.properties: dict[object, object] = {}
        self.added: list[tuple[Loader, str]] = []
        self.before_put: Callable[[], None] = lambda: None

    def static(self, class_name: str, method: str, *args: object) -> object:
        if method == "getProperty":
            assert args == ("java.specification.version",)
            return self.java
        assert method == "getProperties"
        return self.properties

    def class_loader(self) -> object:
        return self.context

    def array(self, element_class: str, values: Sequence[object]) -> object:
        return list(values)

    def new(self, class_name: str, *args: object) -> object:
        if class_name == "java.io.File":
            return Jar(str(args[0]))
        assert class_name == "java.net.URLClassLoader"
        urls, parent = args
        assert isinstance(urls, list)
        assert isinstance(parent, Loader)
        loader = Loader(CHILD_LOADER, parent)
        for url in urls:
            self._add(loader, url)
        return loader

    def _add(self, loader: Loader, jar: object) -> None:
        assert isinstance(jar, Jar)
        name = jar.path.rpartition("/")[2]
        loader.classes.add(CONTENTS[name])
        self.added.append((loader, name))

    def call(self, target: object, method: str, *args: object) -> object:
        if isinstance(target, Jar):
            return self.readable if method == "canRead" else target
        if isinstance(target, dict):
            if method == "putIfAbsent":
                self.before_put()
                previous = target.get(args[0])
                target.setdefault(*args)
                return previous
            return target.get(args[0])
        if isinstance(target, LoaderKind):
            if method == "getName":
                return target.names[0]
            return LoaderKind(target.names[1:]) if len(target.names) > 1 else None
        if isinstance(target, Loader):
            return self._loader(target, method, *args)
        assert isinstance(target, JavaClass)
        return {"getClassLoader": target.loader, "version": self.version}.get(method, target)

    def _loader(self, target: Loader, method: str, *args: object) -> object:
        if method == "getClass":
            return LoaderKind(target.names)
        if method == "getParent":
            return target.parent
        if method == "addURL":
            return self._add(target, args[0])  # type: ignore[func-returns-value]
        assert method == "loadClass"
        found = target.find(str(args[0]))
        if found is None:
            raise JavaError("java.lang.ClassNotFoundException", str(args[0]))
        return JavaClass(str(args[0]), found)

    def translate(self, error: BaseException) -> BaseException:
        return error
