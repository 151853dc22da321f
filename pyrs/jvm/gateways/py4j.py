"""Make control calls through Py4J: a ``JavaGateway`` or ``ClientServer``.

Commands are built directly and not through ``JavaMember``. This avoids the look-up of members (one round trip
each), the automatic conversion of lists, the ``get_return_value`` that PySpark patches (it makes a dozen calls to
convert an error), and arguments for which Py4J would close the connection. No callback server is started.
"""

from __future__ import annotations

import ipaddress
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from py4j import protocol
from py4j.java_gateway import JavaObject

from pyrs.errors import ConversionError, JavaError, JvmError, JvmUnavailable, PyrsError
from pyrs.jvm.gateways.base import Java, check_argument, java_error, parse_stack
from pyrs.jvm.gateways.control import Gateway

_PAUSES = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4)
"""The pause in seconds after each attempt to send a command, if the connection was reset."""

_ARRAY = "java.lang.reflect.Array"

_processes: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
"""The process that used each client first. A forked child has copies of the client and of its open connections."""


@contextmanager
def _unlogged(secret: bytes) -> Iterator[None]:
    """Keep a secret out of Py4J's loggers, which log all commands at level DEBUG."""
    text = str(protocol.get_command_part(secret)).strip()

    def harmless(record: logging.LogRecord) -> bool:
        return text not in record.getMessage()

    loggers = [logging.getLogger(name) for name in ("py4j", "py4j.java_gateway", "py4j.clientserver")]
    for logger in loggers:
        logger.addFilter(harmless)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(harmless)


class Py4JGateway(Gateway):
    """The gateway to a JVM that Py4J reaches.

    Raises:
        JvmUnavailable: The JVM is not on this machine's loopback, or another process used this gateway
            before a ``fork()``.
    """

    _without_logs = staticmethod(_unlogged)

    def __init__(self, gateway: Any) -> None:
        client = gateway._gateway_client
        address, port = _endpoint(client)
        self._where = f"{address}:{port}"
        self._mode = type(gateway).__name__
        if not _is_loopback(address):
            raise JvmUnavailable(
                f"the Py4J gateway is at {self._where}, not on this machine's loopback: the link between Python and "
                "the JVM is a loopback connection, so run this process on the JVM's machine and connect to 127.0.0.1"
            )
        if _processes.setdefault(client, os.getpid()) != os.getpid():
            raise JvmUnavailable(
                "this Py4J gateway was used before fork(): on its connections this process and its parent would "
                "receive each other's answers. Create a JavaGateway with the same parameters here, or start the "
                "process with multiprocessing's method spawn or forkserver"
            )
        super().__init__(Py4JJava(client))
        self._client = client

    def is_java_object(self, value: object) -> bool:
        return isinstance(value, JavaObject) and _is_of(self._client, value)

    def describe(self) -> str:
        return f"Py4J {self._mode} at {self._where}"

    def detach_thread(self) -> None:
        """Do nothing: Py4J closes or reuses the connection of a thread that has ended."""


class Py4JJava(Java):
    """The primitive calls over Py4J."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._process = os.getpid()

    def static(self, class_name: str, method: str, *args: object) -> object:
        return self._invoke(protocol.STATIC_PREFIX + class_name, method, args)

    def new(self, class_name: str, *args: object) -> object:
        return self._send(f"{protocol.CONSTRUCTOR_COMMAND_NAME}{class_name}\n", args, class_name, "<init>")

    def call(self, target: object, method: str, *args: object) -> object:
        if not isinstance(target, JavaObject):
            raise ConversionError(
                f"{type(target).__name__} is not an object of the JVM: it has no method {method} to call"
            )
        return self._invoke(target._target_id, method, args)

    def array(self, element_class: str, values: Sequence[object]) -> object:
        """Create a Java array: one call for the array and one for each element."""
        header = protocol.ARRAY_COMMAND_NAME + protocol.ARRAY_CREATE_SUB_COMMAND_NAME
        array = self._send(header, (element_class, len(values)), _ARRAY, "newInstance")
        for index, value in enumerate(values):
            self.static(_ARRAY, "set", array, index, value)
        return array

    def class_loader(self) -> object:
        """Return the context class loader, which also loads the jars of ``spark.jars``."""
        loader = self.call(self.static("java.lang.Thread", "currentThread"), "getContextClassLoader")
        return self.static("java.lang.ClassLoader", "getSystemClassLoader") if loader is None else loader

    def translate(self, error: BaseException) -> BaseException:
        if isinstance(error, PyrsError) or not isinstance(error, Exception):
            return error
        throwable = _throwable_of(error)
        if throwable is not None:
            return self._java_error(throwable)
        if type(error).__module__.startswith("pyspark.errors.exceptions.captured"):
            return _captured(error)
        if not isinstance(error, protocol.Py4JError):
            return error
        text = str(error)
        if "Py4JSecurityException" in text or "not whitelisted" in text:
            return JvmUnavailable(
                "this cluster does not let Python call the driver's JVM freely (Py4JSecurityException): on Databricks "
                f"use compute with the access mode Dedicated (single user). The gateway's error: {_last_line(text)}"
            )
        if isinstance(error, protocol.Py4JNetworkError):
            return self._gone(text)
        return JvmError(text)

    def _java_error(self, throwable: Any) -> JvmError:
        try:
            found = java_error(self, throwable)
        except JvmError as error:  # the gateway has ended, or refuses the call
            return error
        if found.java_class == "py4j.security.Py4JSecurityException":
            translated = self.translate(protocol.Py4JError(f"Py4JSecurityException: {found.java_message}"))
            return translated if isinstance(translated, JvmError) else found
        return found

    def _gone(self, text: str) -> JvmUnavailable:
        return JvmUnavailable(
            f"no JVM answers at {':'.join(_endpoint(self._client))} ({_last_line(text)}): the gateway was shut "
            "down, or the JVM has ended. Start it again and connect again"
        )

    def _invoke(self, target_id: str, method: str, args: Sequence[object]) -> object:
        return self._send(f"{protocol.CALL_COMMAND_NAME}{target_id}\n{method}\n", args, target_id, method)

    def _send(self, header: str, args: Sequence[object], target_id: str, method: str) -> object:
        if os.getpid() != self._process:
            raise JvmUnavailable(
                "a gateway does not survive fork(): create a gateway, and connect, in the process that uses it"
            )
        parts = "".join([self._part(argument) for argument in args])
        command = f"{header}{parts}{protocol.END_COMMAND_PART}"
        try:
            answer = self._answer(command)
            return protocol.get_return_value(answer, self._client, target_id, method)
        except Exception as error:
            translated = self.translate(error)
            if translated is error:
                raise
            raise translated from translated.__cause__

    def _answer(self, command: str) -> str:
        """Send the command until there is an answer.

        A Ctrl-C inside any other Py4J call resets the connections of all threads, including new ones. A lost command
        is sent again, because a repetition does no harm (see ``Control``). If the gateway has ended, no connection can
        be opened, and the first attempt raises.
        """
        for pause in _PAUSES:
            try:
                answer: str = self._client.send_command(command)
            except protocol.Py4JNetworkError as error:
                if not _was_cut(error):
                    raise
            except OSError as error:  # raised by a ClientServer that cannot connect
                raise self._gone(str(error)) from error
            else:
                if answer != protocol.ERROR:
                    return answer
            time.sleep(pause)
        raise self._gone(f"the connection was lost {len(_PAUSES)} times")

    def _part(self, argument: Any) -> str:
        if isinstance(argument, JavaObject):
            if not _is_of(self._client, argument):
                raise ConversionError("this Java object belongs to another JVM")
            # get_command_part reads an attribute, which creates a reference cycle: the object would live until a
            # garbage collection, which then makes a call for each of these objects on any thread.
            return f"{protocol.REFERENCE_TYPE}{argument._target_id}\n"
        check_argument(argument)
        part: str = protocol.get_command_part(_builtin(argument))
        return part


def _builtin(argument: Any) -> Any:
    """Convert an instance of a subclass of int, float, str or bytes to the plain type.

    Py4J writes the ``str`` of an int and the ``repr`` of a float, which a subclass may override: the ``str`` of an
    IntEnum is the member's name in Python 3.10, and the ``repr`` of a numpy.float64 is ``np.float64(1.5)`` in numpy 2.
    """
    if argument is None or isinstance(argument, bool):
        return argument
    if isinstance(argument, int):
        return int.__int__(argument)
    if isinstance(argument, float):
        return float.__float__(argument)
    if isinstance(argument, str):
        return str.__str__(argument)
    return bytes(argument)


def _is_of(client: Any, value: Any) -> bool:
    """Return True if a ``JavaObject`` belongs to the JVM of this client."""
    other = value._gateway_client
    return other is client or _endpoint(other) == _endpoint(client)


def _endpoint(client: Any) -> tuple[str, str]:
    # The client of a ClientServer keeps its parameters under another name.
    parameters = getattr(client, "java_parameters", None) or client.gateway_parameters
    return str(parameters.address), str(parameters.port)


def _was_cut(error: Any) -> bool:
    """Return whether an open connection was lost, also during authentication."""
    return any(getattr(each, "when", None) is not None for each in (error, error.cause))


def _is_loopback(address: str) -> bool:
    if address == "localhost":
        return True
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _throwable_of(error: Any) -> Any:
    """Return the Throwable in an error of Py4J, or in PySpark's error for it."""
    if isinstance(error, protocol.Py4JJavaError):
        return error.java_exception
    if type(error).__module__.startswith("pyspark.errors."):
        origin = getattr(error, "_origin", None)
        return origin if isinstance(origin, JavaObject) else None
    return None


def _captured(error: Any) -> JavaError:
    """Convert PySpark's UnknownException, whose fields are strings, to a JavaError."""
    name, _, message = str(error._desc).partition(": ")
    own_frames = str(error._stackTrace or "").partition("\nCaused by:")[0]
    result = JavaError(name, message or None, parse_stack(own_frames))
    cause = getattr(error, "_cause", None)
    if cause is not None:
        result.__cause__ = _captured(cause)
    return result


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.strip().startswith("at ")]
    return lines[-1] if lines else "no reason given"
