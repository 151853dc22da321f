"""The hooks for errors and elements that no Subscriber receives.

By default the hooks for dropped errors and for the number of dropped elements write log records. Each dropped element
is also passed to the functions of ``do_on_discard`` downstream of the operator that drops it, and to the discard hook.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from pyrs._core.validation import checked_callable
from pyrs.api import T

ErrorHook = Callable[[BaseException, str], None]
"""Called with the error and a description of where it was dropped."""

ElementHook = Callable[[int, str], None]
"""Called with the number of elements and a description of where they were dropped."""

DiscardHook = Callable[[Any], object]
"""Called with each discarded element."""

Discards = tuple[DiscardHook, ...]
"""The functions of ``do_on_discard`` that apply to an operator, from the next one downstream to the last."""


def is_exit(error: BaseException) -> bool:
    """Return whether the error must propagate after the clean-up.

    KeyboardInterrupt and SystemExit end the thread or process. A RecursionError means that the stack is exhausted: a
    handler in a deep frame fails as well, so the error propagates to the frame that subscribed or requested.
    """
    return isinstance(error, (KeyboardInterrupt, SystemExit, RecursionError))


def _log_error(error: BaseException, where: str) -> None:
    import logging  # a slow import that most programs do not need

    logging.getLogger("pyrs").error(
        "dropped error%s: %r", f" ({where})" if where else "", error, exc_info=(type(error), error, error.__traceback__)
    )


def _log_elements(count: int, where: str) -> None:
    import logging

    logging.getLogger("pyrs").warning("dropped %d element(s)%s", count, f" ({where})" if where else "")


_error_hook: ErrorHook = _log_error
_element_hook: ElementHook = _log_elements
discard_hook: DiscardHook | None = None
_drop_observer: Callable[[int, str], object] | None = None


def set_error_hook(hook: ErrorHook | None) -> ErrorHook:
    """Set the hook for dropped errors and return the previous one; None logs them.

    Raises:
        TypeError: ``hook`` is not callable.

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
    """Set the hook for dropped elements and return the previous one; None logs them.

    Raises:
        TypeError: ``hook`` is not callable.
    """
    global _element_hook
    before, _element_hook = _element_hook, _log_elements if hook is None else checked_callable(hook, "hook")
    return before


def set_discard_hook(hook: DiscardHook | None) -> DiscardHook | None:
    """Set the hook for each discarded element and return the previous one.

    None removes the hook. The hook is called with every element that an operator, a sink or a bridge drops, after the
    functions of ``do_on_discard``, on the thread that drops it. An exception is reported to the dropped-errors hook.
    Set the hook before ``subscribe``: operators may check at that time whether there is one.

    Raises:
        TypeError: ``hook`` is not callable.

    Examples:
        >>> import pyrs
        >>> before = pyrs.set_discard_hook(print)
        >>> pyrs.range(4).filter(lambda n: n % 2).collect()
        0
        2
        [1, 3]
        >>> _ = pyrs.set_discard_hook(before)
    """
    global discard_hook
    before, discard_hook = discard_hook, None if hook is None else checked_callable(hook, "hook")
    return before


def discards_of(subscriber: object) -> Discards:
    """Return the ``do_on_discard`` functions downstream of this Subscriber.

    A third-party Subscriber has none. The functions are an attribute of the Subscriber and not a context variable, so
    that an inner stream has those of the operator that subscribes to it, on any thread.
    """
    try:
        discards = getattr(subscriber, "discards", None)
    except KeyboardInterrupt:
        raise
    except BaseException:  # raised by __getattr__ of a third-party class, possibly on the reader thread of a link
        return ()
    return discards if type(discards) is tuple else ()


def is_discarding(discards: Discards) -> bool:
    """Return whether a discarded element is passed to any function."""
    return bool(discards) or discard_hook is not None


def discard(discards: Discards, element: Any) -> None:
    """Pass a dropped element to the functions and to the discard hook.

    Raises only the errors of ``is_exit``. Called without a lock, because it calls user code.
    """
    hook = discard_hook  # read once: another thread may replace it
    for function in discards if hook is None else (*discards, hook):
        try:
            function(element)
        except BaseException as error:
            report(error, "raised by a function for discarded elements")


def discard_all(discards: Discards, elements: deque[Any] | list[Any] | set[Any]) -> None:
    """Empty a buffer and discard its elements; a list is emptied from its end.

    Another thread may append or remove elements at the same time. No element is discarded twice.
    """
    if not is_discarding(discards):
        elements.clear()
        return
    for element in emptied(elements):
        discard(discards, element)


def emptied(items: deque[T] | list[T] | set[T]) -> Iterator[T]:
    """Remove and yield the items of a buffer that other threads may change."""
    take = items.popleft if isinstance(items, deque) else items.pop
    while True:
        try:
            item = take()
        except (IndexError, KeyError):
            return
        yield item


def report(error: BaseException, where: str) -> None:
    """Report an exception of user code, or raise it again if it is an exit."""
    if is_exit(error):
        raise error
    on_error_dropped(error, where)


def report_late(error: BaseException) -> None:
    """Report an error after a cancel or the terminal signal, unless it is an exit."""
    if not is_exit(error):
        on_error_dropped(error, "the stream was cancelled or has terminated")


def on_error_dropped(error: BaseException, where: str = "") -> None:
    """Report an error that no Subscriber can receive.

    If the hook raises, only KeyboardInterrupt and SystemExit propagate.
    """
    try:
        _error_hook(error, where)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as broken:
        _log_error(broken, "raised by the hook for dropped errors")
        _log_error(error, where)


def on_next_dropped(count: int = 1, where: str = "", *, cancelled: bool = False) -> None:
    """Report elements that no Subscriber receives.

    If the hook raises, only KeyboardInterrupt and SystemExit propagate. After a cancel, the default hook writes its
    record at level DEBUG.
    """
    if count <= 0:
        return
    observer = _drop_observer  # read once: another thread may remove it
    if observer is not None:
        observer(count, where)
    if cancelled and _element_hook is _log_elements:
        import logging

        logging.getLogger("pyrs").debug("dropped %d element(s) after a cancel (%s)", count, where)
        return
    try:
        _element_hook(count, where)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as broken:
        _log_error(broken, "raised by the hook for dropped elements")
        _log_elements(count, where)


def observe_drops(observer: Callable[[int, str], object] | None) -> None:
    """Set a function that is called like the hook for dropped elements.

    None removes the function. The function must not raise.
    """
    global _drop_observer
    _drop_observer = observer


def cancel_safely(subscription: Any) -> None:
    """Cancel a Subscription or a task, if there is one, and report its error.

    A third-party ``cancel`` may raise, which violates §3.15. A Subscription of pyrs that forwards the cancel must not.
    """
    if subscription is not None:
        try:
            subscription.cancel()
        except BaseException as error:
            report(error, f"raised by cancel() of {type(subscription).__name__}")
