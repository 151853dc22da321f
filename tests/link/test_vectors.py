"""The Python side behaves as the shared test vectors specify."""

from __future__ import annotations

import json
from collections import deque
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import Any

import pytest
from plain_session import PlainSession, frames_of

from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import ProtocolError
from pyrs.jvm import register_context
from pyrs.jvm.link.frames import MORE, FrameDecoder, Message, frame
from pyrs.jvm.link.handshake import proof
from pyrs.jvm.link.window import Window

VECTORS = Path(__file__).parent.parent / "vectors"
HANDLE = 7
USER: ContextVar[str] = ContextVar("tests.user")
register_context(USER)


def vectors(name: str) -> list[Any]:
    entries = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))
    assert entries, f"{name}.json is empty"
    return [pytest.param(entry, id=entry["name"].replace(" ", "-")) for entry in entries]


@pytest.mark.parametrize("vector", vectors("frames"))
@pytest.mark.parametrize("cut", [1, 7, 1 << 20])
def test_frames_are_decoded_as_recorded(vector: dict[str, Any], cut: int) -> None:
    raw = bytes.fromhex(vector["hex"])
    decoder = FrameDecoder()
    messages = []

    def feed() -> None:
        for start in range(0, len(raw), cut):
            messages.extend(decoder.feed(raw[start : start + cut]))

    if "malformed" in vector:
        with pytest.raises(ProtocolError, match=vector["malformed"]):
            feed()
            decoder.feed(b"")  # raises an error behind complete frames
    else:
        feed()
    assert [(m.type, m.id, m.body.hex()) for m in messages] == [
        (f["type"], f["id"], f["body"]) for f in vector.get("frames", [])
    ]
    if "malformed" in vector:
        return
    assert decoder.pending == vector["pending"]
    if not vector["pending"] and not (raw and raw[4] & MORE):
        assert b"".join(frame(m.type, m.id, m.body) for m in messages) == raw


@pytest.mark.parametrize("size", [0, 1, 65_535, 65_536, 65_537, 131_072, 131_073, 1_000_000])
def test_a_body_of_any_size_crosses_in_fragments(size: int) -> None:
    body = bytes(i % 251 for i in range(size))
    decoder = FrameDecoder()
    cut = [*frames_of(Message(7, 3, body))]
    assert len(cut) == max(1, -(-size // 65_536))
    messages = [message for part in cut for message in decoder.feed(part)]
    assert [(7, 3, body)] == [tuple(message) for message in messages]


@pytest.mark.parametrize("vector", vectors("handshake"))
def test_proofs_equal_those_of_the_vectors(vector: dict[str, str]) -> None:
    token, nonce_j, nonce_p = (bytes.fromhex(vector[key]) for key in ("token", "nonce_j", "nonce_p"))
    assert proof(token, b"pyrs 1 dial", nonce_j, nonce_p).hex() == vector["dial_proof"]
    assert proof(token, b"pyrs 1 listen", nonce_j, nonce_p).hex() == vector["listen_proof"]


@pytest.mark.parametrize("vector", vectors("window"))
def test_window_refills_as_recorded(vector: dict[str, Any]) -> None:
    window = Window(vector.get("max_prefetch", 4_096), exact=vector.get("exact", False))
    for number, step in enumerate(vector["steps"]):
        if "request" in step:
            window.request(step["request"])
        elif "deliver" in step:
            window.delivered += step["deliver"]
        elif "observe" in step:
            window.observe(*step["observe"])
        elif "empty" in step:
            window.ran_empty = True
        else:
            assert window.refill() == step["refill"], f"step {number} of {vector['name']}"


class Replay(Subscriber[Any], Publisher[Any], Subscription):
    """Acts as the user and as the upstream Publisher, and records what they receive."""

    def __init__(self, vector: dict[str, Any]) -> None:
        self.vector = vector
        self.session = PlainSession(vector.get("max_prefetch", 4_096))
        self.signals: deque[list[Any]] = deque()
        self.seen: deque[list[Any]] = deque()
        self.downstream: Subscriber[Any] | None = None
        self.subscription: Subscription | None = None
        self.stream = 2
        if vector["end"] == "publisher":
            while self.session.handles.own(object()) < HANDLE - 1:
                pass
            assert self.session.handles.own(self) == HANDLE

    # The recording Subscriber.

    def on_subscribe(self, subscription: Subscription) -> None:
        self.subscription = subscription
        self.signals.append(["on_subscribe"])

    def on_next(self, element: Any) -> None:
        self.signals.append(["on_next", element])

    def on_error(self, error: BaseException) -> None:
        self.signals.append(["on_error", str(error)])

    def on_complete(self) -> None:
        self.signals.append(["on_complete"])

    # The scripted Publisher and its Subscription.

    def subscribe(self, subscriber: Subscriber[Any]) -> None:
        self.downstream = subscriber
        user = USER.get(None)
        self.seen.append(["subscribe"] if user is None else ["subscribe", {USER.name: user}])

    def request(self, n: int) -> None:
        self.seen.append(["request", n])

    def cancel(self) -> None:
        self.seen.append(["cancel"])

    # The steps.

    def play(self) -> None:
        for number, step in enumerate([*self.vector["steps"], {"quiet": True}]):
            ((what, value), *more) = step.items()
            where = f"step {number}, {step}"
            getattr(self, f"_{what}")(value, dict(more), where)

    def _user(self, what: str, more: dict[str, Any], where: str) -> None:
        if what == "subscribe":
            context = copy_context()
            for value in more.get("context", {}).values():
                context.run(USER.set, value)
            context.run(self.session.subscribe, HANDLE, self, options={"exact": self.vector.get("exact", False)})
            self.stream = 1
        elif what == "request":
            assert self.subscription is not None
            self.subscription.request(more["n"])
        else:
            assert self.subscription is not None
            self.subscription.cancel()

    def _upstream(self, what: str, more: dict[str, Any], where: str) -> None:
        assert self.downstream is not None, where
        if what == "on_subscribe":
            self.downstream.on_subscribe(self)
        elif what == "on_next":
            self.downstream.on_next(more["value"])
        elif what == "on_complete":
            self.downstream.on_complete()
        else:
            self.downstream.on_error(ValueError(more["message"]))

    def _receive(self, step: list[Any], more: dict[str, Any], where: str) -> None:
        self.session.receive(self.session.step_as_frame(step, self.stream))

    def _lost(self, how: str, more: dict[str, Any], where: str) -> None:
        self.session.lost(self.session.broken("replay"))

    def _sent(self, expected: list[Any], more: dict[str, Any], where: str) -> None:
        assert self.session.sent, f"{where}: nothing was sent"
        self._matches(self.session.frame_as_step(self.session.sent.popleft()), expected, where)

    def _signal(self, expected: list[Any], more: dict[str, Any], where: str) -> None:
        assert self.signals, f"{where}: no signal arrived"
        self._matches(self.signals.popleft(), expected, where)

    def _upstream_sees(self, expected: list[Any], more: dict[str, Any], where: str) -> None:
        assert self.seen, f"{where}: upstream saw nothing"
        self._matches(self.seen.popleft(), expected, where)

    def _streams(self, count: int, more: dict[str, Any], where: str) -> None:
        assert len(self.session.streams) == count, where

    def _quiet(self, value: bool, more: dict[str, Any], where: str) -> None:
        sent = [self.session.frame_as_step(message) for message in self.session.sent]
        assert (sent, list(self.signals), list(self.seen)) == ([], [], []), where

    @staticmethod
    def _matches(seen: list[Any], expected: list[Any], where: str) -> None:
        if expected[0] in ("ERROR", "on_error"):
            assert seen[0] == expected[0] and expected[1] in seen[1], f"{where}: {seen}"
        else:
            assert seen == expected, where


@pytest.mark.parametrize("vector", vectors("conversations"))
def test_session_answers_as_recorded(vector: dict[str, Any]) -> None:
    Replay(vector).play()
