"""do_on_*, finally_do, checkpoint and log."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyrs._core import hooks
from pyrs._core.context import attach, bound, capture
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import LazyText, name_of, short
from pyrs._core.downstream import SubscriberWrapper, checked_subscriber
from pyrs._core.fusion import Chain, IteratorConsumer
from pyrs._core.operator import Operator
from pyrs._core.sites import Site, add_note, blame
from pyrs._core.stage import ElementStage, FunctionStage, PushedStage, Stage, StageRun
from pyrs._core.validation import checked_callable, checked_natural, checked_string
from pyrs.api import Publisher, Subscriber

if TYPE_CHECKING:
    from logging import Logger


class DoOnNext(FunctionStage, ElementStage):
    """``do_on_next(action)``: calls the action with each element."""

    name, parameter = "do_on_next", "action"
    saved = ()

    def begin(self) -> Callable[[Any], Any]:
        action = self.function

        def observe(element: Any) -> Any:
            action(element)
            return element

        return observe


class ObservingRun(StageRun):
    """The run of a stage that observes the first terminal signal or cancel."""

    sees_elements = False

    def __init__(self) -> None:
        self._handled = Lock()  # acquired by the first terminal signal or cancel, and never released

    def on_complete(self) -> None:
        if self._handled.acquire(blocking=False):
            self.ended("on_complete", None)
        self.complete()

    def on_error(self, error: BaseException) -> None:
        self._observe("on_error", error)
        self.fail(error)

    def on_cancel(self) -> None:
        self._observe("cancel", None)

    def _observe(self, how: str, error: BaseException | None) -> None:
        if self._handled.acquire(blocking=False):
            try:
                self.ended(how, error)
            except BaseException as raised:
                hooks.report(raised, f"raised while {how} was observed")

    @abstractmethod
    def ended(self, how: str, error: BaseException | None) -> None:
        """Handle the first ``on_complete``, ``on_error`` or ``cancel``.

        Called before the signal or the cancel is forwarded. An exception at ``on_complete`` fails the stream; one at
        ``on_error`` or ``cancel`` is reported as dropped.
        """


class _ActionRun(ObservingRun):
    """Calls the action at the signals in ``stage.events``."""

    def __init__(self, stage: Action) -> None:
        super().__init__()
        self.stage = stage
        self._context = capture()

    def attempt(self, *arguments: Any, failure: BaseException | None = None) -> None:
        """Call the action in the context of ``subscribe``, also for requests and cancels."""
        bound(partial(self.stage.attempt, *arguments, failure=failure), self._context)()

    def ended(self, how: str, error: BaseException | None) -> None:
        stage = self.stage
        if how not in stage.events:
            pass
        elif how == "on_complete":
            stage.action()
        else:
            self.attempt(*() if stage.method != "do_on_error" else (error,), failure=error)


class _SubscribeRun(_ActionRun):
    def on_subscribe(self) -> None:
        self.stage.action()


class _RequestRun(_ActionRun):
    def request(self, n: int) -> None:
        self.attempt(n)
        self.request_upstream(n)


class _FinallyRun(_ActionRun):
    def on_complete(self) -> None:
        try:
            self.complete()
        finally:
            self.release()

    def on_error(self, error: BaseException) -> None:
        try:
            self.fail(error)
        finally:
            self.release()

    def on_cancel(self) -> None:
        """Do nothing: ``release`` calls the action after upstream was cancelled."""

    def release(self) -> None:
        if self._handled.acquire(blocking=False):
            self.attempt()


_RUNS = {"do_on_subscribe": _SubscribeRun, "do_on_request": _RequestRun, "finally_do": _FinallyRun}

_EVENTS = {
    "do_on_complete": ("on_complete",),
    "do_on_error": ("on_error",),
    "do_on_terminate": ("on_complete", "on_error"),
    "do_on_cancel": ("cancel",),
}
"""The events of the methods whose run is an ``_ActionRun``."""


class _DiscardingSubscriber(SubscriberWrapper[Any]):
    """Adds the function to ``discards``, which operators upstream read."""

    def __init__(self, subscriber: Subscriber[Any], operator: DoOnDiscard) -> None:
        super().__init__(subscriber)
        # Bound to the context of ``subscribe``, because any thread may cancel.
        self.discards = (bound(operator.receive, capture()), *self.discards)
        self.on_next = subscriber.on_next  # type: ignore[method-assign]  # saves a Python frame per element


class _DiscardingConsumer(_DiscardingSubscriber, IteratorConsumer[Any]):
    def __init__(self, subscriber: Any, operator: DoOnDiscard) -> None:
        super().__init__(subscriber, operator)
        self.steady_only = subscriber.steady_only
        self.consume = subscriber.consume  # type: ignore[method-assign]

    def consume(self, iterator: Iterator[Any], limit: int) -> int:
        raise NotImplementedError  # replaced in the instance


class DoOnDiscard(Operator[Any]):
    """``do_on_discard(function)``: calls it with elements that upstream drops."""

    def __init__(self, source: Publisher[Any], function: Callable[[Any], object]) -> None:
        checked_callable(function, "function")
        super().__init__(source, f"do_on_discard({name_of(function)})")
        self.receive = _receiver(function, self.call, self.site)
        self.carries_context = getattr(source, "carries_context", False)

    def subscribe(self, subscriber: Subscriber[Any], /) -> None:
        subscriber = checked_subscriber(subscriber)
        wrapper = _DiscardingConsumer if isinstance(subscriber, IteratorConsumer) else _DiscardingSubscriber
        attach(self.source, wrapper(subscriber, self))


def _receiver(function: Callable[[Any], object], call: object, site: Site | None) -> Callable[[Any], None]:
    """Wrap the function, to add notes to its errors.

    The result has no reference to the operator or the source, because a bridge stores the result until the elements in
    flight arrive.
    """

    def receive(element: Any) -> None:
        try:
            function(element)
        except Exception as error:
            blame(error, call, site)
            raise

    return receive


class Action(PushedStage):
    """``finally_do``, and all ``do_on_*`` except ``do_on_next`` and ``do_on_discard``."""

    def __init__(self, method: str, action: Callable[..., object]) -> None:
        self.method = method
        self.action = checked_callable(action, "action")
        self.events = _EVENTS.get(method, ())
        self.call = f"{method}({name_of(action)})"

    def run(self) -> StageRun:
        return _RUNS.get(self.method, _ActionRun)(self)

    def attempt(self, *arguments: Any, failure: BaseException | None = None) -> None:
        """Call the action, and report its exception to the dropped-errors hook.

        The exception is also added as a note to ``failure``, the error that the stream is about to forward.
        """
        try:
            self.action(*arguments)
        except BaseException as error:
            self.blame(error)
            if failure is not None and not hooks.is_exit(error):
                add_note(failure, f"{self!r} raised {type(error).__name__}: {error}")
            hooks.report(error, f"raised by the action of {self!r}")


class _CheckpointRun(StageRun):
    sees_elements = False

    def __init__(self, stage: Checkpoint) -> None:
        self._stage = stage

    def on_error(self, error: BaseException) -> None:
        self._stage.on_chain_error(error)
        self.fail(error)


class Checkpoint(Stage):
    """``checkpoint(name)``: adds a note to every error."""

    calls_user_code = False
    run_type = _CheckpointRun

    def __init__(self, name: str | None) -> None:
        self.name = name if name is None else checked_string(name, "name")
        self.call = f"checkpoint({'' if name is None else repr(name)})"

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return iterator

    def on_chain_error(self, error: BaseException) -> None:
        name = "a checkpoint" if self.name is None else f"checkpoint {self.name!r}"
        add_note(error, f"passed {name} at {self.site}")


class Log(PushedStage):
    """``log(name)``: writes a log record for each signal."""

    def __init__(self, name: str | None, logger: Logger | None, level: int, shown: LazyText) -> None:
        self.name = name if name is None else checked_string(name, "name")
        called = (getattr(logger, method, None) for method in ("log", "isEnabledFor"))  # a LoggerAdapter has both
        if logger is not None and (isinstance(logger, type) or not all(map(callable, called))):
            raise TypeError(f"logger must be a logging.Logger, not {type(logger).__name__}")
        self.logger = logger
        self.level = checked_natural(level, "level")
        self.shown: str | LazyText = name or shown
        self.call = f"log({'' if name is None else repr(name)})"

    def run(self) -> StageRun:
        from logging import getLogger  # imported on first use

        return _LogRun(self.shown, self.logger or getLogger("pyrs.stream"), self.level)


class _LogRun(ObservingRun):
    sees_elements = True
    request_may_raise = True

    def __init__(self, name: str | LazyText, logger: Logger, level: int) -> None:
        super().__init__()
        self._name = name
        self._logger = logger
        self._level = level

    def _log(self, signal: str, *argument: object) -> None:
        if self._logger.isEnabledFor(self._level):
            self._logger.log(self._level, "%s: %s(%s)", self._name, signal, "".join(map(short, argument)))

    def on_subscribe(self) -> None:
        self._log("on_subscribe")

    def on_next(self, element: Any) -> None:
        self._log("on_next", element)
        self.emit(element)

    def ended(self, how: str, error: BaseException | None) -> None:
        self._log(how, *() if error is None else (error,))

    def request(self, n: int) -> None:
        if self._logger.isEnabledFor(self._level):
            self._logger.log(self._level, "%s: request(%s)", self._name, amount(n))
        self.request_upstream(n)


def amount(n: int) -> str:
    """Return a demand as text."""
    return "unbounded" if n >= UNBOUNDED else str(n)
