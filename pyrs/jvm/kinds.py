"""Convert Publishers to the types of Java's libraries: Flux, Mono, Single, Uni and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from pyrs.jvm.java_objects import Kind
from pyrs.stream.stream import Maybe, Single, Stream


class _Bridge(Protocol):
    """The part of ``Bridge`` that this module uses. An import of ``Bridge`` would be circular."""

    _references: Any

    def java_class(self, name: str) -> Any: ...


_HELPER = "io.pyrs.invoke.SingleTypes"
_RXJAVA = "io.reactivex.rxjava3.core"

# For each Java class: the Python kind that it accepts, and the call that converts a Java Publisher to it.
_CONVERSIONS: dict[str, tuple[type[Stream[Any]], Callable[[_Bridge, str, Any], Any]]] = {
    "reactor.core.publisher.Flux": (Stream, lambda bridge, name, source: bridge.java_class(name).from_(source)),
    "reactor.core.publisher.Mono": (Maybe, lambda bridge, name, source: bridge.java_class(name).fromDirect(source)),
    **{
        f"{_RXJAVA}.{name}": (kind, lambda bridge, name, source: bridge.java_class(name).fromPublisher(source))
        for name, kind in (("Flowable", Stream), ("Single", Single), ("Maybe", Maybe), ("Completable", Maybe))
    },
    **{
        f"io.smallrye.mutiny.{name}": (
            kind,
            lambda bridge, name, source: bridge.java_class(name).createFrom().publisher(source),
        )
        for name, kind in (("Multi", Stream), ("Uni", Maybe))
    },
    **{
        f"java.util.concurrent.{name}": (Maybe, lambda bridge, _, source: bridge.java_class(_HELPER).toFuture(source))
        for name in ("CompletionStage", "CompletableFuture")
    },
}


def check_convertible(python_object: object, java_type: str) -> None:
    """Check that the Python object can become an object of this Java class.

    Raises:
        TypeError: the object is not a Publisher of the required kind.
        ValueError: the class is not one of the supported ones.
    """
    if java_type not in _CONVERSIONS:
        raise ValueError(f"java_type must be one of {', '.join(_CONVERSIONS)}, not {java_type!r}")
    kind, _ = _CONVERSIONS[java_type]
    if kind is Stream and callable(getattr(python_object, "subscribe", None)):
        return
    if not isinstance(python_object, kind):
        advice = " (stream.first() returns a Single)" if isinstance(python_object, Stream) else ""
        raise TypeError(f"java_type={java_type!r} takes a {kind.__name__}, not {type(python_object).__name__}{advice}")


def convert_to(bridge: _Bridge, java_object: Any, java_type: str) -> Any:
    """Convert a Java Publisher to an object of this Java class, unless it is one already."""
    wanted = bridge.java_class(java_type)
    if wanted.class_.isInstance(java_object):
        return java_object
    reference = bridge._references.java_handle(java_object)
    assert reference is not None
    if reference._kind in (Kind.MAYBE, Kind.SINGLE):
        reference = bridge.java_class(_HELPER).toPublisher(reference)
    return _CONVERSIONS[java_type][1](bridge, java_type, reference).java
