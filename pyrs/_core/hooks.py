"""Where errors and elements go that nobody can receive: one hook each, a log record by default, never silence."""

from __future__ import annotations

from collections.abc import Callable

from pyrs._core.validation import checked_callable

__all__ = [
    "ElementHook",
    "ErrorHook",
    "is_exit",
    "on_error_dropped",
    "on_next_dropped",
    "set_element_hook",
    "set_error_hook",
]

ErrorHook = Callable[[BaseException, str], None]
"""Called with the error and a line that says where it was dropped."""

ElementHook = Callable[[int, str], None]
"""Called with the number of elements and a line that says where they were dropped."""


def is_exit(error: BaseException) -> bool:
    """Return whether the error must travel on after the clean-up.

    It asks the thread or process to end, or the stack is used up. Whoever is told of the latter in a deeper frame fails
    too, so it goes back to where the stack is short: to whoever subscribed or requested.
    """
    return isinstance(error, (KeyboardInterrupt, SystemExit, RecursionError))


def _log_error(error: BaseException, where: str) -> None:
    import logging  # Here and not above: most programs never drop an error, and importing pyrs stays quick.

    logging.getLogger("pyrs").error(
        "dropped error%s: %r", f" ({where})" if where else "", error, exc_info=(type(error), error, error.__traceback__)
    )


def _log_elements(count: int, where: str) -> None:
    import logging

    logging.getLogger("pyrs").warning("dropped %d element(s)%s", count, f" ({where})" if where else "")


_error_hook: ErrorHook = _log_error
_element_hook: ElementHook = _log_elements


def set_error_hook(hook: ErrorHook | None) -> ErrorHook:
    """Use this hook for dropped errors, None for the log record, and return the one before.

    Raises:
        TypeError: the hook cannot be called.

    Examples:
        >>> seen = []
        >>> before = set_error_hook(lambda error, where: seen.append((error, where)))
        >>> on_error_dropped(ValueError("late"), "example")
        >>> seen
        [(ValueError('late'), 'example')]
        >>> _ = set_error_hook(before)
    """
    global _error_hook
    before, _error_hook = _error_hook, _log_error if hook is None else checked_callable(hook, "hook")
    return before


def set_element_hook(hook: ElementHook | None) -> ElementHook:
    """Use this hook for dropped elements, None for the log record, and return the one before.

    Raises:
        TypeError: the hook cannot be called.
    """
    global _element_hook
    before, _element_hook = _element_hook, _log_elements if hook is None else checked_callable(hook, "hook")
    return before


def on_error_dropped(error: BaseException, where: str = "") -> None:
    """Report an error that no Subscriber can be told. Returns normally, whatever the hook does."""
    try:
        _error_hook(error, where)
    except Exception as broken:
        _log_error(broken, "raised by the hook for dropped errors")
        _log_error(error, where)


def on_next_dropped(count: int = 1, where: str = "", *, cancelled: bool = False) -> None:
    """Report elements that no Subscriber will see. Returns normally, whatever the hook does.

    Args:
        count: how many.
        where: what was going on.
        cancelled: the Subscriber itself cancelled, so nobody misses them. Without a hook this is a debug record.
    """
    if count <= 0:
        return
    if cancelled and _element_hook is _log_elements:
        import logging

        logging.getLogger("pyrs").debug("dropped %d element(s) after a cancel (%s)", count, where)
        return
    try:
        _element_hook(count, where)
    except Exception as broken:
        _log_error(broken, "raised by the hook for dropped elements")
        _log_elements(count, where)
