"""A Publisher that emits on two threads at the same time violates rule 1.3."""

from __future__ import annotations

from typing import Any

from interleaving import Stepped
from plain_session import PlainCodec


def test_concurrent_signals_cancel_a_pulled_source_immediately() -> None:
    """The source offers the refused elements again until it is cancelled, and the drain loop may run late."""
    session = Stepped()
    stream = session.subscribe_peer(7)
    session.subscribe(8, stream)
    upstream: Any = session.streams[3]
    session.run()
    with stream._gate:  # another thread is inside on_next
        assert stream.consume(iter([1, 2]), 2) == 0
    assert upstream._cancelled


def test_completion_during_on_next_fails_the_stream() -> None:
    """The element that another thread encodes would be lost without an error (§1.3)."""
    failures: list[BaseException] = []

    class Recording(PlainCodec):
        def encode_error(self, error: BaseException) -> bytes:
            failures.append(error)
            return super().encode_error(error)

    stream = Stepped(Recording()).subscribe_peer(7)
    with stream._gate:  # another thread is inside on_next
        stream.on_complete()
    assert [str(each) for each in failures] == [
        "on_complete was called while another signal of the same stream was being handled (rule 1.3)"
    ]
