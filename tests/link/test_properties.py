"""Properties of the frame decoder and of the window, for random input."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from plain_session import frames_of

from pyrs.errors import ProtocolError
from pyrs.jvm.link.frames import FrameDecoder, FrameType, Message
from pyrs.jvm.link.window import Window

MESSAGES = st.lists(
    st.tuples(
        st.sampled_from([FrameType.NEXT, FrameType.NEXT_HOME, FrameType.ERROR, FrameType.CALL, FrameType.RETURN]),
        st.integers(0, 2**64 - 1),
        st.one_of(st.binary(max_size=40), st.integers(65_530, 200_000).map(lambda size: b"x" * size)),
    ),
    max_size=6,
)


@settings(max_examples=100, deadline=None)
@given(messages=MESSAGES, cuts=st.lists(st.integers(1, 70_000), min_size=1, max_size=20))
def test_messages_are_independent_of_the_sizes_of_reads(
    messages: list[tuple[int, int, bytes]], cuts: list[int]
) -> None:
    data = b"".join(part for message in messages for part in frames_of(Message(*message)))
    decoder = FrameDecoder()
    arrived = []
    start = turn = 0
    while start < len(data):
        size = cuts[turn] if turn < len(cuts) else 65_536
        arrived += decoder.feed(data[start : start + size])
        start, turn = start + size, turn + 1
    assert [tuple(message) for message in arrived] == messages
    assert decoder.pending == 0


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=400))
def test_random_bytes_are_refused_or_use_little_memory(data: bytes) -> None:
    decoder = FrameDecoder()
    try:
        decoder.feed(data)
    except ProtocolError as error:
        assert "malformed" in str(error)
    assert decoder.pending <= len(data)


@settings(max_examples=200, deadline=None)
@given(
    exact=st.booleans(),
    max_prefetch=st.integers(1, 64),
    steps=st.lists(st.tuples(st.sampled_from(["request", "deliver", "observe"]), st.integers(1, 100_000)), max_size=60),
)
def test_the_window_never_exceeds_its_limits(exact: bool, max_prefetch: int, steps: list[tuple[str, int]]) -> None:
    window = Window(max_prefetch, exact=exact)
    for what, n in steps:
        if what == "request":
            window.request(n)
        elif what == "deliver":
            window.delivered += min(n, window.granted - window.delivered, max(0, window.requested - window.delivered))
            window.ran_empty = True
        else:
            window.observe(n, n * 50)
        granted = window.refill()
        assert granted == 0 or window.requested > 0
        assert window.granted - window.delivered <= max_prefetch
        if exact:
            assert window.granted <= window.requested
