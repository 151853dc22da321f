"""Call static methods and constructors of Java classes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pyrs.jvm.java_objects import JavaMethod, JavaObject, Operation, java_name


class JavaClass:
    """A class of the JVM. ``pyrs.jvm.Bridge.java_class`` returns it.

    - Public static methods and fields are attributes, including the constants of an enum. Append an underscore to a
      name that is a Python keyword: ``Flux.from_(publisher)``. A method hides a field of the same name.
    - A call of the class calls its constructor. The result is always a ``JavaObject``, so ``Integer(5)`` is a
      ``java.lang.Integer``, while the plain 5 is a ``java.lang.Long`` for a parameter that takes any object.
    - ``class_`` is the ``java.lang.Class``. A ``JavaClass`` that is passed as an argument is converted to this object.

    Arguments and results are converted as for the methods of ``JavaObject``.

    Examples:
        >>> Duration = bridge.java_class("java.time.Duration")  # doctest: +SKIP
        >>> Duration.ofSeconds(90).toMinutes()  # doctest: +SKIP
        1
        >>> Duration.ZERO  # doctest: +SKIP
        <JavaObject object 7>
    """

    __slots__ = ("_fields", "_methods", "_name", "class_")

    def __init__(self, java_class: JavaObject, name: str, methods: Iterable[str], fields: Iterable[str]) -> None:
        self.class_ = java_class
        self._name = name
        self._methods = frozenset(methods)
        self._fields = frozenset(fields)

    def __call__(self, *arguments: object) -> Any:
        return self.class_._link.command(Operation.CONSTRUCTOR, self.class_, self._name, arguments)

    def _get_object_id(self) -> Any:
        return self.class_._get_object_id()

    def __getattr__(self, name: str) -> Any:
        if name in self.__slots__:  # an incomplete copy does not have its attributes yet
            raise AttributeError(name)
        wanted = java_name(name)
        if wanted in self._methods:
            return JavaMethod(self, Operation.STATIC_METHOD, self.class_, wanted)
        if wanted in self._fields:
            return self.class_._link.command(Operation.FIELD, self.class_, wanted)
        raise AttributeError(f"{self._name} has no public static method or field {wanted}", name=name, obj=self)

    def __dir__(self) -> list[str]:
        return sorted({"class_", *self._methods, *self._fields})

    def __eq__(self, other: object) -> bool:
        return self.class_ == other.class_ if isinstance(other, JavaClass) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.class_)

    def __str__(self) -> str:
        return self._name

    def __repr__(self) -> str:
        return f"<JavaClass {self._name}>"
