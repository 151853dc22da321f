"""The kinds of objects on the bridge, and Java types such as Flux and Mono."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs._core.display import kind_of
from pyrs._core.downstream import SIGNALS, awaits_signals
from pyrs.jvm.java_objects import ObjectKind
from pyrs.stream.stream import Maybe, Single, Stream

_SINGLE_TYPES = "io.pyrs.invoke.SingleTypes"
_FAMILIES = "io.pyrs.link.session.Families"
_MUTINY = "io.smallrye.mutiny"
_RXJAVA = "io.reactivex.rxjava3.core"

_ACCEPTED: dict[str, type[Stream[Any]]] = {
    "reactor.core.publisher.Flux": Stream,
    "reactor.core.publisher.Mono": Maybe,
    f"{_RXJAVA}.Flowable": Stream,
    f"{_RXJAVA}.Single": Single,
    f"{_RXJAVA}.Maybe": Maybe,
    f"{_RXJAVA}.Completable": Maybe,
    f"{_MUTINY}.Multi": Stream,
    f"{_MUTINY}.Uni": Maybe,
    "java.util.concurrent.CompletionStage": Maybe,
    "java.util.concurrent.CompletableFuture": Maybe,
}
"""The Python type that each Java class accepts."""


def object_kind(python_object: object) -> ObjectKind:
    """Return the kind of the Java object that stands for a Python object.

    Raises:
        TypeError: the object is not a Publisher, Subscriber or Processor, or it has coroutine methods.
    """
    if isinstance(python_object, type):
        raise TypeError(f"to_jvm takes an object, not {kind_of(python_object)}: create an instance")
    publisher = callable(getattr(python_object, "subscribe", None))
    subscriber = all(callable(getattr(python_object, name, None)) for name in SIGNALS)
    if subscriber and awaits_signals(python_object):
        raise TypeError(
            f"to_jvm takes a Subscriber with plain methods, and {type(python_object).__name__} has coroutine "
            "functions, which the JVM cannot await: subscribe it to a stream, bridge.from_jvm(publisher).subscribe(...)"
        )
    if publisher:
        return ObjectKind.PROCESSOR if subscriber else ObjectKind.PUBLISHER
    if subscriber:
        return ObjectKind.SUBSCRIBER
    raise TypeError(
        f"to_jvm takes a Publisher, Subscriber or Processor, but {type(python_object).__name__} is none: it has "
        "neither subscribe nor on_subscribe, on_next, on_error and on_complete (pyrs.just(value) is a Publisher of "
        "a value)"
    )


def check_convertible(python_object: object, java_type: str) -> None:
    """Check that the Python object can become an object of this Java class.

    Raises:
        TypeError: the object is not a Publisher of the required kind.
        ValueError: the class is not one of the supported ones.
    """
    kind = _ACCEPTED.get(java_type)
    if kind is None:
        raise ValueError(f"java_type must be one of {', '.join(_ACCEPTED)}, not {java_type!r}")
    if kind is Stream and callable(getattr(python_object, "subscribe", None)):
        return
    if not isinstance(python_object, kind):
        advice = " (stream.first() returns a Single)" if isinstance(python_object, Stream) else ""
        raise TypeError(f"java_type={java_type!r} takes a {kind.__name__}, not {type(python_object).__name__}{advice}")


def convert_to(java_class: Callable[[str], Any], publisher: Any, java_type: str) -> Any:
    """Convert a Java Publisher to an object of the named Java class.

    An object that already has this class is returned unchanged.

    Args:
        java_class: returns the JavaClass of a name.
        publisher: the JavaObject of the Publisher.
        java_type: the name of the class.
    """
    wanted = java_class(java_type)
    if wanted.class_.isInstance(publisher):
        return publisher.java
    if publisher._kind in (ObjectKind.MAYBE, ObjectKind.SINGLE):
        publisher = java_class(_SINGLE_TYPES).toPublisher(publisher)
    package, _, name = java_type.rpartition(".")
    # A mirror of a Python Publisher has both families, but a Java Publisher usually has one. Mutiny takes Flow only.
    if package == _MUTINY:
        if not java_class("java.util.concurrent.Flow$Publisher").class_.isInstance(publisher):
            publisher = java_class(_FAMILIES).toFlow(publisher)
    elif not java_class("org.reactivestreams.Publisher").class_.isInstance(publisher):
        publisher = java_class(_FAMILIES).toReactiveStreams(publisher)
    if package == _RXJAVA:
        converted = wanted.fromPublisher(publisher)
    elif package == _MUTINY:
        converted = wanted.createFrom().publisher(publisher)
    elif package == "java.util.concurrent":
        converted = java_class(_SINGLE_TYPES).toFuture(publisher)
    else:
        converted = wanted.fromDirect(publisher) if name == "Mono" else wanted.from_(publisher)
    return converted.java
