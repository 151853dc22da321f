"""Send registered context variables across the bridge with each subscription."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Context, ContextVar
from typing import Any

from pyrs._core import hooks
from pyrs.errors import ConversionError

_variables: dict[str, ContextVar[Any]] = {}
_carriers: list[tuple[Callable[[], Mapping[str, str]], Callable[[Mapping[str, str]], object]]] = []


def register_context(variable: ContextVar[str], name: str | None = None) -> None:
    """Let a context variable cross the bridges of this process.

    If Python subscribes to a stream of the JVM, the stream receives the variable's value in Reactor's ``Context``, with
    the name as the key: ``Flux.deferContextual(context -> context.get("user"))``. If Reactor subscribes to a Python
    stream, the variable has the value that the Subscriber's ``Context`` has for the name. All operators and callbacks
    of the stream see the value. A variable without a value is not sent.

    Values must be strings: a subscription with another value fails with ``ConversionError``. Publishers of libraries
    other than Reactor ignore the value, because those libraries have no ``Context``.

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
    """Register functions for context entries that are not context variables.

    An example of such an entry is ``traceparent``. If a function raises, the exception is reported to the
    dropped-errors hook, and the subscription continues without the entries of that function.

    Args:
        inject: returns the entries of the current context. Called on the thread that subscribes.
        extract: sets the current context from the received entries. Called on the link's reader thread, so it must not
            block.
    """
    _carriers.append((inject, extract))


def collect_entries() -> dict[str, str]:
    """Return the entries of the current context for SUBSCRIBE.

    Raises:
        ConversionError: a value is not a string.
    """
    entries: dict[str, str] = {}
    for name, variable in list(_variables.items()):  # another thread may register a variable
        value: object = variable.get(None)
        if isinstance(value, str):
            entries[name] = value
        elif value is not None:
            raise ConversionError(
                f"the context variable {name!r} has a value of type {type(value).__name__}: only strings cross the "
                "bridge"
            )
    for inject, _ in _carriers:
        try:
            entries.update(inject())
        except Exception as error:
            hooks.on_error_dropped(error, "raised by a function that adds context entries to a subscription")
    return entries


def context_of(options: Mapping[Any, Any]) -> Context | None:
    """Create the context for a subscription of the peer.

    Returns None if nothing can use the entries. Sets the registered variables, and passes all entries to the carriers.
    Ignores entries that are not strings.
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
        try:
            context.run(extract, texts)
        except Exception as error:  # the link's reader calls this: an exception would end all streams of the link
            hooks.on_error_dropped(error, "raised by a function that reads the context entries of a subscription")
    return context
