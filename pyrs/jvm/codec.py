"""Encode and decode the values of a link, with the references within them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import msgpack

from pyrs.api import Publisher, Subscriber
from pyrs.errors import ConversionError, JavaError, LinkBroken, LinkClosed, ProtocolError
from pyrs.jvm.classes import JavaClass
from pyrs.jvm.java_objects import (
    HOT,
    JavaFuture,
    JavaObject,
    JavaProcessor,
    JavaPublisher,
    JavaSubscriber,
    ObjectKind,
    Operation,
    java_object_class,
    proxy_for,
)
from pyrs.jvm.link.frames import Body
from pyrs.jvm.link.handles import MissingHandle
from pyrs.jvm.link.interfaces import Codec
from pyrs.jvm.values.decoder import ValueDecoder, handles_in
from pyrs.jvm.values.encoder import ValueEncoder
from pyrs.jvm.values.errors import Originals, exception_to_wire, wire_to_exception
from pyrs.jvm.values.references import RECEIVER_OWNS, SENDER_OWNS, References
from pyrs.jvm.values.shared_batches import SHARED_BATCH, received
from pyrs.jvm.values.table import contains_type
from pyrs.stream.stream import Maybe, Single, Stream

if TYPE_CHECKING:
    from pyrs.jvm.gateways.control import Control, Gateway
    from pyrs.jvm.link.session import Session

_MSGPACK_TYPES = frozenset({msgpack.Timestamp, msgpack.ExtType})
"""Types that the packer encodes itself. In a CALL or RETURN, their extension types would make the peer end the link."""


class LinkReferences(References, Codec):
    """The codec of one link. Only the reader of the link decodes entries and errors."""

    def __init__(self, session: Session, gateway: Gateway, control: Control) -> None:
        self.session = session
        self.gateway = gateway
        self.control = control
        self.release = session.handles.release
        self.originals = Originals()
        self._decoder = ValueDecoder(self, defers=True)
        self.classes = {int(kind): java_object_class(self, kind) for kind in ObjectKind}
        for kind in (ObjectKind.PUBLISHER, ObjectKind.PROCESSOR, ObjectKind.MAYBE, ObjectKind.SINGLE):
            self.classes[kind + HOT] = java_object_class(self, kind, hot=True)
        self.remote_object: Callable[[int], object] = self.classes[ObjectKind.OBJECT]
        self._shares_memory: bool = getattr(control, "shares_memory", False)

    def kind_of(self, value: object) -> int:
        # The base classes decide, not the methods: an element with a method ``subscribe`` is not a Publisher.
        bases = type(value).__mro__
        if Publisher in bases:
            return ObjectKind.PROCESSOR if Subscriber in bases else ObjectKind.PUBLISHER
        return ObjectKind.SUBSCRIBER if Subscriber in bases else ObjectKind.OBJECT

    def own(self, value: object) -> int:
        return self.session.handles.own(value)

    def disown(self, carried: Iterable[object]) -> list[object]:
        released = [self.session.handles.released(each, 1) for each in carried if type(each) is int]
        return [target for target in released if target is not None]

    def home(self, value: object) -> tuple[int, int, object] | None:
        found = self.java_handle(value)
        return None if found is None else (found._kind, found._handle, found)

    def java_handle(self, value: object) -> JavaObject | None:
        """Return the reference of a proxy for a Java object; None for other values.

        Raises:
            ConversionError: The object belongs to another JVM, or to an ended link of another bridge.
            LinkBroken: The object belongs to an earlier link of this bridge.
        """
        if type(value) in (Stream, Maybe, Single) and isinstance(value, Stream):
            value = value.source
        if isinstance(value, (JavaPublisher, JavaSubscriber, JavaProcessor, JavaFuture)):
            # A proxy of another bridge is a Python Publisher or Subscriber for this one, and keeps its options.
            return value.java_object if value.java_object._link.session is self.session else None
        if isinstance(value, JavaClass):
            value = value.class_
        if isinstance(value, JavaObject):
            if value._link.session is self.session:
                return value
            value = self._of_another_bridge(value)
        if self.gateway.is_java_object(value):
            return self.classes[self.control.kind(value)](self.control.export(value))
        return None

    def _of_another_bridge(self, value: JavaObject) -> object:
        """Return the gateway's object, which all bridges to one JVM share."""
        try:
            java = value.java
        except (LinkClosed, LinkBroken) as error:
            # A program that repeats its calls after LinkBroken obtains the objects of an earlier link again.
            kind = LinkBroken if value._link.gateway is self.gateway else ConversionError
            raise kind(f"{value!r} belongs to a link that has ended ({error}): get it through this bridge") from error
        if self.gateway.is_java_object(java):
            return java
        raise ConversionError(
            f"{value!r} belongs to a bridge to another JVM, or is a plain value: get it through this bridge, or "
            "pass its value"
        )

    def throwable(self, error: object) -> object:
        """Return the Throwable of this bridge's JavaError; return other values unchanged."""
        if isinstance(error, JavaError) and error.java_original is not None:
            peer, number = error.java_original
            if peer is self.originals:
                return self.command(Operation.THROWABLE, None, "", [number]) or error
        return error

    def remote(self, kind: int, handle: int) -> object:
        if not kind:
            return self.remote_object(handle)
        if kind == SHARED_BATCH and self._shares_memory:
            return received(handle, self.control.move_batch, self.release)
        if kind not in self.classes or kind >= HOT:
            raise ProtocolError(f"malformed reference: there is no kind {kind}")
        return proxy_for(self.classes[kind](handle))

    def local(self, handle: int) -> object:
        try:
            return self.session.handles.local(handle)
        except MissingHandle:
            if self.session.open:
                raise
            raise self.session.new_end_error() from None  # the table was cleared at the end of the link

    def command(self, operation: Operation, target: object, name: str, arguments: Sequence[object] = ()) -> Any:
        """Run an operation in Java by name.

        Raises:
            JavaError: The call threw, or no method, constructor or field matches the name and the arguments.
            ConversionError: An argument or the result cannot be converted.
            LinkClosed, LinkBroken: The link has ended.
        """
        if not self.session.open:
            raise self.session.new_end_error()
        remote = self.remote if operation == Operation.VALUE else self._reference
        return self.gateway.shield(lambda: self._command([int(operation), target, name, *arguments], remote))

    def _reference(self, kind: int, handle: int) -> object:
        """Return a ``JavaObject`` for an object in a result, even for a Publisher."""
        return self.classes[kind](handle)

    def _command(self, words: list[object], remote: Callable[[int, int], object]) -> Any:
        encoder = _CommandEncoder(self)
        try:
            body = encoder.encode(words)
            encoder.check(words, body)
        except (LinkBroken, LinkClosed):  # the JVM has detected the end first, and exports no object
            self.disown(encoder.carried)
            raise
        except Exception as error:  # no interrupt: this thread is shielded
            raise _explained(encoder, words, error, self) from error
        try:
            answer = self.control.command(body)
        except BaseException:
            self.disown(encoder.carried)
            raise
        done, result = ValueDecoder(self, remote).decode(answer)
        if not done:
            raise wire_to_exception(result, self.originals)
        return result

    # The codec of the session.

    def decode_entries(self, body: Body) -> tuple[list[Any], Exception | None]:
        return self._decoder.decode_entries(body)

    def encoder(self) -> ValueEncoder:
        return ValueEncoder(self)

    def batch_decoder(self) -> Callable[[Body], tuple[list[Any], Exception | None]]:
        return ValueDecoder(self).decode_batch

    def discard(self, body: Body) -> None:
        for handle in handles_in(body, SENDER_OWNS):
            self.release(handle)

    def encode(self, value: object) -> bytes:
        return self.encode_carrying(value)[0]

    def encode_carrying(self, value: object) -> tuple[bytes, list[object]]:
        encoder = self.encoder()
        try:
            body = encoder.encode(value)
            encoder.check(value, body)
            if contains_type(value, _MSGPACK_TYPES, subclasses=True):
                raise ConversionError(
                    "a msgpack.Timestamp or msgpack.ExtType cannot be converted to Java: make a datetime or bytes of it"
                )
            return body, encoder.carried
        except BaseException as error:
            if not isinstance(error, Exception):  # an interrupt
                encoder.explain(value, error)
                raise
            raise _explained(encoder, value, error, self) from error

    def encode_error(self, error: BaseException) -> bytes:
        return self.encode(exception_to_wire(error, self.originals))

    def decode_error(self, body: Body) -> BaseException:
        return wire_to_exception(self._decoder.decode(body), self.originals)

    def encode_failure(self, error: BaseException) -> bytes:
        return self.encode([False, exception_to_wire(error, self.originals)])

    def failure(self, wire: Any) -> BaseException:
        return wire_to_exception(wire, self.originals)

    def home_handles(self, body: Body) -> list[int]:
        return handles_in(body, RECEIVER_OWNS)


def _explained(encoder: ValueEncoder, value: object, error: Exception, references: LinkReferences) -> ConversionError:
    """Return the ConversionError for the entry that is at fault in a frame's array."""
    explained = encoder.explain(value, error)
    if explained is error or not isinstance(value, list):
        return explained
    for entry in value:
        try:
            encoder.encode(entry)
        except Exception as again:
            return encoder.explain(entry, again)
        references.disown(encoder.carried)
        encoder.carried.clear()
    return explained


class _CommandEncoder(ValueEncoder):
    """Encodes a command. Unlike in elements, a JavaError is sent as its Throwable."""

    __slots__ = ("_throwable",)

    def __init__(self, references: LinkReferences) -> None:
        super().__init__(references)
        self._throwable = references.throwable

    def _from_reference(self, value: object) -> Any:
        return super()._from_reference(self._throwable(value))
