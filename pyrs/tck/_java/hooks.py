"""Call the hooks of a Python verification for the official TCK in the JVM."""

from __future__ import annotations

from functools import partial
from typing import Any

from pyrs.tck._java.connection import Exchange
from pyrs.tck._java.proxies import as_long
from pyrs.tck.environment import callers
from pyrs.tck.subscriber_hooks import SubscriberHooks
from pyrs.tck.verification import Verification

_PUPPET_METHODS = frozenset({"trigger_request", "signal_cancel"})
# The method of the Python port that calls each hook and validates its result. All other hooks return a number.
_CALLERS = {
    "create_publisher": "new_publisher",
    "create_failed_publisher": "new_failed_publisher",
    "create_probed_subscriber": "new_subscriber",
    "create_subscriber": "new_subscriber",
    "create_identity_processor": "new_processor",
    "create_helper_publisher": "new_helper_publisher",
    "create_element": "new_element",
    "trigger_request": "call_trigger_request",
}


class Hooks:
    """Calls the hooks of one verification object, on which the test runs."""

    def __init__(self, subject: Verification) -> None:
        self._subject: Any = subject

    @property
    def overridden(self) -> str:
        """The hook that overrides a default of the official TCK, or an empty string."""
        own = getattr(type(self._subject), "create_helper_publisher", None)
        return "" if own in (None, SubscriberHooks.create_helper_publisher) else "create_helper_publisher"

    def call(self, scope: Exchange, hook: str, arguments: list[Any]) -> Any:
        """Call a hook; return a number by value, and another result as a reference."""
        if hook == "frames":
            return callers()
        if hook not in _CALLERS:
            return as_long(self._subject.call_number_hook(getattr(self._subject, hook)))
        if hook == "create_publisher":
            self._subject.env.progress()  # a test with several iterations creates a Publisher in each
        return scope.outgoing(getattr(self._subject, _CALLERS[hook])(*arguments))

    def call_method(self, subject: Any, method: str, arguments: list[Any]) -> None:
        """Call a method of a hook's result; a late call is reported by name."""
        call = partial(getattr(subject, method), *arguments)
        if method in _PUPPET_METHODS:
            self._subject.env.timed(f"puppet.{method}({', '.join(map(str, arguments))})", call)
        elif method == "subscribe":
            self._subject.env.timed("subscribe()", call)
        else:
            call()
