"""do_on_*, finally_do, checkpoint and log."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any

from pyrs._core import hooks
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import name_of, short
from pyrs._core.fusion import Chain
from pyrs._core.sites import add_note
from pyrs._core.stage import ElementStage, PushedStage, Stage, StageRun
from pyrs._core.validation import checked_callable, checked_natural

if TYPE_CHECKING:
    from logging import Logger

__all__ = [
    "Checkpoint",
    "DoOnCancel",
    "DoOnComplete",
    "DoOnError",
    "DoOnNext",
    "DoOnRequest",
    "DoOnSubscribe",
    "DoOnTerminate",
    "FinallyDo",
    "Log",
    "OnLooker",
    "amount",
]


class DoOnNext(ElementStage):
    """``do_on_next(action)``: calls the action with each element."""

    def __init__(self, action: Callable[[Any], object]) -> None:
        self.action = checked_callable(action, "action")

    def begin(self) -> Callable[[Any], Any]:
        action = self.action

        def look(element: Any) -> Any:
            action(element)
            return element

        return look

    def __repr__(self) -> str:
        return f"do_on_next({name_of(self.action)})"


class OnLooker(StageRun):
    """The run of a stage that observes the first terminal signal or cancel."""

    sees_elements = False

    def __init__(self) -> None:
        self._ended = Lock()  # never blocks: a cancel and a terminal signal may be concurrent

    def on_next(self, element: Any) -> None:
        self.emit(element)

    def on_complete(self) -> None:
        if self._ended.acquire(blocking=False):
            self.completed()
        self.complete()

    def on_error(self, error: BaseException) -> None:
        if self._ended.acquire(blocking=False):
            self.failed(error)
        self.fail(error)

    def on_cancel(self) -> None:
        if self._ended.acquire(blocking=False):
            self.cancelled()

    def completed(self) -> None:
        """Handle completion, before it is forwarded. An exception fails the stream."""

    def failed(self, error: BaseException) -> None:
        """Handle an error, before it is forwarded. Must not raise an Exception."""

    def cancelled(self) -> None:
        """Handle a cancel, before it is forwarded. Must not raise an Exception."""


class _Action(PushedStage):
    """A stage that calls a user's action at one kind of event."""

    method: str

    def __init__(self, action: Callable[..., object]) -> None:
        self.action = checked_callable(action, "action")

    def __repr__(self) -> str:
        return f"{self.method}({name_of(self.action)})"

    def attempt(self, *arguments: Any) -> None:
        """Call the action, and report its exception to the hook."""
        try:
            self.action(*arguments)
        except BaseException as error:
            if hooks.is_exit(error):
                raise
            self.blame(error)
            hooks.on_error_dropped(error, f"raised by the action of {self!r}")

    def attempt_beside(self, failure: BaseException, *arguments: Any) -> None:
        """Call the action before an error is forwarded.

        An exception of the action is added to that error as a note, and reported to the hook.
        """
        try:
            self.action(*arguments)
        except BaseException as error:
            if hooks.is_exit(error):
                raise
            self.blame(error)
            add_note(failure, f"{self!r} raised {type(error).__name__}: {error}")
            hooks.on_error_dropped(error, f"raised by the action of {self!r}")


class _ActionRun(OnLooker):
    def __init__(self, stage: _Action) -> None:
        super().__init__()
        self.stage = stage


class DoOnSubscribe(_Action):
    """``do_on_subscribe(action)``: calls the action before ``on_subscribe``."""

    method = "do_on_subscribe"

    def run(self) -> StageRun:
        return _SubscribeRun(self)


class _SubscribeRun(_ActionRun):
    def on_subscribe(self) -> None:
        self.stage.action()


class DoOnRequest(_Action):
    """``do_on_request(action)``: calls the action before a request is forwarded."""

    method = "do_on_request"

    def run(self) -> StageRun:
        return _RequestRun(self)


class _RequestRun(_ActionRun):
    def request(self, n: int) -> None:
        self.stage.attempt(n)
        self.request_upstream(n)


class DoOnComplete(_Action):
    """``do_on_complete(action)``: calls the action before completion is forwarded."""

    method = "do_on_complete"

    def run(self) -> StageRun:
        return _CompleteRun(self)


class _CompleteRun(_ActionRun):
    def completed(self) -> None:
        self.stage.action()


class DoOnError(_Action):
    """``do_on_error(action)``: calls the action before the error is forwarded."""

    method = "do_on_error"

    def run(self) -> StageRun:
        return _ErrorRun(self)


class _ErrorRun(_ActionRun):
    def failed(self, error: BaseException) -> None:
        self.stage.attempt_beside(error, error)


class DoOnTerminate(_Action):
    """``do_on_terminate(action)``: calls the action before a terminal signal."""

    method = "do_on_terminate"

    def run(self) -> StageRun:
        return _TerminateRun(self)


class _TerminateRun(_ActionRun):
    def completed(self) -> None:
        self.stage.action()

    def failed(self, error: BaseException) -> None:
        self.stage.attempt_beside(error)


class DoOnCancel(_Action):
    """``do_on_cancel(action)``: calls the action before a cancel is forwarded."""

    method = "do_on_cancel"

    def run(self) -> StageRun:
        return _CancelRun(self)


class _CancelRun(_ActionRun):
    def cancelled(self) -> None:
        self.stage.attempt()


class FinallyDo(_Action):
    """``finally_do(action)``: calls the action after a terminal signal or cancel."""

    method = "finally_do"

    def run(self) -> StageRun:
        return _FinallyRun(self)


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
        if self._ended.acquire(blocking=False):
            self.stage.attempt()


class Checkpoint(Stage):
    """``checkpoint(name)``: adds a note to every error."""

    calls_user_code = False

    def __init__(self, name: str | None) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a string, not {type(name).__name__}")
        self.name = name

    def over(self, iterator: Iterator[Any], whole: Chain[Any]) -> Iterator[Any]:
        return iterator

    def run(self) -> StageRun:
        return _CheckpointRun(self)

    def passed_by(self, error: BaseException) -> None:
        name = "a checkpoint" if self.name is None else f"checkpoint {self.name!r}"
        add_note(error, f"passed {name} at {self.site}")

    def __repr__(self) -> str:
        return "checkpoint()" if self.name is None else f"checkpoint({self.name!r})"


class _CheckpointRun(StageRun):
    sees_elements = False

    def __init__(self, stage: Checkpoint) -> None:
        self._stage = stage

    def on_next(self, element: Any) -> None:
        self.emit(element)

    def on_error(self, error: BaseException) -> None:
        self._stage.passed_by(error)
        self.fail(error)


class Log(PushedStage):
    """``log(name)``: writes a log record for each signal."""

    def __init__(self, name: str | None, logger: Logger | None, level: int, shown: str) -> None:
        if name is not None and not isinstance(name, str):
            raise TypeError(f"name must be a string, not {type(name).__name__}")
        called = (getattr(logger, method, None) for method in ("log", "isEnabledFor"))  # accepts a LoggerAdapter too
        if logger is not None and (isinstance(logger, type) or not all(map(callable, called))):
            raise TypeError(f"logger must be a logging.Logger, not {type(logger).__name__}")
        self.name = name
        self.logger = logger
        self.level = checked_natural(level, "level")
        self.shown = name or shown

    def run(self) -> StageRun:
        from logging import getLogger  # imported on first use

        return _LogRun(self.shown, self.logger or getLogger("pyrs.stream"), self.level)

    def __repr__(self) -> str:
        return "log()" if self.name is None else f"log({self.name!r})"


class _LogRun(OnLooker):
    sees_elements = True

    def __init__(self, name: str, logger: Logger, level: int) -> None:
        super().__init__()
        self._name = name
        self._logger = logger
        self._level = level

    def _say(self, signal: str, *argument: object) -> None:
        if self._logger.isEnabledFor(self._level):
            text = short(argument[0]) if argument else ""
            self._logger.log(self._level, "%s: %s(%s)", self._name, signal, text)

    def on_subscribe(self) -> None:
        self._say("on_subscribe")

    def on_next(self, element: Any) -> None:
        self._say("on_next", element)
        self.emit(element)

    def completed(self) -> None:
        self._say("on_complete")

    def failed(self, error: BaseException) -> None:
        self._say("on_error", error)

    def cancelled(self) -> None:
        self._say("cancel")

    def request(self, n: int) -> None:
        if self._logger.isEnabledFor(self._level):
            self._logger.log(self._level, "%s: request(%s)", self._name, amount(n))
        self.request_upstream(n)


def amount(n: int) -> str:
    """Return a demand as text."""
    return "unbounded" if n >= UNBOUNDED else str(n)
