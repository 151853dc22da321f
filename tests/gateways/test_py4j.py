"""Commands to a simulated Py4J gateway, its answers and its failures."""

from __future__ import annotations

import enum
import gc
import logging
import os
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from py4j.protocol import EMPTY_RESPONSE, Py4JError, Py4JNetworkError, get_command_part

from pyrs.errors import ConversionError, JvmError, JvmUnavailable
from pyrs.jvm.gateways import py4j as carrier
from pyrs.jvm.gateways.control import Control
from pyrs.jvm.gateways.py4j import Py4JGateway, Py4JJava
from pyrs.jvm.gateways.shield import Shield


class FakeClient:
    """Answers each command with the next of the answers; an exception is raised."""

    converters = None
    is_connected = False  # a JavaObject that is collected sends nothing

    def __init__(self, *answers: str | Exception, address: str = "127.0.0.1", port: int = 25333) -> None:
        self.address, self.port = address, port
        self.gateway_parameters = SimpleNamespace(address=address, port=port, auto_field=False, auto_gc=True)
        self.gateway_property = SimpleNamespace(pool=None, auto_field=False, enable_memory_management=False)
        self.answers = list(answers)
        self.commands: list[str] = []

    def send_command(self, command: str) -> str:
        self.commands.append(command)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    def garbage_collect_object(self, target_id: str) -> None:
        pass


def gateway(client: FakeClient) -> Py4JGateway:
    return Py4JGateway(SimpleNamespace(_gateway_client=client))


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "127.0.1.1"])
def test_a_gateway_on_loopback_is_accepted(address: str) -> None:
    assert gateway(FakeClient(address=address)).describe() == f"Py4J SimpleNamespace at {address}:25333"


@pytest.mark.parametrize("address", ["10.0.0.7", "driver.example.org", "0.0.0.0", "fe80::1"])
def test_a_gateway_on_another_machine_is_refused(address: str) -> None:
    with pytest.raises(JvmUnavailable, match=f"{address}:25333, not on this machine's loopback"):
        gateway(FakeClient(address=address))


def test_the_address_of_a_client_server_is_read() -> None:
    client: Any = FakeClient()
    client.java_parameters = SimpleNamespace(address="10.1.2.3", port=1)
    with pytest.raises(JvmUnavailable, match=r"10\.1\.2\.3:1"):
        gateway(client)


def test_a_call_sends_one_command() -> None:
    client: Any = FakeClient("yL1099511627776")
    assert Py4JJava(client).call(JavaObject("o7", client), "export", 1, None, True, 2**40, "a\nb") == 2**40
    assert client.commands == ["c\no7\nexport\ni1\nn\nbTrue\nL1099511627776\nsa\\nb\ne\n"]


def test_an_object_that_was_an_argument_is_released_without_a_garbage_collection() -> None:
    client: Any = FakeClient("yv")
    java, argument = Py4JJava(client), JavaObject("o8", client)
    released = weakref.ref(argument)
    gc.disable()
    try:
        java.call(JavaObject("o7", client), "take", argument)
        del argument
        assert released() is None
    finally:
        gc.enable()


class Numbered(enum.IntEnum):
    """An IntEnum as in Python 3.10, whose text is the member's name."""

    PUBLISHER = 1

    def __str__(self) -> str:
        return "Numbered.PUBLISHER"

    def __format__(self, how: str) -> str:
        return "Numbered.PUBLISHER"


class Word(str, enum.Enum):
    YES = "yes"


class Ratio(float):
    def __repr__(self) -> str:
        return "Ratio(0.5)"


def test_a_subclass_of_a_builtin_is_sent_as_the_builtins_value() -> None:
    client: Any = FakeClient("yv")
    Py4JJava(client).call(JavaObject("o7", client), "take", Numbered.PUBLISHER, Word.YES, Ratio(0.5), bytearray(b"x"))
    assert client.commands == ["c\no7\ntake\ni1\nsyes\nd0.5\njeA==\ne\n"]


def test_a_mirror_without_options_takes_one_command_with_numbers() -> None:
    client: Any = FakeClient("yro8")
    bridge = JavaObject("o7", client)
    Control(Py4JJava(client), bridge, Shield(lambda: None)).mirror(Numbered.PUBLISHER, 5, {"convert": None})
    assert client.commands == ["c\no7\nmirror\ni1\ni1\ni5\nn\ne\n"]


@pytest.mark.parametrize("logger", ["py4j", "py4j.java_gateway", "py4j.clientserver"])
def test_the_token_is_not_logged_at_any_level(logger: str, caplog: pytest.LogCaptureFixture) -> None:
    token = bytes(range(32))
    command = f"Command to send: c\no7\nopen\n{get_command_part(token)}e\n"
    with caplog.at_level(logging.DEBUG, logger):
        with carrier._unlogged(token):
            logging.getLogger(logger).debug(command)
            logging.getLogger(logger).debug("Command to send: %s", "another")
        logging.getLogger(logger).debug("and afterwards")
    assert [record.getMessage() for record in caplog.records] == ["Command to send: another", "and afterwards"]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    seconds: list[float] = []
    monkeypatch.setattr(carrier, "time", SimpleNamespace(sleep=seconds.append))
    return seconds


def lost_connection(wrapped: bool) -> Py4JNetworkError:
    """Return the error of a lost connection: a ClientServer raises it, and a JavaGateway raises it wrapped."""
    lost = Py4JNetworkError("Answer from Java side is empty", when=EMPTY_RESPONSE)
    return Py4JNetworkError("An error occurred while trying to connect", lost) if wrapped else lost


def test_a_command_is_repeated_after_a_lost_connection(pauses: list[float]) -> None:
    client = FakeClient("x", lost_connection(False), lost_connection(True), "yi5")
    assert Py4JJava(client).static("a.B", "m") == 5
    assert len(client.commands) == 4
    assert pauses == sorted(pauses) and len(pauses) == 3


@pytest.mark.parametrize("lost", ["x", lost_connection(False), lost_connection(True)])
def test_a_command_is_repeated_at_most_six_times(lost: str | Exception, pauses: list[float]) -> None:
    client = FakeClient(*[lost] * 99)
    with pytest.raises(JvmUnavailable, match=r"127\.0\.0\.1:25333 \(the connection was lost 7 times\)"):
        Py4JJava(client).static("a.B", "m")
    assert len(client.commands) == 7
    assert sum(pauses) < 1


@pytest.mark.parametrize(
    "error",
    [Py4JNetworkError("Cannot connect", ConnectionRefusedError()), ConnectionRefusedError("Connection refused")],
)
def test_a_refused_connection_is_not_repeated(error: Exception, pauses: list[float]) -> None:
    client = FakeClient(error)
    with pytest.raises(JvmUnavailable, match=r"no JVM answers at 127\.0\.0\.1:25333 \(C.*connect again"):
        Py4JJava(client).static("a.B", "m")
    assert pauses == []


def test_a_stopped_gateway_is_unavailable() -> None:
    client = FakeClient(Py4JNetworkError("An error occurred while trying to connect to the Java server"))
    with pytest.raises(JvmUnavailable, match=r"no JVM answers at 127\.0\.0\.1:25333 .*connect again"):
        Py4JJava(client).static("a.B", "m")


@pytest.mark.parametrize(
    "text",
    [
        "Trace:\npy4j.security.Py4JSecurityException: Method x is not whitelisted on class y\n\tat py4j.Z.z(Z.java:1)",
        "Constructor public java.util.HashMap() is not whitelisted.",
    ],
)
def test_a_cluster_that_restricts_the_jvm_is_reported(text: str) -> None:
    with pytest.raises(JvmUnavailable, match=r"access mode Dedicated.*is not whitelisted"):
        Py4JJava(FakeClient(Py4JError(text))).static("a.B", "m")


def test_another_failure_of_the_gateway_keeps_its_text() -> None:
    with pytest.raises(JvmError, match="Method nothing"):
        Py4JJava(FakeClient("xspy4j.Py4JException: Method nothing() does not exist")).static("a.B", "nothing")


@pytest.mark.parametrize("value", [2**63, -(2**63) - 1, "\ud800", object(), [1], {}, lambda: None])
def test_arguments_that_would_break_the_connection_are_refused(value: object) -> None:
    client = FakeClient()
    with pytest.raises(ConversionError):
        Py4JJava(client).static("a.B", "m", value)
    assert client.commands == []


def test_an_object_of_another_jvm_is_never_sent() -> None:
    client, other = FakeClient(), FakeClient(port=1)
    with pytest.raises(ConversionError, match="another JVM"):
        Py4JJava(client).static("a.B", "m", JavaObject("o1", other))
    assert client.commands == []


def test_an_object_of_the_same_jvm_is_recognized() -> None:
    mine, same, other = FakeClient(), FakeClient(), FakeClient(port=1)
    subject = gateway(mine)
    assert subject.is_java_object(JavaObject("o1", mine))
    assert subject.is_java_object(JavaObject("o1", same))  # another client of the same JVM
    assert not subject.is_java_object(JavaObject("o1", other))
    assert not subject.is_java_object("o1")


def test_foreign_errors_are_returned_unchanged() -> None:
    subject = gateway(FakeClient())
    for error in (ValueError("mine"), KeyboardInterrupt(), JvmUnavailable("ours")):
        assert subject._java.translate(error) is error


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_forked_child_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    java = Py4JJava(FakeClient("yi1"))
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(JvmUnavailable, match=r"does not survive fork\(\)"):
        java.static("a.B", "m")


def test_a_gateway_that_the_parent_has_used_is_refused_in_a_forked_child(monkeypatch: pytest.MonkeyPatch) -> None:
    inherited, own = FakeClient(), FakeClient()
    gateway(inherited)
    monkeypatch.setattr(os, "getpid", lambda: -1)
    with pytest.raises(JvmUnavailable, match=r"used before fork\(\)"):
        gateway(inherited)
    assert gateway(own).describe()
