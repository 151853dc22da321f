"""The option "context" of SUBSCRIBE, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextvars import ContextVar, copy_context
from typing import Any

import pytest
from plain_session import PlainSession

import pyrs
from pyrs import jvm
from pyrs.jvm import context
from pyrs.jvm.link.frames import Frame, FrameType
from pyrs.testing import TestSubscriber

USER: ContextVar[Any] = ContextVar("tests.link.user")
jvm.register_context(USER, "the user")


def subscribed(options: object) -> list[str]:
    """Subscribe from the peer with these options, and return the values that the stream's function reads."""
    session, seen = PlainSession(), []

    def see(n: int) -> int:
        seen.append(USER.get("none"))
        return n

    handle = session.handles.own(pyrs.range(3).map(see))
    session.receive(Frame(FrameType.SUBSCRIBE, 2, session.codec.encode([handle, options])))
    session.receive(Frame(FrameType.REQUEST, 2, (3).to_bytes(8, "big")))
    return seen


def test_requests_of_the_peer_run_in_its_context() -> None:
    assert subscribed({"context": {"the user": "ada", "unknown": "ignored"}}) == ["ada"] * 3


@pytest.mark.parametrize("entries", [None, 7, [], {}, {"the user": 7}, {7: "ada"}])
def test_malformed_entries_are_ignored(entries: object) -> None:
    assert subscribed({"context": entries}) == ["none"] * 3


def test_value_that_is_not_a_string_fails_the_stream() -> None:
    session, subscriber = PlainSession(), TestSubscriber[Any](1)

    def subscribe() -> None:
        USER.set(7)
        session.subscribe(7, subscriber)

    copy_context().run(subscribe)
    assert "only strings cross the bridge" in str(subscriber.await_error())


def raise_error(*arguments: object) -> dict[str, str]:
    raise RuntimeError("a broken carrier")


@pytest.fixture
def dropped(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Register functions that raise, and return the messages of dropped errors."""
    monkeypatch.setattr(context, "_carriers", [])
    context.add_carrier(raise_error, raise_error)
    messages: list[str] = []
    before = pyrs.set_error_hook(lambda error, where: messages.append(f"{error}: {where}"))
    yield messages
    pyrs.set_error_hook(before)


def test_error_of_an_extract_function_is_reported_and_the_stream_continues(dropped: list[str]) -> None:
    assert subscribed({"context": {"the user": "ada"}}) == ["ada"] * 3
    assert dropped == ["a broken carrier: raised by a function that reads the context entries of a subscription"]


def test_error_of_an_inject_function_is_reported_and_the_stream_is_opened(dropped: list[str]) -> None:
    session = PlainSession()

    def subscribe() -> None:
        USER.set("ada")
        session.subscribe(7, TestSubscriber[Any](1))

    copy_context().run(subscribe)
    assert session.codec.decode(session.sent[0].body) == [7, {"context": {"the user": "ada"}}]
    assert dropped == ["a broken carrier: raised by a function that adds context entries to a subscription"]


def test_registration_needs_a_variable_and_a_free_name() -> None:
    jvm.register_context(USER, "the user")
    with pytest.raises(ValueError, match="another context variable is registered as 'the user'"):
        jvm.register_context(ContextVar("other"), "the user")
    with pytest.raises(TypeError, match=r"must be a contextvars\.ContextVar, not str"):
        jvm.register_context("user")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="name must be a string, not int"):
        jvm.register_context(USER, 7)  # type: ignore[arg-type]


def test_variable_may_be_registered_during_a_subscription(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(context, "_variables", dict(context._variables))

    class Registers:
        """Registers a variable while the entries are collected, like another thread."""

        @property
        def __class__(self) -> type:  # type: ignore[override]
            jvm.register_context(ContextVar("late"))
            return str

    def subscribe() -> dict[str, str]:
        USER.set(Registers())
        return context.collect_entries()

    assert list(copy_context().run(subscribe)) == ["the user"]
