"""Registered context variables, which cross the bridge with each subscription."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context, ContextVar
from typing import Any

from pyrs.errors import ConversionError

__all__ = ["add_carrier", "outgoing", "received", "register_context"]

_variables: dict[str, ContextVar[Any]] = {}
_carriers: list[tuple[Callable[[], Mapping[str, str]], Callable[[Mapping[str, str]], object]]] = []


def register_context(variable: ContextVar[str], name: str | None = None) -> None:
    """Let a context variable cross the bridges of this process.

    A stream of the JVM that is subscribed to in Python receives the variable's value in Reactor's ``Context``, with
    the name as the key: ``Flux.deferContextual(context -> context.get("user"))``. A Python stream that Reactor
    subscribes to sees the value that the ``Context`` of the Subscriber has for that name. Callbacks and operators of
    either side see it, as they see other values of their context. A variable without a value is not sent.

    Values are strings. A subscription with another value fails with ``ConversionError``. Other libraries than Reactor
    have no such context: their Publishers ignore the value.

    Args:
        variable: the variable. It stays registered as long as the process runs.
        name: the key in Reactor's ``Context``; None for the name of the variable.

    Raises:
        TypeError: ``variable`` is not a ContextVar, or ``name`` is not a string.
        ValueError: another variable has the same name.

    Examples:
        >>> from contextvars import ContextVar
        >>> from pyrs import jvm
        >>> jvm.register_context(ContextVar("user"), "example.user")
    """
    given: object = variable
    if not isinstance(given, ContextVar):
        raise TypeError(f"variable must be a contextvars.ContextVar, not {type(given).__name__}")
    key: object = variable.name if name is None else name
    if not isinstance(key, str):
        raise TypeError(f"name must be a string, not {type(key).__name__}")
    if _variables.setdefault(key, variable) is not variable:
        raise ValueError(f"another context variable is registered as {key!r}: choose another name")


def add_carrier(inject: Callable[[], Mapping[str, str]], extract: Callable[[Mapping[str, str]], object]) -> None:
    """Register functions for entries that are not context variables, such as ``traceparent``.

    Args:
        inject: returns the entries of the current context.
        extract: sets the current context from the received entries.
    """
    _carriers.append((inject, extract))


def outgoing() -> dict[str, str]:
    """Return the entries for SUBSCRIBE: the values of the registered variables that are set.

    Raises:
        ConversionError: a value is not a string.
    """
    entries: dict[str, str] = {}
    for name, variable in _variables.items():
        value: object = variable.get(None)
        if isinstance(value, str):
            entries[name] = value
        elif value is not None:
            raise ConversionError(
                f"the context variable {name!r} has a value of type {type(value).__name__}: only strings cross the "
                "bridge"
            )
    for inject, _ in _carriers:
        entries.update(inject())
    return entries


def received(options: Mapping[Any, Any]) -> Context | None:
    """Return the context for a subscription of the peer, or None if no entry is registered.

    Entries that are not registered, or are no strings, are ignored.
    """
    entries = options.get("context")
    if not isinstance(entries, dict) or not (_variables or _carriers):
        return None
    texts = {name: value for name, value in entries.items() if isinstance(name, str) and isinstance(value, str)}
    known = [(_variables[name], value) for name, value in texts.items() if name in _variables]
    if not known and not _carriers:
        return None
    context = Context()
    for variable, value in known:
        context.run(variable.set, value)
    for _, extract in _carriers:
        context.run(extract, texts)
    return context
