"""Load the jar into a running JVM, once.

Three ways are tried in order: use a class that is visible already (``spark.jars``, ``--packages``, the class path);
add the jar to Spark's ``MutableURLClassLoader``; create a child class loader. The loader is stored in the JVM in the
system property ``io.pyrs.loader``, so that other bridges and other Python processes share the copy and its types.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pyrs.errors import JavaError, JvmUnavailable
from pyrs.jvm.gateways.base import Java
from pyrs.jvm.gateways.jars import Jars, check_java, check_version

ENTRY = "io.pyrs.bridge.Entry"
LOADER_PROPERTY = "io.pyrs.loader"
_PUBLISHER = "org.reactivestreams.Publisher"
_SPARK_LOADER = "org.apache.spark.util.MutableURLClassLoader"
_JPYPE_LOADER = "org.jpype.JPypeClassLoader"


def load_entry(java: Java, jars: Jars, version: str) -> object:
    """Return an ``io.pyrs.bridge.Entry``; load the jar if the JVM does not have it.

    Raises:
        JvmUnavailable: Java is too old, or the jar cannot be loaded.
        VersionMismatch: the JVM has another version of the jar.
    """
    check_java(str(java.static("java.lang.System", "getProperty", "java.specification.version")))
    entry_class = java.call(_loader(java, jars), "loadClass", ENTRY)
    constructor = java.call(entry_class, "getConstructor", java.array("java.lang.Class", ()))
    entry = java.call(constructor, "newInstance", java.array("java.lang.Object", ()))
    check_version(str(java.call(entry, "version")), version)
    return entry


def _loader(java: Java, jars: Jars) -> object:
    properties = java.static("java.lang.System", "getProperties")
    known = java.call(properties, "get", LOADER_PROPERTY)
    if known is None:
        found = _find_loader(java, jars)
        # Another process or thread may have stored a loader before this one. Then all use that loader. A jar that both
        # have added to the same loader is searched once.
        known = java.call(properties, "putIfAbsent", LOADER_PROPERTY, found)
        if known is None:
            return found
    return known


def _find_loader(java: Java, jars: Jars) -> object:
    context = java.class_loader()
    entry_class = _visible(java, context, ENTRY)
    if entry_class is not None:
        return _loader_of_visible_entry(java, jars, java.call(entry_class, "getClassLoader"))
    needs_publisher = _visible(java, context, _PUBLISHER) is None
    added = [_url(java, jars.pyrs)]
    if needs_publisher:
        fallback = _url(java, jars.reactive_streams)
        if _is_kind(java, context, _JPYPE_LOADER):
            # JPype's loader is used for this jar, but not for pyrs.jar: the classes that the loader defines have no
            # package, and therefore no version.
            java.call(context, "addURL", fallback)
        else:
            added.append(fallback)
    # The outermost suitable loader is used, because all Spark sessions must share the types of the mirrors: ADD JAR
    # gives a session its own loader, which other sessions do not see.
    for loader in reversed(list(_with_parents(java, context))):
        if _is_kind(java, loader, _SPARK_LOADER) and (
            needs_publisher or _visible(java, loader, _PUBLISHER) is not None
        ):
            for url in added:
                java.call(loader, "addURL", url)
            return loader
    return java.new("java.net.URLClassLoader", java.array("java.net.URL", added), context)


def _loader_of_visible_entry(java: Java, jars: Jars, loader: object) -> object:
    """Return the loader of a visible pyrs.jar; add Reactive Streams if it is missing."""
    if _visible(java, loader, _PUBLISHER) is None:
        if not (_is_kind(java, loader, _SPARK_LOADER) or _is_kind(java, loader, _JPYPE_LOADER)):
            raise JvmUnavailable(
                "pyrs.jar is on the JVM's class path, but the class loader of pyrs.jar sees no org.reactivestreams: "
                f"put {jars.reactive_streams.name} on the same class path, or remove pyrs.jar (pyrs loads its own)"
            )
        java.call(loader, "addURL", _url(java, jars.reactive_streams))
    return loader


def _with_parents(java: Java, loader: object) -> Iterator[object]:
    while loader is not None:
        yield loader
        loader = java.call(loader, "getParent")


def _visible(java: Java, loader: object, class_name: str) -> object | None:
    try:
        return java.call(loader, "loadClass", class_name)
    except JavaError as error:
        if error.java_class in ("java.lang.ClassNotFoundException", "java.lang.NoClassDefFoundError"):
            return None
        raise


def _is_kind(java: Java, loader: object, class_name: str) -> bool:
    # Compares the names of the class and its superclasses: Spark has several subclasses, and other JVMs lack the class.
    ancestor: object | None = java.call(loader, "getClass")
    while ancestor is not None:
        if java.call(ancestor, "getName") == class_name:
            return True
        ancestor = java.call(ancestor, "getSuperclass")
    return False


def _url(java: Java, jar: Path) -> object:
    file = java.new("java.io.File", str(jar))
    if not java.call(file, "canRead"):
        raise JvmUnavailable(
            f"the JVM cannot read {jar}: pyrs needs a JVM that runs on this machine, with the same files, and as a "
            "user who may read them"
        )
    return java.call(java.call(file, "toURI"), "toURL")
