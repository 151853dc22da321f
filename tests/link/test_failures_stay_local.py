"""A value, an error or a ``subscribe`` that fails ends only its own call or stream, and leaves no table entry."""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import msgpack
import pytest
from interleaving import signals
from plain_session import LinkSession, assert_lives

import pyrs
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import ConversionError, LinkClosed, NullSignal, ProtocolError
from pyrs.jvm.java_objects import ObjectKind
from pyrs.jvm.link import batches, outbound
from pyrs.jvm.link import session as session_module
from pyrs.jvm.link.frames import CREDIT, Frame, FrameType
from pyrs.jvm.link.inbound import InboundStream
from pyrs.jvm.link.session import Session
from pyrs.testing import TestSubscriber
from tests.core.support import RecordingSubscription
from tests.interrupts import Raising
from tests.waiting import recording

DATE_BEYOND_PYTHON = msgpack.packb(msgpack.ExtType(3, struct.pack(">q", 10**9)))
UNCONVERTIBLE = {
    "a date beyond year 9999": DATE_BEYOND_PYTHON,
    "an unknown time zone": msgpack.packb(msgpack.ExtType(6, struct.pack(">qii", 0, 0, 0) + b"Mars/Olympus")),
    "a map in a set": msgpack.packb(msgpack.ExtType(9, msgpack.packb([{1: 2}]))),
    "a list as a key": b"\x81\x91\x01\x02",
    "a list nested too deep": b"\x91" * 2_000 + b"\x01",
    "a date nested 511 deep": b"\x91" * 511 + DATE_BEYOND_PYTHON,
    "an unknown handle": msgpack.packb(msgpack.ExtType(17, struct.pack(">BQ", 0, 99))),
}
values = pytest.mark.parametrize("value", UNCONVERTIBLE.values(), ids=UNCONVERTIBLE.keys())


@values
def test_an_unreadable_argument_fails_its_call(session: LinkSession, other: TestSubscriber[Any], value: bytes) -> None:
    called: list[object] = []
    handle = session.handles.own(called.append)
    session.receive(Frame(FrameType.CALL, 5, b"\x92" + msgpack.packb(handle) + b"\x91" + value))
    (reply,) = session.sent
    succeeded, error = session.read(reply)
    assert (reply.type, reply.id, succeeded) == (FrameType.RETURN, 5, False)
    assert error[2].startswith("pyrs.errors.")
    assert not called
    assert_lives(session, other)


@values
def test_an_unreadable_result_fails_its_call(session: LinkSession, other: TestSubscriber[Any], value: bytes) -> None:
    def answers(task: Callable[[], None]) -> None:
        session.receive(Frame(FrameType.RETURN, 1, b"\x92\xc3" + value))

    session.outbox._send = answers  # type: ignore[assignment]
    session.outbox.control(b"")
    with pytest.raises((ConversionError, ProtocolError)):
        session.call(9, [])
    assert not session._calls
    assert_lives(session, other)


class Row(NamedTuple):
    at: object


class Page(list[Any]):
    pass


@pytest.mark.parametrize(
    "result",
    [
        msgpack.Timestamp(1),
        [{"at": msgpack.ExtType(99, b"")}],
        Row(msgpack.Timestamp(1)),
        Page([OrderedDict(at=(msgpack.ExtType(99, b""),))]),
    ],
    ids=repr,
)
def test_a_result_of_a_msgpack_type_fails_its_call(
    session: LinkSession, other: TestSubscriber[Any], result: object
) -> None:
    """The peer ends the link for an extension type that it does not know."""
    exported = object()
    handle = session.handles.own(lambda: [exported, result])
    session.receive(Frame(FrameType.CALL, 5, b"\x92" + msgpack.packb(handle) + b"\x90"))
    (reply,) = session.sent
    succeeded, error = session.read(reply)
    assert (succeeded, error[2]) == (False, "pyrs.errors.ConversionError")
    assert len(session.handles) == 1  # without the exported object of the refused result
    assert_lives(session, other)


@values
def test_an_unreadable_element_fails_its_stream(session: LinkSession, other: TestSubscriber[Any], value: bytes) -> None:
    recorder = recording(1_000)
    session.subscribe(8, recorder)
    session.receive(Frame(FrameType.NEXT, 3, b"\x91" + value))
    assert isinstance(recorder.await_error(), (ConversionError, ProtocolError))
    assert [FrameType(each.type).name for each in session.sent][-1] == "CANCEL"
    assert_lives(session, other)
    assert list(session.streams) == [1]


def test_a_shared_batch_of_another_process_is_malformed(session: LinkSession, other: TestSubscriber[Any]) -> None:
    """Only a JVM of the same process shares its memory; see tests/jpype/test_shared_batches.py."""
    batch = msgpack.packb(msgpack.ExtType(16, struct.pack(">BQ", 7, id(other))))
    recorder = recording(1_000)
    session.subscribe(8, recorder)
    session.receive(Frame(FrameType.NEXT, 3, b"\x91" + batch))
    assert "there is no kind 7" in str(recorder.await_error(ProtocolError))
    assert_lives(session, other)
    with pytest.raises(ProtocolError, match=r"malformed CALL.*there is no kind 7"):
        session.receive(Frame(FrameType.CALL, 5, b"\x92\x01\x91" + batch))


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("rows", [1, 10_000])
def test_an_arrow_stream_without_exactly_one_batch_fails_its_stream(
    session: LinkSession, other: TestSubscriber[Any], count: int, rows: int
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    batch = pyarrow.record_batch({"a": list(range(rows))})
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, batch.schema) as writer:
        for _ in range(count):
            writer.write_batch(batch)
    recorder = recording(1_000)
    session.subscribe(8, recorder)
    element = msgpack.packb(msgpack.ExtType(10, bytes(sink.getvalue())))
    session.receive(Frame(FrameType.NEXT, 3, b"\x91" + element))
    assert f"holds {count} batches" in str(recorder.await_error(ConversionError))
    assert recorder.elements == []
    assert_lives(session, other)


@values
def test_an_unreadable_option_fails_its_subscription(
    session: LinkSession, other: TestSubscriber[Any], value: bytes
) -> None:
    handle = session.handles.own(pyrs.just(1))
    session.receive(Frame(FrameType.SUBSCRIBE, 2, b"\x92" + msgpack.packb(handle) + b"\x81\xa1x" + value))
    assert [each.type for each in session.sent] == [FrameType.ERROR]
    assert_lives(session, other)
    assert list(session.streams) == [1]


@values
def test_an_unreadable_option_of_on_subscribe_fails_its_stream(
    session: LinkSession, other: TestSubscriber[Any], value: bytes
) -> None:
    subscriber = recording(1_000)
    handle = session.handles.own(subscriber)
    session.receive(Frame(FrameType.ON_SUBSCRIBE, 2, b"\x92" + msgpack.packb(handle) + b"\x81\xa1x" + value))
    assert next(each.type for each in session.sent if each.id == 2) == FrameType.CANCEL
    assert_lives(session, other)
    assert list(session.streams) == [1]


def test_an_option_that_cannot_be_encoded_fails_its_subscription(
    session: LinkSession, other: TestSubscriber[Any]
) -> None:
    recorder = recording(1_000)
    sent = len(session.sent)
    session.subscribe(8, recorder, options={"exact": True, "convert": {"a.B": "\ud800"}})
    assert "the option 'convert' of a subscription: a dict cannot" in str(recorder.await_error(ConversionError))
    assert len(session.sent) == sent, "the peer does not know the stream"
    assert list(session.streams) == [1]
    assert_lives(session, other)


def test_a_cancel_of_a_stream_that_was_not_opened_sends_nothing(
    session: LinkSession, other: TestSubscriber[Any]
) -> None:
    class Cancelling(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Subscription, /) -> None:
            subscription.cancel()

    sent = len(session.sent)
    session.subscribe(8, Cancelling(), options={"convert": "\ud800"})
    assert len(session.sent) == sent
    assert list(session.streams) == [1]


@pytest.mark.parametrize(
    ("value", "named"), [({"a": "\ud800"}, "a dict"), ("\ud800", "a str"), ([["\ud800"]], "a list")]
)
def test_the_error_of_an_entry_of_a_frame_names_the_entry(session: LinkSession, value: object, named: str) -> None:
    with pytest.raises(ConversionError, match=f"^{named} cannot be converted to Java: a str has a lone surrogate"):
        session.codec.encode([True, object(), value])
    assert not len(session.handles)


def test_options_beyond_one_frame_fail_their_subscription(session: LinkSession, other: TestSubscriber[Any]) -> None:
    """SUBSCRIBE is never fragmented, and the peer ends the link at a frame that is too long."""
    recorder = recording(1_000)
    session.subscribe(8, recorder, options={"convert": {f"org.example.C{n}": "values" for n in range(9_000)}})
    recorder.await_error(ConversionError)
    assert FrameType.SUBSCRIBE not in [each.type for each in session.sent]
    assert list(session.streams) == [1]
    assert_lives(session, other)


def test_an_argument_that_cannot_be_encoded_leaves_no_pending_call(session: LinkSession) -> None:
    with pytest.raises(ConversionError):
        session.call(9, ["\ud800"])
    assert not session._calls


class TestMessagesBeyondTheLimit:
    @pytest.fixture(autouse=True)
    def limit(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in (batches, outbound, session_module):
            monkeypatch.setattr(module, "MAX_MESSAGE", 100_000)

    def sent(self, session: LinkSession, *elements: Any) -> list[Any]:
        """Return the batches that a stream of the elements sends, or the class of its error.

        The stream completes before the writer takes the elements.
        """
        handle = session.handles.own(pyrs.from_iterable(elements))
        session.receive(Frame(FrameType.SUBSCRIBE, 2, msgpack.packb([handle, {}])))
        with session.outbox._writing:
            session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(100)))
        session.outbox.write()
        return [
            session.read(each)[2] if each.type == FrameType.ERROR else session.read(each)
            for each in session.sent
            if each.id == 2
        ]

    @pytest.mark.parametrize("before", [[], ["a"], ["a"] * 50])
    @pytest.mark.parametrize("after", [[], ["b"]])
    def test_a_large_element_fails_its_stream_after_those_before_it(
        self, session: LinkSession, other: TestSubscriber[Any], before: list[str], after: list[str]
    ) -> None:
        kept = object()
        handles = len(session.handles)
        *elements, error = self.sent(session, *before, [kept, bytes(100_000)], *after, *[[kept]] * len(after))
        assert [element for batch in elements for element in batch] == before
        assert error == "pyrs.errors.ConversionError"
        assert len(session.handles) == handles + 1, "an object of a refused element is still exported"
        assert list(session.streams) == [1]
        assert_lives(session, other)

    def test_a_large_element_is_refused_again_after_an_error_of_the_stack(
        self, session: LinkSession, other: TestSubscriber[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        encode_error, errors = session.codec.encode_error, [RecursionError()]

        def failing(error: BaseException) -> bytes:
            if errors:
                raise errors.pop()
            return encode_error(error)

        monkeypatch.setattr(session.codec, "encode_error", failing)
        with pytest.raises(RecursionError):
            self.sent(session, "a", bytes(100_000), "b")
        session.outbox.write()
        *batches, error = [session.read(each) for each in session.sent if each.id == 2]
        assert batches == [["a"]] and error[2] == "pyrs.errors.ConversionError"

    def test_a_large_argument_fails_its_call(self, session: LinkSession, other: TestSubscriber[Any]) -> None:
        with pytest.raises(ConversionError, match="too large"):
            session.call(9, [object(), bytes(100_000)])
        assert not session._calls and not session.sent and not len(session.handles)
        assert_lives(session, other)

    def test_a_large_result_fails_its_call(self, session: LinkSession, other: TestSubscriber[Any]) -> None:
        handle = session.handles.own(lambda: [object(), bytes(100_000)])
        session.receive(Frame(FrameType.CALL, 1, msgpack.packb([handle, []])))
        (message,) = session.sent
        succeeded, _ = session.read(message)
        assert message.type == FrameType.RETURN and not succeeded
        assert len(session.handles) == 1
        assert_lives(session, other)


class Broken(Exception):
    """Raises from ``__cause__``, ``__traceback__`` and ``__str__``."""

    @property
    def __cause__(self) -> BaseException:  # type: ignore[override]
        raise RuntimeError("no cause")

    @property
    def __traceback__(self) -> Any:  # type: ignore[override]
        raise SystemExit(3)

    def __str__(self) -> str:
        raise RuntimeError("no text")


class TextCause(Exception):
    __cause__ = "a text"  # type: ignore[assignment]


class SignalsOnce(Publisher[Any]):
    """Sends one signal, which must end the stream."""

    def __init__(self, signal: Callable[[Subscriber[Any]], None]) -> None:
        self.signal = signal
        self.cancels = 0
        self.raised: BaseException | None = None

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        publisher = self

        class Upstream(Subscription):
            def request(self, n: int, /) -> None:
                try:
                    publisher.signal(subscriber)
                except BaseException as error:
                    publisher.raised = error

            def cancel(self) -> None:
                publisher.cancels += 1

        subscriber.on_subscribe(Upstream())


@pytest.mark.parametrize(
    ("given", "name"),
    [
        (None, "NullSignal"),
        ("text", "TypeError"),
        (ValueError, "TypeError"),
        (Broken("x"), "Broken"),
        (TextCause("x"), "TextCause"),
    ],
)
def test_any_argument_of_on_error_becomes_a_terminal_signal(session: LinkSession, given: Any, name: str) -> None:
    publisher = SignalsOnce(lambda subscriber: subscriber.on_error(given))
    handle = session.handles.own(publisher)
    session.receive(Frame(FrameType.SUBSCRIBE, 2, msgpack.packb([handle, {}])))
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(1)))
    (message,) = session.sent
    assert message.type == FrameType.ERROR
    assert session.read(message)[2].endswith(name)
    assert isinstance(publisher.raised, NullSignal) == (given is None)
    assert not session.streams


class Items(dict[Any, Any]):
    def items(self) -> Any:
        raise Broken("x")


class Interrupting(dict[Any, Any]):
    def items(self) -> Any:
        raise KeyboardInterrupt


@pytest.mark.parametrize("element", [[Items()], [Interrupting()], [object(), Items()], [object(), Interrupting()]])
def test_an_element_whose_methods_raise_fails_its_stream(session: LinkSession, element: list[object]) -> None:
    publisher = SignalsOnce(lambda subscriber: subscriber.on_next(element))
    handle = session.handles.own(publisher)
    session.receive(Frame(FrameType.SUBSCRIBE, 2, msgpack.packb([handle, {}])))
    session.receive(Frame(FrameType.REQUEST, 2, CREDIT.pack(1)))
    (message,) = session.sent
    assert message.type == FrameType.ERROR
    assert publisher.cancels == 1
    assert isinstance(publisher.raised, KeyboardInterrupt) == isinstance(element[-1], Interrupting)
    assert not session.streams
    assert len(session.handles) == 1, "an object of the refused element is still exported"


class Other(tuple[Any, ...]):
    """Yields the next of its objects at each iteration, and then a value that cannot be converted to Java."""

    def __new__(cls, *objects: object) -> Other:
        self = super().__new__(cls)
        self.objects = list(objects)
        return self

    def __iter__(self) -> Iterator[Any]:
        return iter([self.objects.pop(0), Decimal("NaN")])


def test_a_rejected_value_releases_only_its_own_references(session: LinkSession) -> None:
    first, second = object(), object()
    handle = session.handles.own(second)
    with pytest.raises(ConversionError):
        session.codec.encode(Other(first, second))
    assert len(session.handles) == 1
    assert session.handles.find(handle) == (second, None)


class TestMalformedFrames:
    @pytest.mark.parametrize("identifier", [1, 77])
    def test_a_malformed_batch_ends_the_link_whichever_stream_it_names(
        self, session: LinkSession, other: TestSubscriber[Any], identifier: int
    ) -> None:
        with pytest.raises(ProtocolError, match="NEXT"):
            session.receive(Frame(FrameType.NEXT, identifier, b"\x01"))

    def test_a_malformed_batch_ends_the_link_also_after_a_cancel(
        self, session: LinkSession, other: TestSubscriber[Any]
    ) -> None:
        stream = session.streams[1]
        assert isinstance(stream, InboundStream)
        stream._cancelled = True
        with pytest.raises(ProtocolError, match="NEXT"):
            session.receive(Frame(FrameType.NEXT, 1, b"\x01"))

    def test_a_null_fails_its_stream(self, session: LinkSession, other: TestSubscriber[Any]) -> None:
        session.receive(Frame(FrameType.NEXT, 1, b"\x93\x01\xc0\x02"))
        assert signals(other) == [1, "NullSignal"]

    def test_msgpacks_timestamp_in_a_call_ends_the_link(self, session: LinkSession) -> None:
        body = msgpack.packb([0, [msgpack.Timestamp(1, 0)]])
        with pytest.raises(ProtocolError, match="extension type -1"):
            session.receive(Frame(FrameType.CALL, 1, body))


@pytest.mark.parametrize("demand", [7, 1_000])
def test_an_on_next_that_raises_counts_as_delivered(session: LinkSession, demand: int) -> None:
    class Raises(TestSubscriber[Any]):
        def on_subscribe(self, subscription: Subscription) -> None:
            subscription.request(demand)

        def on_next(self, element: Any) -> None:
            if element == 5:
                raise RuntimeError("x")

    session.subscribe(7, Raises())
    session.receive(Frame(FrameType.NEXT, 1, msgpack.packb(list(range(16)))))
    assert (session.elements_in, session.dropped) == (6, 10)
    assert not session.streams


class Silent(Publisher[Any]):
    """Never calls on_subscribe."""

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        pass


class TestTheStreamTable:
    def test_a_cancel_before_on_subscribe_removes_the_stream(self, session: LinkSession) -> None:
        handle = session.handles.own(Silent())
        session.receive(Frame(FrameType.SUBSCRIBE, 2, msgpack.packb([handle, {}])))
        assert list(session.streams) == [2]
        session.receive(Frame(FrameType.CANCEL, 2, b""))
        assert not session.streams

    @pytest.mark.parametrize("opens", [Session.subscribe, Session.subscribe_peer])
    def test_a_subscribe_that_is_interrupted_at_any_line_leaves_no_stream(self, opens: Any) -> None:
        line = 0
        while True:
            line += 1
            session = LinkSession()
            recorder = recording(1_000)
            arguments = (7, recorder) if opens is Session.subscribe else (7,)
            with Raising((opens, Session._register, InboundStream.start), line) as raising:
                try:
                    stream = opens(session, *arguments)
                except KeyboardInterrupt:
                    assert not session.streams, raising.place
                    continue
            assert not raising.reached
            assert line > 10
            del stream
            return

    def test_a_link_that_ends_during_subscribe_keeps_no_stream_and_no_call(self, session: LinkSession) -> None:
        recorder = recording(1_000)
        encode = session.codec.encode

        def ends(value: object) -> bytes:
            session.lost(LinkClosed("closed"))
            return encode(value)

        session.codec.encode = ends  # type: ignore[method-assign]
        session.subscribe(7, recorder)
        recorder.await_error(LinkClosed)
        with pytest.raises(LinkClosed):
            session.call(7)
        assert not session.streams
        assert not session._calls


def test_a_subscriber_of_an_ended_link_cancels_its_subscription(session: LinkSession) -> None:
    subscriber: Any = session.codec.remote(ObjectKind.SUBSCRIBER, 9)
    session.lost(LinkClosed("closed"))
    subscription = RecordingSubscription()
    with pytest.raises(LinkClosed):
        subscriber.on_subscribe(subscription)
    assert subscription.cancelled == 1


def test_a_returned_object_that_arrived_before_the_end_of_the_link_is_delivered(session: LinkSession) -> None:
    """A Subscriber receives the requested elements that arrived, then the error of the link."""
    exported = object()
    handle = session.handles.own(exported)
    body = b"\x91" + msgpack.packb(msgpack.ExtType(17, struct.pack(">BQ", 0, handle)))

    def first(subscriber: TestSubscriber[Any], element: object) -> None:
        if element == "first":
            session.receive(Frame(FrameType.NEXT_HOME, 1, body))
            session.lost(LinkClosed("closed"))

    recorder: TestSubscriber[Any] = TestSubscriber(10, on_element=first)
    session.subscribe(7, recorder)
    session.receive(Frame(FrameType.NEXT, 1, b"\x91\xa5first"))
    assert recorder.elements == ["first", exported]
    assert isinstance(recorder.await_error(), LinkClosed)
    assert len(session.handles) == 0


class LooksUp(TestSubscriber[Any]):
    """Has a ``__getattr__`` that raises another error than AttributeError, like a class that wraps a dict."""

    def __getattr__(self, name: str) -> Any:
        return {}[name]


class Exits(TestSubscriber[Any]):
    """Has a ``__getattr__`` that raises an error that is not an Exception."""

    def __getattr__(self, name: str) -> Any:
        raise SystemExit(name)


class Disappears(TestSubscriber[Any]):
    """Raises ValueError when its attribute ``on_subscribe`` is read."""

    def __getattribute__(self, name: str) -> Any:
        if name == "on_subscribe":
            raise ValueError("gone")
        return super().__getattribute__(name)


class Recording(TestSubscriber[Any]):
    """Records the calls of its ``__getattr__``, which might block."""

    looked_up = 0

    def __getattr__(self, name: str) -> Any:
        type(self).looked_up += 1
        raise AttributeError(name)


class TestAttributesOfSubscribers:
    """The reader of the link must not read attributes of Subscribers, because an error on its thread ends the link."""

    @pytest.mark.parametrize("opened_by", ["Python", "the JVM"])
    @pytest.mark.parametrize("kind", [LooksUp, Exits])
    def test_a_getattr_that_raises_another_error_is_harmless(
        self, session: LinkSession, other: TestSubscriber[Any], opened_by: str, kind: type[TestSubscriber[Any]]
    ) -> None:
        subscriber = kind(1_000)
        identifier = 3 if opened_by == "Python" else 2
        if opened_by == "Python":
            session.subscribe(8, subscriber)
        else:
            handle = session.handles.own(subscriber)
            session.receive(Frame(FrameType.ON_SUBSCRIBE, identifier, msgpack.packb([handle, {}])))
        session.receive(Frame(FrameType.NEXT, identifier, b"\x91\x07"))
        assert subscriber.elements == [7]
        assert_lives(session, other)

    @pytest.mark.parametrize("target", [Disappears(1_000), object()])
    def test_an_object_without_on_subscribe_cancels_its_stream(
        self, session: LinkSession, other: TestSubscriber[Any], target: object
    ) -> None:
        handle = session.handles.own(target)
        session.receive(Frame(FrameType.ON_SUBSCRIBE, 2, msgpack.packb([handle, {}])))
        assert [each.type for each in session.sent if each.id == 2] == [FrameType.CANCEL]
        assert list(session.streams) == [1]
        assert_lives(session, other)

    def test_attributes_are_read_by_a_worker(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A ``__getattr__`` that blocks must not stop the other streams of the link."""
        monkeypatch.setattr(Recording, "looked_up", 0)
        session, subscriber, tasks = LinkSession(), Recording(10), list[Any]()
        session.execute = tasks.append
        handle = session.handles.own(subscriber)
        session.receive(Frame(FrameType.ON_SUBSCRIBE, 2, msgpack.packb([handle, {}])))
        assert Recording.looked_up == 0, "the reader has read an attribute"
        for task in tasks:
            task()
        assert Recording.looked_up > 0
        assert subscriber.subscription is not None
