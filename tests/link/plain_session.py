"""A session without a socket or threads, and a codec of plain msgpack."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from types import SimpleNamespace
from typing import Any

import msgpack

from pyrs.jvm.buffers import Buffers
from pyrs.jvm.codec import LinkReferences
from pyrs.jvm.link.frames import CREDIT, Frame, FrameDecoder, FrameType, Message
from pyrs.jvm.link.session import Session
from pyrs.testing import TestSubscriber


def frames_of(message: Message) -> Iterator[bytes]:
    """Take the frames of a message."""
    buffers, more = message.take()
    while more:
        assert isinstance(buffers, list)
        yield b"".join(buffers)
        buffers, more = message.take()


class PlainEncoder:
    """Encodes msgpack without references."""

    def __init__(self) -> None:
        self.carried: list[object] = []
        self.converted: list[object] = [None]
        self.encode: Callable[[Any], bytes] = msgpack.Packer().pack
        self.encode_element: Callable[[Any], bytes | Buffers] = self.encode

    def check(self, encoded: bytes) -> None:
        pass

    def explain(self, value: object, error: BaseException) -> Exception:
        return error


class PlainCodec:
    """Uses plain msgpack. A decoded error has only its message."""

    def encoder(self) -> PlainEncoder:
        return PlainEncoder()

    def batch_decoder(self) -> Callable[[bytes], tuple[list[Any], Exception | None]]:
        return lambda body: (self.decode(body), None)

    def disown(self, carried: Iterable[object]) -> list[object]:
        return []

    def discard(self, body: bytes) -> None:
        pass

    def encode(self, value: object) -> bytes:
        return bytes(msgpack.packb(value))

    def decode(self, body: bytes) -> Any:
        return msgpack.unpackb(body, strict_map_key=False)

    def decode_entries(self, body: bytes) -> tuple[list[Any], Exception | None]:
        entries = self.decode(body)
        if not isinstance(entries, list):
            raise ValueError("it is not an array")
        return entries, None

    def encode_carrying(self, value: object) -> tuple[bytes, list[object]]:
        return self.encode(value), []

    def encode_error(self, error: BaseException) -> bytes:
        return self.encode([0, 0, type(error).__name__, str(error)])

    def decode_error(self, body: bytes) -> BaseException:
        return RuntimeError(self.decode(body)[3])

    def encode_failure(self, error: BaseException) -> bytes:
        return self.encode([False, str(error)])

    def failure(self, wire: Any) -> BaseException:
        return RuntimeError(wire)

    def home_handles(self, body: bytes) -> list[int]:
        return []


class PlainSession(Session):
    """Runs every task inline and records the sent frames."""

    def __init__(self, max_prefetch: int = 4_096) -> None:
        self.sent: deque[Frame] = deque()
        self._sent_decoder = FrameDecoder()
        self._tasks: deque[Callable[[], None]] = deque()
        self._running = False
        super().__init__(
            execute=self._inline,
            post=self._inline,
            send=lambda data: self.sent.extend(self._sent_decoder.feed(data)),
            wake=lambda: self._inline(self.outbox.write),
            max_prefetch=max_prefetch,
        )
        self.codec = PlainCodec()

    def _inline(self, task: Callable[[], None]) -> None:
        # A trampoline, because an executor never runs a task inside the task that submitted it.
        self._tasks.append(task)
        if self._running:
            return
        self._running = True
        try:
            while self._tasks:
                self._tasks.popleft()()
        finally:
            self._running = False

    def frame_as_step(self, message: Frame) -> list[Any]:
        """Return a frame as a step of the vectors."""
        kind = FrameType(message.type)
        if kind in (FrameType.SUBSCRIBE, FrameType.ON_SUBSCRIBE):
            handle, options = self.codec.decode(message.body)
            return [kind.name, handle, *([options["context"]] if "context" in options else [])]
        if kind == FrameType.REQUEST:
            return [kind.name, CREDIT.unpack(message.body)[0]]
        if kind == FrameType.NEXT:
            return [kind.name, self.codec.decode(message.body)]
        if kind == FrameType.ERROR:
            return [kind.name, self.codec.decode(message.body)[3]]
        return [kind.name]

    def step_as_frame(self, step: list[Any], stream: int) -> Frame:
        """Return a step of the vectors as a frame."""
        kind = FrameType[step[0]]
        if kind == FrameType.SUBSCRIBE:
            options = {"context": step[2]} if len(step) > 2 else {}
            return Frame(kind, stream, self.codec.encode([step[1], options]))
        if kind == FrameType.REQUEST:
            return Frame(kind, stream, CREDIT.pack(step[1]))
        if kind == FrameType.NEXT:
            return Frame(kind, stream, self.codec.encode(step[1]))
        if kind == FrameType.ERROR:
            return Frame(kind, stream, self.codec.encode([0, 0, "Error", step[1]]))
        return Frame(kind, stream, b"")


class LinkSession(PlainSession):
    """A session that runs inline, with the codec of the bridge."""

    def __init__(self) -> None:
        super().__init__()
        gateway: Any = SimpleNamespace(is_java_object=lambda value: False)
        control: Any = None
        self.codec = LinkReferences(self, gateway, control)

    def read(self, message: Frame) -> Any:
        return msgpack.unpackb(message.body, ext_hook=lambda code, data: code, strict_map_key=False)


def assert_lives(session: LinkSession, other: TestSubscriber[Any]) -> None:
    session.receive(Frame(FrameType.NEXT, 1, b"\x91\xa5flows"))
    assert other.elements[-1] == "flows"
    assert session.open
