"""What a row of the interop table says; each test module of this folder declares its own as ``SYSTEM``."""

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
Status = Literal["done", "simulated", "cannot run here"]


@dataclass(frozen=True, kw_only=True)
class System:
    """One system of the JVM, and what Python's users should know of it."""

    name: str
    packages: tuple[str, ...]
    """The Maven coordinates that a user launches with: the versions tested."""
    component: str
    """The real thing on the other side, with its version: ``"PostgreSQL 15"``, ``"the library itself"``."""
    source: str
    """What JVM to Python carries: the Publisher and its elements; empty if the system has no such way."""
    sink: str
    """What Python to JVM carries; empty if the system has no such way."""
    ordering: str
    delivery: str
    """At least once, at most once, and what decides it."""
    cancel: str
    """What a cancel in Python does in the system."""
    gateways: tuple[Gateway, ...] = ("jpype",)
    not_on: str = ""
    """Why a gateway is missing above, as measured."""
    test_packages: tuple[str, ...] = ()
    """What only the tests need, such as an embedded server."""
    jvm_options: tuple[str, ...] = ()
    """What the JVM has to be started with."""
    server_process: str = ""
    """The server that the tests start as a process of its own; CI leaves such a row to `make test-interop`."""
    install: Callable[[], object] | None = None
    """Fetches or installs that server where it is missing; the tests' own fixture does, too."""
    status: Status = "done"
    reason: str = ""
    """Why the status is not "done", with the measured error."""

    def __post_init__(self) -> None:
        if (self.status == "done") == bool(self.reason):
            raise ValueError(f"{self.name}: a row that is not done says why, and one that is done has no reason")
        unknown = set(self.gateways) - set(get_args(Gateway))
        if unknown or not self.gateways:
            raise ValueError(f"{self.name}: gateways are {get_args(Gateway)}, not {self.gateways}")
        if len(self.gateways) == 1 and not self.not_on and self.status != "cannot run here":
            raise ValueError(f"{self.name}: not_on says why it was proven on {self.gateways[0]} alone")


def names() -> list[str]:
    """Of every system that has tests, as in ``test_<name>.py``."""
    return sorted(file.stem.removeprefix("test_") for file in FOLDER.glob("test_*.py"))


def load(name: str) -> System:
    """The declaration of one system."""
    return of_module(importlib.import_module(f"tests.interop.systems.test_{name}"))


def of_module(module: ModuleType) -> System:
    """What the module declares."""
    system = getattr(module, "SYSTEM", None)
    if not isinstance(system, System):
        raise TypeError(f"{module.__file__} declares no SYSTEM = System(...)")
    return system
