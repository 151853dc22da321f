"""Build Java objects with plain Py4J calls, so that the demo needs no Java code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Java = Any
"""Py4J's ``jvm`` view, or an object of the JVM: Py4J has no static types."""


def java_lines(jvm: Java, table: Any) -> Java:
    """Return a DataFrame's only text column as a ``java.util.List<String>`` in the JVM."""
    # `as` is a Python keyword.
    return getattr(table._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING()).collectAsList()


def lines_of(jvm: Java, file: Path) -> Java:
    """Read a file's lines in that JVM as a ``java.util.List<String>``."""
    return jvm.java.nio.file.Files.readAllLines(jvm.java.io.File(str(file)).toPath())


def flux_of(jvm: Java, lines: Java, laps: int) -> Java:
    """Return a Reactor Flux that emits the lines ``laps`` times."""
    return jvm.reactor.core.publisher.Flux.fromIterable(lines).repeat(laps - 1)


def method_as(jvm: Java, interface: str, target: Java, name: str, result: Java, *arguments: Java) -> Java:
    """Return Java's ``target::name`` as an object of a functional interface.

    A call of it stays inside the JVM.
    """
    invoke = jvm.java.lang.invoke
    shape = invoke.MethodType.methodType(result, list(arguments))
    method = invoke.MethodHandles.publicLookup().findVirtual(target.getClass(), name, shape).bindTo(target)
    return invoke.MethodHandleProxies.asInterfaceInstance(class_named(jvm, interface), method)


def class_named(jvm: Java, name: str) -> Java:
    """Return the ``java.lang.Class`` of that name."""
    return jvm.java.lang.Class.forName(name)
