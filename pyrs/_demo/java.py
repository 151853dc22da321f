"""Java objects made of Java objects, by plain Py4J calls: the demo needs no Java code of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

Java = Any
"""Py4J's ``jvm`` view, or an object of the JVM. Py4J has no types to offer."""


def java_lines(jvm: Java, table: Any) -> Java:
    """The one text column of a DataFrame as a ``java.util.List<String>``; it stays in the JVM."""
    # `as` is a keyword of Python.
    return getattr(table._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING()).collectAsList()


def lines_of(jvm: Java, file: Path) -> Java:
    """The lines of a file as a ``java.util.List<String>``, read by that JVM."""
    return jvm.java.nio.file.Files.readAllLines(jvm.java.io.File(str(file)).toPath())


def flux_of(jvm: Java, lines: Java, laps: int) -> Java:
    """A Reactor Flux that gives out the lines so many times over."""
    return jvm.reactor.core.publisher.Flux.fromIterable(lines).repeat(laps - 1)


def method_as(jvm: Java, interface: str, target: Java, name: str, result: Java, *arguments: Java) -> Java:
    """What Java writes as ``target::name``, as an object of an interface such as ``java.util.function.Consumer``.

    Java calls it without leaving the JVM.
    """
    invoke = jvm.java.lang.invoke
    shape = invoke.MethodType.methodType(result, list(arguments))
    method = invoke.MethodHandles.publicLookup().findVirtual(target.getClass(), name, shape).bindTo(target)
    return invoke.MethodHandleProxies.asInterfaceInstance(class_named(jvm, interface), method)


def class_named(jvm: Java, name: str) -> Java:
    """The class of that name."""
    return jvm.java.lang.Class.forName(name)
