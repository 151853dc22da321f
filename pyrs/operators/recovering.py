"""Error recovery and repetition: on_error_resume, on_error_map, repeat ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.display import LazyText, name_of, short
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.validation import checked_callable, checked_element, checked_natural, checked_publisher
from pyrs.api import Publisher, R
from pyrs.errors import NullSignal

Kind = type[BaseException] | tuple[type[BaseException], ...] | Callable[[Any], object]
"""The errors to handle: a type, a tuple of types, or a predicate."""


class Selection:
    """The errors that an operator handles; never those for which ``is_exit`` is true."""

    def __init__(self, kind: Kind, parameter: str) -> None:
        types = kind if isinstance(kind, tuple) else (kind,)
        self._predicate: Callable[[Any], object] | None = None
        self._types: tuple[type[BaseException], ...] = ()
        if all(isinstance(each, type) and issubclass(each, BaseException) for each in types):
            self._types = tuple(each for each in types if isinstance(each, type))
            names = [each.__name__ for each in self._types]
            self._what = names[0] if len(names) == 1 else f"({', '.join(names)})"
        elif isinstance(kind, (tuple, type)) or not callable(kind):
            raise TypeError(f"{parameter} must be exception types or a predicate, not {kind!r}")
        else:
            self._predicate = checked_callable(kind, parameter)
            self._what = name_of(kind)

    def __contains__(self, error: BaseException) -> bool:
        if hooks.is_exit(error):
            return False
        return (
            isinstance(error, self._types) if self._predicate is None else bool(call_with_error(self._predicate, error))
        )

    def argument(self, parameter: str) -> str:
        """Return the repr fragment, empty for the default."""
        return "" if self._types == (Exception,) else f", {parameter}={self._what}"


def _call_text(operator: str, show: Callable[[Any], str], value: Any, selection: Selection) -> str:
    """Return the user's call."""
    return f"{operator}({show(value)}{selection.argument('kind')})"


def call_with_error(function: Callable[[Any], R], error: BaseException) -> R:
    """Call the user's function with the error.

    An exception that the function raises gets the error as its context.
    """
    try:
        return function(error)
    except BaseException as raised:
        if raised is not error and raised.__context__ is None:
            BaseException.__setattr__(raised, "__context__", error)  # a frozen exception rejects attributes
        raise


class _ResumeRun(SubscriptionArbiter[Any]):
    _operator: OnErrorResume
    _resumed = False

    def _source_failed(self, error: BaseException) -> None:
        operator = self._operator
        if self._resumed or error not in operator.selection:
            self._fail(error)
            return
        self._resumed = True
        try:
            fallback = checked_publisher(call_with_error(operator.choose, error), "the result of fallback")
        except BaseException as raised:
            if raised is not error:
                raise
            self._fail(error)  # the fallback function re-raised it
        else:
            self._switch_to(fallback)


class OnErrorResume(Operator[Any]):
    """``on_error_resume(fallback, kind)``: replaces a selected error with a Publisher."""

    run_type = _ResumeRun

    def __init__(
        self,
        source: Publisher[Any],
        choose: Callable[[BaseException], Publisher[Any]],
        selection: Selection,
        call: str | LazyText,
    ) -> None:
        super().__init__(source, call)
        self.choose = choose
        self.selection = selection


def resuming(source: Publisher[Any], fallback: Any, kind: Kind) -> OnErrorResume:
    """Return the operator of ``on_error_resume``."""
    selection = Selection(kind, "kind")
    if callable(getattr(fallback, "subscribe", None)):
        choose, show = lambda _: fallback, repr
    else:
        if not callable(fallback):
            raise TypeError(f"fallback must be a Publisher or callable, not {type(fallback).__name__}")
        choose, show = checked_callable(fallback, "fallback"), name_of
    return OnErrorResume(source, choose, selection, LazyText(_call_text, "on_error_resume", show, fallback, selection))


def returning(source: Publisher[Any], value: Any, kind: Kind) -> OnErrorResume:
    """Return the operator of ``on_error_return``."""
    selection = Selection(kind, "kind")
    if value is None:
        raise NullSignal("on_error_return(None): None is not an element")
    function = checked_callable(value, "value") if callable(value) else lambda _: value
    name = name_of(value) if callable(value) else "value"
    call = LazyText(_call_text, "on_error_return", name_of if callable(value) else short, value, selection)

    def choose(error: BaseException) -> Publisher[Any]:
        return IterablePublisher((checked_element(function(error), name),), (), call)

    return OnErrorResume(source, choose, selection, call)


def mapping(source: Publisher[Any], function: Callable[[Any], BaseException], kind: Kind) -> OnErrorResume:
    """Return the operator of ``on_error_map``."""
    checked_callable(function, "function")
    selection = Selection(kind, "kind")
    call = f"on_error_map({name_of(function)}{selection.argument('kind')})"

    def choose(error: BaseException) -> NoReturn:
        other = function(error)
        if not isinstance(other, BaseException):
            raise TypeError(f"{call} must return an exception, not {type(other).__name__}") from error
        if other is not error and other.__cause__ is None:
            raise other from error
        raise other

    return OnErrorResume(source, choose, selection, call)


class _RepeatRun(SubscriptionArbiter[Any]):
    _operator: Repeat
    _repeated = 0

    def _source_completed(self) -> None:
        operator = self._operator
        if self._repeated == operator.times or (operator.until is not None and operator.until()):
            self._complete()
        else:
            self._repeated += 1
            self._begin()


class Repeat(Operator[Any]):
    """``repeat(times, until=predicate)``: subscribes again on completion."""

    run_type = _RepeatRun

    def __init__(self, source: Publisher[Any], times: int | None, until: Callable[[], object] | None) -> None:
        self.times = times if times is None else checked_natural(times, "times")
        self.until = until if until is None else checked_callable(until, "until")
        arguments = [] if times is None else [str(times)]
        arguments += [] if until is None else [f"until={name_of(until)}"]
        super().__init__(source, f"repeat({', '.join(arguments)})")
