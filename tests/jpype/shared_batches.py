"""The scenarios of test_shared_batches.py, in a process whose JVM opens ``java.nio`` to Arrow.

The program prints a JSON object with the error of each scenario, or null.
"""

from __future__ import annotations

import ctypes
import json
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jpype

from pyrs import jvm
from pyrs.errors import ConversionError, JavaError, LinkBroken, LinkClosed
from pyrs.testing import TestSubscriber
from tests.interop.harness import LIBRARIES
from tests.waiting import DEADLINE, collected, eventually, recording

ROWS = 1_000
SCENARIOS: dict[str, Callable[[], None]] = {}
KEPT: list[Any] = []
"""Batches that live until the process ends."""


def scenario(function: Callable[[], None]) -> Callable[[], None]:
    SCENARIOS[function.__name__] = function
    return function


class Source:
    """Creates record batches with an allocator that counts bytes, and opens a bridge."""

    def __init__(self) -> None:
        self.allocator = jpype.JClass("org.apache.arrow.memory.RootAllocator")(1 << 32)
        self.bridge = jvm.connect()
        self.flux = jpype.JClass("reactor.core.publisher.Flux")

    def root(self, first: int = 0, rows: int = ROWS) -> Any:
        numbers = jpype.JClass("org.apache.arrow.vector.BigIntVector")("number", self.allocator)
        texts = jpype.JClass("org.apache.arrow.vector.VarCharVector")("text", self.allocator)
        numbers.allocateNew(rows)
        texts.allocateNew(rows)
        for index in range(rows):
            numbers.setSafe(index, jpype.JLong(first + index))
            texts.setSafe(index, jpype.JArray(jpype.JByte)(f"row {first + index}".encode()))
        numbers.setValueCount(rows)
        texts.setValueCount(rows)
        return jpype.JClass("org.apache.arrow.vector.VectorSchemaRoot").of(numbers, texts)

    @property
    def allocated(self) -> int:
        return int(self.allocator.getAllocatedMemory())

    def repeated(self, root: Any, count: int) -> Any:
        return self.flux.just(root).repeat(count - 1)

    def await_released(self, expected: int = 0) -> None:
        """Wait until only ``expected`` bytes are allocated, those of open roots.

        If the source has not completed, close the root after this call: the source may still emit it.
        """
        collected(lambda: self.allocated == expected, self._leak)

    def _leak(self) -> str:
        return f"{self.allocated} bytes are allocated: {self.bridge.stats()}"


@contextmanager
def source() -> Iterator[Source]:
    """Yield a Source, and close its bridge and its allocator at the end; the allocator raises if a buffer is left."""
    opened = Source()
    yield opened
    assert opened.bridge.close()
    opened.await_released()
    opened.allocator.close()


@scenario
def content_and_order() -> None:
    with source() as opened:
        roots = [opened.root(number * ROWS, 10) for number in range(40)]
        batches = list(opened.bridge.from_jvm(opened.flux.just(*roots), convert="shared").to_iterable(timeout=DEADLINE))
        assert [batch.column(0)[0].as_py() for batch in batches] == [number * ROWS for number in range(40)]
        assert batches[3].to_pydict() == {
            "number": [3 * ROWS + index for index in range(10)],
            "text": [f"row {3 * ROWS + index}" for index in range(10)],
        }
        for root in roots:
            root.close()
        batches.clear()
        opened.await_released()


@scenario
def no_copy() -> None:
    with source() as opened:
        root = opened.root()
        (batch,) = opened.bridge.from_jvm(opened.flux.just(root), convert="shared").to_iterable(timeout=DEADLINE)
        assert batch.column(0).buffers()[1].address == int(root.getVector(0).getDataBufferAddress())
        root.close()
        assert opened.allocated > 0, "the buffers were released while Python references their batch"
        assert batch.column(0)[ROWS - 1].as_py() == ROWS - 1
        del batch
        opened.await_released()


@scenario
def by_class_name() -> None:
    with source() as opened:
        root = opened.root()
        convert = {"org.apache.arrow.vector.VectorSchemaRoot": "shared"}
        (batch,) = opened.bridge.from_jvm(opened.flux.just(root), convert=convert).to_iterable(timeout=DEADLINE)
        assert batch.column(0).buffers()[1].address == int(root.getVector(0).getDataBufferAddress())
        root.close()
        del batch


@scenario
def value_of_one_batch() -> None:
    with source() as opened:
        root = opened.root()
        batch = opened.bridge.value_of(root, convert="shared")
        assert batch.column(0).buffers()[1].address == int(root.getVector(0).getDataBufferAddress())
        root.close()
        del batch


@scenario
def copies_by_default() -> None:
    with source() as opened:
        root = opened.root()
        (batch,) = opened.bridge.from_jvm(opened.flux.just(root)).to_iterable(timeout=DEADLINE)
        root.close()
        assert opened.allocated == 0
        assert batch.column(0)[7].as_py() == 7


@scenario
def without_columns() -> None:
    with source() as opened:
        fields = jpype.JClass("java.util.List").of()
        root = jpype.JClass("org.apache.arrow.vector.VectorSchemaRoot")(fields, fields, 0)
        (batch,) = opened.bridge.from_jvm(opened.flux.just(root), convert="shared").to_iterable(timeout=DEADLINE)
        assert (batch.num_columns, batch.num_rows) == (0, 0)


@scenario
def window_does_not_grow() -> None:
    with source() as opened:
        root = opened.root()
        stream = opened.bridge.from_jvm(opened.repeated(root, 500), convert="shared")
        assert stream.count().block(DEADLINE) == 500
        assert opened.bridge.stats()["largest_in_flight"] <= 16
        root.close()


@scenario
def window_of_a_subscriber_does_not_grow() -> None:
    with source() as opened:
        root = opened.root()
        for convert in ("shared", {"org.apache.arrow.vector.VectorSchemaRoot": "shared"}):
            recorder = recording(1 << 62)
            opened.repeated(root, 500).subscribe(opened.bridge.to_jvm(recorder, convert=convert))
            assert len(recorder.await_complete(DEADLINE)) == 500
            del recorder
            assert opened.bridge.stats()["largest_in_flight"] <= 16
        root.close()


def release_after(end: Callable[[Source, TestSubscriber[Any]], None]) -> None:
    """Receive three of many batches, call ``end``, and expect that all batches are released."""
    with source() as opened:
        root = opened.root()
        size = opened.allocated
        recorder = recording(3)
        opened.bridge.from_jvm(opened.repeated(root, 1_000), convert="shared").subscribe(recorder)
        recorder.await_count(3)
        end(opened, recorder)
        del recorder
        opened.await_released(size)
        root.close()


@scenario
def cancel_releases_prefetched_batches() -> None:
    release_after(lambda opened, recorder: recorder.cancel())


@scenario
def cancel_during_on_next() -> None:
    with source() as opened:
        root = opened.root()
        size = opened.allocated
        entered, leave = threading.Event(), threading.Event()

        def first(batch: Any) -> None:
            entered.set()
            leave.wait(DEADLINE)

        subscription = opened.bridge.from_jvm(opened.repeated(root, 1_000), convert="shared").subscribe(on_next=first)
        assert entered.wait(DEADLINE)
        subscription.cancel()
        leave.set()
        opened.await_released(size)
        root.close()


@scenario
def close_of_the_bridge() -> None:
    def end(opened: Source, recorder: TestSubscriber[Any]) -> None:
        assert opened.bridge.close()
        recorder.await_error(LinkClosed)
        assert recorder.elements[0].column(0)[5].as_py() == 5

    release_after(end)


@scenario
def broken_link() -> None:
    def end(opened: Source, recorder: TestSubscriber[Any]) -> None:
        opened.bridge._connection._shut()
        recorder.await_error(LinkBroken)

    release_after(end)


def end_while_batches_wait(end: Callable[[jvm.Bridge], object], expected: type[BaseException]) -> None:
    """End the link while ``on_next`` blocks. The JVM releases the batches that wait to be decoded."""
    with source() as opened:
        root = opened.root()
        size = opened.allocated
        entered, leave = threading.Event(), threading.Event()

        def blocks(subscriber: TestSubscriber[Any], batch: Any) -> None:
            entered.set()
            leave.wait(DEADLINE)

        recorder: TestSubscriber[Any] = TestSubscriber(None, on_element=blocks, timeout=DEADLINE)
        sink = jpype.JClass("reactor.core.publisher.Sinks").many().unicast().onBackpressureBuffer()
        opened.bridge.from_jvm(sink.asFlux(), convert="shared").subscribe(recorder)
        sink.tryEmitNext(root)
        assert entered.wait(DEADLINE)
        session = opened.bridge._session
        sink.tryEmitNext(root)
        eventually(lambda: [each.received for each in list(session.streams.values())] == [2])
        end(opened.bridge)
        eventually(lambda: not session.open and opened.bridge._control.stats()["handles_owned"] == 0)
        leave.set()
        error = recorder.await_error()
        assert type(error) is expected, repr(error)
        recorder.elements.clear()
        del recorder
        opened.await_released(size)
        root.close()


@scenario
def close_while_batches_wait() -> None:
    end_while_batches_wait(lambda bridge: bridge.close(0.0), LinkClosed)


@scenario
def link_that_breaks_while_batches_wait() -> None:
    end_while_batches_wait(lambda bridge: bridge._connection._shut(), LinkBroken)


@scenario
def element_that_fails_after_a_batch() -> None:
    with source() as opened:
        root = opened.root()
        cycle = jpype.JClass("java.util.ArrayList")()
        cycle.add(root)
        cycle.add(cycle)
        recorder = recording(3)
        opened.bridge.from_jvm(opened.flux.just(cycle), convert="shared").subscribe(recorder)
        recorder.await_error(JavaError)
        root.close()
        opened.await_released()


@jpype.JImplements("org.apache.arrow.memory.AllocationListener", deferred=True)
class ThrowingListener:
    """Throws when memory is released after ``armed`` is set."""

    def __init__(self) -> None:
        self.armed = threading.Event()
        self.thrown = threading.Event()

    @jpype.JOverride
    def onPreAllocation(self, size: int) -> None:
        pass

    @jpype.JOverride
    def onAllocation(self, size: int) -> None:
        pass

    @jpype.JOverride
    def onRelease(self, size: int) -> None:
        if self.armed.is_set():
            self.thrown.set()
            raise jpype.JClass("java.lang.IllegalStateException")("a broken listener")

    @jpype.JOverride
    def onFailedAllocation(self, size: int, outcome: Any) -> bool:
        return False

    @jpype.JOverride
    def onChildAdded(self, parent: Any, child: Any) -> None:
        pass

    @jpype.JOverride
    def onChildRemoved(self, parent: Any, child: Any) -> None:
        pass


@scenario
def link_survives_a_listener_that_throws() -> None:
    opened, listener = Source(), ThrowingListener()
    opened.allocator = jpype.JClass("org.apache.arrow.memory.RootAllocator")(listener, 1 << 32)
    root, recorder = opened.root(), recording(3)
    opened.bridge.from_jvm(opened.repeated(root, 1_000), convert="shared").subscribe(recorder)
    recorder.await_count(3)
    listener.armed.set()
    recorder.cancel()
    recorder.elements.clear()
    collected(listener.thrown.is_set)
    assert opened.bridge.from_jvm(opened.flux.range(0, 3)).collect(timeout=DEADLINE) == [0, 1, 2]
    assert opened.bridge.close(DEADLINE)
    eventually(lambda: opened.bridge._control.stats()["threads"] == 0, "threads of the link are left in the JVM")
    listener.armed.clear()


@scenario
def dictionary_vectors_are_refused() -> None:
    with source() as opened:
        text = jpype.JClass("org.apache.arrow.vector.VarCharVector")("text", opened.allocator)
        text.allocateNew(1)
        text.setSafe(0, jpype.JArray(jpype.JByte)(b"a"))
        text.setValueCount(1)
        encoding = jpype.JClass("org.apache.arrow.vector.types.pojo.DictionaryEncoding")(1, False, None)
        dictionary = jpype.JClass("org.apache.arrow.vector.dictionary.Dictionary")(text, encoding)
        encoder = jpype.JClass("org.apache.arrow.vector.dictionary.DictionaryEncoder")
        root = jpype.JClass("org.apache.arrow.vector.VectorSchemaRoot").of(encoder.encode(text, dictionary))
        for convert in (None, "shared"):
            recorder = recording(1)
            opened.bridge.from_jvm(opened.flux.just(root), convert=convert).subscribe(recorder)
            assert "decode them first" in str(recorder.await_error(JavaError))
        root.close()
        text.close()


@scenario
def batches_inside_a_list() -> None:
    with source() as opened:
        root = opened.root()
        roots = jpype.JClass("java.util.ArrayList")()
        roots.add(root)
        roots.add(root)
        (pair,) = opened.bridge.from_jvm(opened.flux.just(roots), convert="shared").to_iterable(timeout=DEADLINE)
        assert pair[0].equals(pair[1])
        root.close()
        pair.clear()
        opened.await_released()


@scenario
def forged_handles_are_refused() -> None:
    with source() as opened:
        control = opened.bridge._references.control
        array, schema = ctypes.create_string_buffer(80), ctypes.create_string_buffer(72)
        addresses = (ctypes.addressof(array), ctypes.addressof(schema))
        exported = control.export(opened.flux.just(jpype.JClass("java.lang.Integer")(1)))
        for handle in (1 << 40, exported):
            try:
                control.move_batch(handle, *addresses)
            except JavaError as refused:
                assert str(handle) in str(refused)
            else:
                raise AssertionError(f"handle {handle} was accepted")
        assert bytes(array) == bytes(80) and bytes(schema) == bytes(72)
        try:
            control._call("shareMemory", 1)
        except JavaError as refused:
            assert "not the process of this JVM" in str(refused)
        else:
            raise AssertionError("another process was accepted")


@scenario
def batch_is_moved_once() -> None:
    with source() as opened:
        root = opened.root()
        references = opened.bridge._references
        moved: list[str] = []
        real = references.control.move_batch

        def twice(handle: int, array: int, schema: int) -> None:
            real(handle, array, schema)
            try:
                real(handle, array, schema)
            except JavaError as refused:
                moved.append(str(refused))

        references.control.move_batch = twice
        (batch,) = opened.bridge.from_jvm(opened.flux.just(root), convert="shared").to_iterable(timeout=DEADLINE)
        assert "received or released before" in moved[0]
        assert batch.num_rows == ROWS
        root.close()
        del batch


@scenario
def failed_import_releases_the_batch() -> None:
    with source() as opened:
        root = opened.root()
        references = opened.bridge._references
        real = references.control.move_batch

        def interrupted(handle: int, array: int, schema: int) -> None:
            real(handle, array, schema)
            raise ConversionError("after the move")

        references.control.move_batch = interrupted
        recorder = recording(3)
        opened.bridge.from_jvm(opened.flux.just(root), convert="shared").subscribe(recorder)
        recorder.await_error(ConversionError)
        root.close()
        opened.await_released()


@scenario
def batch_outlives_its_bridge_until_the_process_ends() -> None:
    opened = Source()
    KEPT.append(opened.bridge.from_jvm(opened.flux.just(opened.root()), convert="shared").first().block(DEADLINE))
    opened.bridge.close()


def main() -> None:
    jars = [*(LIBRARIES / "arrow").glob("*.jar"), *LIBRARIES.glob("react*.jar")]
    results: dict[str, str | None] = {}
    with jvm.launch(jars, ["--add-opens=java.base/java.nio=ALL-UNNAMED"]):
        for name in sys.argv[1:] or SCENARIOS:
            try:
                SCENARIOS[name]()
                results[name] = None
            except BaseException:
                results[name] = traceback.format_exc()
    print(json.dumps(results))


if __name__ == "__main__":
    main()
