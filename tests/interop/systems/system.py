"""The row of the interop table that each test module of this folder declares as ``SYSTEM``."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Literal, get_args

FOLDER = Path(__file__).parent
ROOT = FOLDER.parents[2]

Gateway = Literal["jpype", "spark"]
Status = Literal["real", "wire-compatible", "partial"]
"""Tested with the real component, with another server that speaks its protocol, or only in part."""


@dataclass(frozen=True, kw_only=True)
class System:
    """A system of the JVM, with the facts that its users in Python need."""

    name: str
    packages: tuple[str, ...]
    """The Maven coordinates for the user's launch, in the tested versions."""
    component: str
    """The tested component with its version: ``"PostgreSQL 15"``, ``"the library itself"``."""
    source: str
    """From the JVM to Python: the Publisher and its elements; empty if there is none."""
    sink: str
    """From Python to the JVM: the Subscriber and its elements; empty if there is none."""
    ordering: str
    delivery: str
    """The delivery guarantee, and its condition."""
    cancel: str
    """The effect of a cancel in Python."""
    gateways: tuple[Gateway, ...] = ("jpype",)
    not_on: str = ""
    """The measured reason for a missing gateway."""
    test_packages: tuple[str, ...] = ()
    """Further coordinates for the tests only, such as an embedded server."""
    jvm_options: tuple[str, ...] = ()
    """The options that the JVM needs at its start."""
    server_process: str = ""
    """The server process that the tests start, if any; `make test` skips such a system."""
    install: Callable[[], object] | None = None
    """Fetches or installs a missing server, as the fixture of the tests does."""
    status: Status = "real"
    reason: str = ""
    """For another status than "real": the server that replaces the component, or the untested parts."""

    def __post_init__(self) -> None:
        if (self.status == "real") == bool(self.reason):
            raise ValueError(f"{self.name}: the status {self.status} {'needs no' if self.reason else 'needs a'} reason")
        unknown = set(self.gateways) - set(get_args(Gateway))
        if unknown or not self.gateways:
            raise ValueError(f"{self.name}: gateways are {get_args(Gateway)}, not {self.gateways}")
        if len(self.gateways) == 1 and not self.not_on:
            raise ValueError(f"{self.name}: not_on must state the measured reason for the missing gateway")


def names() -> list[str]:
    """Return the names of all systems, as in ``test_<name>.py``."""
    return sorted(file.stem.removeprefix("test_") for file in FOLDER.glob("test_*.py"))


def load(name: str) -> System:
    """Return the declaration of a system."""
    return of_module(importlib.import_module(f"tests.interop.systems.test_{name}"))


def of_module(module: ModuleType) -> System:
    """Return the declaration in a module."""
    system = getattr(module, "SYSTEM", None)
    if not isinstance(system, System):
        raise TypeError(f"{module.__file__} declares no SYSTEM = System(...)")
    return system
