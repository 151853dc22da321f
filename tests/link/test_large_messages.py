"""Large messages: received into a buffer of the announced size, and sent from several buffers."""

from __future__ import annotations

import pyarrow
import pytest
from plain_session import PlainEncoder, frames_of

from pyrs.errors import ProtocolError
from pyrs.jvm.buffers import Buffers
from pyrs.jvm.link import frames
from pyrs.jvm.link.batches import Batches
from pyrs.jvm.link.frames import HEADER, MAX_FRAGMENT, MORE, Frame, FrameDecoder, FrameType, Message, frame
from pyrs.jvm.values.references import ARROW

SIZE = 5 * MAX_FRAGMENT + 1_000


def extension(announced: int, content: bytes) -> bytes:
    """Return a NEXT body with one Arrow value whose header announces a length of ``announced`` bytes."""
    return b"\x91\xc9" + announced.to_bytes(4, "big") + bytes([ARROW]) + content


def content(size: int = SIZE) -> bytes:
    return (bytes(range(251)) * (size // 251 + 1))[:size]


def fragments(body: bytes, size: int, stream: int = 3) -> list[bytes]:
    """Split a body into frames of at most ``size`` bytes."""
    parts = [body[start : start + size] for start in range(0, len(body), size)]
    kinds = [FrameType.NEXT | MORE] * (len(parts) - 1) + [FrameType.NEXT]
    return [frame(kind, stream, part) for kind, part in zip(kinds, parts, strict=True)]


def received(data: bytes, step: int) -> list[Frame]:
    decoder = FrameDecoder()
    messages = [m for start in range(0, len(data), step) for m in decoder.feed(data[start : start + step])]
    assert decoder.pending == 0
    assert not decoder.in_place
    return messages


@pytest.mark.parametrize("step", [997, 65_536, MAX_FRAGMENT, MAX_FRAGMENT + 13, 1 << 22])
def test_an_announced_message_is_joined_from_reads_of_any_size(step: int) -> None:
    body = extension(SIZE, content())
    buffers = Buffers([body[1:7], content()[:70_000], content()[70_000:]])
    sent = [*frames_of(Message(FrameType.NEXT, 3, buffers, body[:1]))]
    assert [len(each) - HEADER.size for each in sent] == [MAX_FRAGMENT] * 5 + [1_007]
    cancel = frame(FrameType.CANCEL, 5)
    data = b"".join(each + cancel for each in sent) + b"".join(sent)
    messages = received(data, step)
    assert [each.type for each in messages] == [FrameType.CANCEL] * 5 + [7, FrameType.CANCEL, 7]
    for message in messages[5::2]:
        assert isinstance(message.body, memoryview)
        assert bytes(message.body) == body


def test_two_announced_messages_may_interleave() -> None:
    sent = []
    for stream in (3, 5):
        buffers = Buffers([extension(SIZE, content())[1:]])
        sent.append([*frames_of(Message(FrameType.NEXT, stream, buffers, b"\x91"))])
    data = b"".join(part for pair in zip(*sent, strict=True) for part in pair)
    assert [(each.id, len(each.body)) for each in received(data, 100_000)] == [(3, SIZE + 7), (5, SIZE + 7)]


def test_the_payload_of_an_announced_message_is_aligned() -> None:
    [message] = received(b"".join(fragments(extension(SIZE, content()), 65_536)), 50_000)
    assert pyarrow.py_buffer(memoryview(message.body)[7:]).address % 16 == 0


def test_most_bytes_of_an_announced_message_are_received_in_place() -> None:
    data = b"".join(fragments(extension(SIZE, content()), MAX_FRAGMENT)) * 3
    decoder, start, copied = FrameDecoder(), 0, 0
    while start < len(data):
        part = data[start : start + 150_000]
        in_place, space = decoder.in_place, decoder.space()
        size = min(len(space), len(part))
        copied += 0 if in_place else size
        space[:size] = part[:size]
        start += size
        decoder.received(size)
    assert copied <= 150_000 + 2 * 64


@pytest.mark.parametrize("announced", [SIZE - 300_000, SIZE + 300_000], ids=["less", "more"])
@pytest.mark.parametrize("step", [997, 100_000, 1 << 22])
def test_a_wrong_announcement_changes_no_byte(announced: int, step: int) -> None:
    body = extension(announced, content())
    [message] = received(b"".join(fragments(body, 65_536)), step)
    assert bytes(message.body) == body


def test_an_announced_size_counts_towards_the_limit_before_it_is_allocated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "MAX_UNFINISHED_BYTES", 2 * SIZE)
    decoder = FrameDecoder()
    body = extension(SIZE - 7, content(SIZE - 7))
    for _ in range(3):  # complete messages do not count
        assert len(decoder.feed(b"".join(fragments(body, 65_536)))) == 1
    decoder.feed(fragments(body, 65_536, 3)[0] + fragments(body, 65_536, 5)[0])
    with pytest.raises(ProtocolError, match=r"bytes of unfinished messages"):
        decoder.feed(fragments(body, 65_536, 7)[0])


def test_a_batch_ends_before_an_element_in_several_buffers() -> None:
    encoder = PlainEncoder()
    large = Buffers([bytes(200_000)])
    encoder.encode_element = lambda element: large if element == "large" else encoder.encode(element)
    batches = Batches(encoder)
    assert batches.fill(iter([1, 2, "large", 3, "large"]), 5) == (5, None)
    taken = [batches.take() for _ in range(5)]
    assert [batch and (batch.size, batch.elements) for batch in taken] == [
        (2, b"\1\2"),
        (1, large),
        (1, b"\3"),
        (1, large),
        None,
    ]
