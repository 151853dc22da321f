"""Reach a JVM through a Py4J gateway, or through JPype in this process.

Only ``pyrs.jvm.gateways.py4j`` imports ``py4j``, and only ``pyrs.jvm.gateways.jpype`` imports ``jpype``. Both modules
are imported on first use, so ``pyrs.jvm`` can be imported without either library.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from pyrs.errors import JvmUnavailable
from pyrs.jvm.gateways.connect_arguments import CONNECT_ACCEPTS, py4j_gateway_of
from pyrs.jvm.gateways.control import Control, Gateway

__all__ = ["Control", "Gateway", "default_java_home", "gateway_for", "launch_gateway"]


def gateway_for(source: object | None = None) -> Gateway:
    """Return the gateway to the JVM of ``source`` without a control call."""
    if source is None:
        with _needed("jpype", "jpype"):
            from pyrs.jvm.gateways.jpype import running_gateway
        return running_gateway()
    gateway = py4j_gateway_of(source)
    if gateway is None:
        raise TypeError(f"{CONNECT_ACCEPTS}; this is a {type(source).__module__}.{type(source).__qualname__}")
    with _needed("py4j", "spark"):
        from pyrs.jvm.gateways.py4j import Py4JGateway
    return Py4JGateway(gateway)


def launch_gateway(*, classpath: Sequence[str | os.PathLike[str]] = (), jvm_options: Sequence[str] = ()) -> Gateway:
    """Start a JVM in this process with JPype, or use the running one."""
    with _needed("jpype", "jpype"):
        from pyrs.jvm.gateways.jpype import launched_gateway
    return launched_gateway(classpath, jvm_options)


def default_java_home() -> str | None:
    """Return the home of JPype's default JVM, or None without JPype or a JVM."""
    try:
        from pyrs.jvm.gateways.jpype import default_java_home
    except ImportError:
        return None
    return default_java_home()


@contextmanager
def _needed(package: str, extra: str) -> Iterator[None]:
    try:
        yield
    except ImportError as error:
        raise JvmUnavailable(
            f"the Python package {package} cannot be imported by {sys.executable} ({error}): pip install "
            f"'pyrs-streams[{extra}]'. `python -m pyrs doctor` checks all that the bridge needs"
        ) from error
