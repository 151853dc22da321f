"""Batches of a pulled source contain the requested elements and lose none."""

from __future__ import annotations

import threading
from typing import Any

import msgpack
import pytest
from interleaving import Interrupted, Stepped, at_every_line
from plain_session import PlainEncoder

import pyrs
from pyrs.jvm.link.batches import Batches
from pyrs.jvm.link.frames import (
    CREDIT,
    MAX_BODY,
    Frame,
    FrameType,
)
from tests.waiting import DEADLINE


class TestBatchesOfPulledSource:
    def frames(self, source: Any, *, credit: int = 4_096) -> list[Frame]:
        """Return the frames that a stream over the source sends."""
        session = Stepped()
        publisher = session.handles.own(source)
        session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([publisher, {}])))
        session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(credit)))
        session.run()
        return list(session.sent)

    def elements(self, frames: list[Frame]) -> list[Any]:
        return [element for each in frames if each.type == FrameType.NEXT for element in msgpack.unpackb(each.body)]

    def error(self, frames: list[Frame]) -> list[Any]:
        assert frames[-1].type == FrameType.ERROR
        return msgpack.unpackb(frames[-1].body)  # type: ignore[no-any-return]

    @pytest.mark.parametrize("more", [0, 3])
    def test_a_msgpack_error_raised_by_the_iterator_fails_the_stream(self, more: int) -> None:
        packed = [msgpack.packb(n) for n in range(50)]
        pulled: list[int] = []

        def source() -> Any:
            for each in [*packed, b"\xc1", *packed[:more]]:
                pulled.append(1)
                yield each

        frames = self.frames(pyrs.from_iterable(source()).map(msgpack.unpackb))
        assert self.elements(frames) == list(range(50))
        assert self.error(frames)[2] == "FormatError"
        assert len(pulled) == 51, "the source was pulled again after its error"

    @pytest.mark.parametrize("before", [0, 1, 9, 300])
    def test_none_fails_the_stream_after_the_elements_before_it(self, before: int) -> None:
        pulled: list[Any] = []

        def source() -> Any:
            for element in [*range(before), None, "beyond", "far beyond"]:
                pulled.append(element)
                yield element

        frames = self.frames(pyrs.from_iterable(source()))
        assert self.elements(frames) == list(range(before))
        assert self.error(frames)[2] == "NullSignal"
        assert pulled[-1] is None, f"pulled beyond None: {pulled[before:]}"

    def test_an_unconvertible_element_fails_the_stream(self) -> None:
        source = pyrs.from_iterable([*range(40), object(), *range(40)])
        frames = self.frames(source)
        assert self.elements(frames) == list(range(40))
        assert frames[-1].type == FrameType.ERROR

    def test_a_batch_ends_at_the_size_limit(self) -> None:
        frames = self.frames(pyrs.from_iterable(bytes([n]) * 30_000 for n in range(200)))
        assert self.elements(frames) == [bytes([n]) * 30_000 for n in range(200)]
        assert max(len(each.body) for each in frames) < 2 * MAX_BODY

    def test_taking_a_batch_does_not_copy_all_buffered_elements(self) -> None:
        """Such copies would make the writer's time quadratic in the number of buffered elements."""
        sliced: list[int] = []

        class Slices(list[Any]):
            def __getitem__(self, key: Any) -> Any:
                part = super().__getitem__(key)
                if isinstance(key, slice):
                    sliced.append(len(part))
                return part

        batches = Batches(PlainEncoder())
        batches._encoded = Slices()
        for number in range(1_000):
            batches.add(bytes(MAX_BODY) if number % 2 else number)
        taken = 0
        while (batch := batches.take()) is not None:
            taken += batch.size
        assert taken == 1_000
        assert sum(sliced) < 3_000

    def test_the_writer_may_take_at_every_line_of_fill(self) -> None:
        functions = [each for each in vars(Batches).values() if callable(each) and hasattr(each, "__code__")]

        def attempt(interrupted: Interrupted, wanted: int) -> bool:
            batches, written = Batches(PlainEncoder()), bytearray()
            threads: list[threading.Thread] = []

            def write() -> None:
                # Runs on another thread, as the link's writer does. It must not wait for the thread in ``fill``.
                batch = batches.take()
                if batch is not None:
                    written.extend(batch.elements)

            def writer() -> None:
                threads.append(threading.Thread(target=write, daemon=True))
                threads[0].start()
                threads[0].join(0.02)  # it cannot end yet if the interrupted line holds a lock

            batches.add(0)
            with interrupted(writer) as intruder:
                filled = batches.fill(iter([1, 2, 3]), wanted)
            assert filled == (min(wanted, 3), None), intruder.line
            for thread in threads:
                thread.join(DEADLINE)
            while batches:
                write()
            assert bytes(written) == bytes(range(min(wanted, 3) + 1)), intruder.line
            return intruder.reached

        for wanted in (1, 3, 10):
            at_every_line(functions, lambda interrupted, wanted=wanted: attempt(interrupted, wanted))  # type: ignore[misc]
