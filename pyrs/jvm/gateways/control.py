"""Call ``io.pyrs.bridge.Bridge`` through either carrier."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

from pyrs.jvm.gateways.base import Java
from pyrs.jvm.gateways.shield import Shield

__all__ = ["BridgeControl"]

T = TypeVar("T")


class BridgeControl:
    """The ``Control`` of both carriers.

    Args:
        java: The carrier.
        bridge: The Java object.
        shield: Keeps the calls off the main thread.
    """

    def __init__(self, java: Java, bridge: object, shield: Shield) -> None:
        self._java = java
        self._bridge = bridge
        self._shield = shield
        self._requests = itertools.count(1)

    def port(self) -> int:
        return cast(int, self._call("port"))

    def is_open(self) -> bool:
        return cast(bool, self._call("isOpen"))

    def kind(self, value: object) -> int:
        return cast(int, self._call("kind", value))

    def export(self, value: object) -> int:
        return cast(int, self._call("export", next(self._requests), value))

    def resolve(self, handle: int) -> object:
        return self._call("resolve", handle)

    def mirror(self, kind: int, handle: int, options: Mapping[str, object]) -> object:
        request = next(self._requests)
        return self._run(lambda: self._direct("mirror", request, int(kind), handle, java_map(self._java, options)))

    def unwrap(self, value: object) -> int:
        return cast(int, self._call("unwrap", value))

    def stage(self, handle: int, interface: str | None, options: Mapping[str, object]) -> object:
        request = next(self._requests)
        return self._run(lambda: self._direct("stage", request, handle, interface, java_map(self._java, options)))

    def callable(self, handle: int, interface: str, options: Mapping[str, object]) -> object:
        request = next(self._requests)
        return self._run(lambda: self._direct("callable", request, handle, interface, java_map(self._java, options)))

    def values(self, interface: str, options: Mapping[str, object]) -> object:
        request = next(self._requests)
        return self._run(lambda: self._direct("values", request, interface, java_map(self._java, options)))

    def invoke(self, target: object, method: str, args: Sequence[object] = ()) -> object:
        request = next(self._requests)
        return self._run(
            lambda: self._direct("invoke", request, target, method, self._java.array("java.lang.Object", args))
        )

    def command(self, command: bytes) -> bytes:
        return cast(bytes, self._call("command", next(self._requests), command))

    def stats(self) -> dict[str, object]:
        return self._run(lambda: cast("dict[str, object]", self._java.plain(self._direct("stats"))))

    def close(self) -> None:
        self._call("close")

    def _call(self, method: str, *args: object) -> object:
        return self._run(lambda: self._direct(method, *args))

    def _direct(self, method: str, *args: object) -> object:
        return self._java.call(self._bridge, method, *args)

    def _run(self, task: Callable[[], T]) -> T:
        return self._shield.run(task)


def java_map(java: Java, options: Mapping[str, object]) -> object:
    """Make a ``java.util.HashMap`` of the options that are not None."""
    result = java.new("java.util.HashMap")
    for key, value in options.items():
        if value is not None:
            java.call(result, "put", key, java_map(java, value) if isinstance(value, Mapping) else value)
    return result
