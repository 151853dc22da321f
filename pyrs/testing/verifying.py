"""VerifyingSubscriber: a Subscriber that runs the steps of a StepVerifier."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from threading import Condition, get_ident
from time import monotonic
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.display import short
from pyrs._core.states import Signal, State
from pyrs.api import Publisher, Subscriber, Subscription
from pyrs.errors import NullSignal
from pyrs.testing import overlap
from pyrs.testing.signal_log import SignalLog
from pyrs.testing.steps import Await, Command, Do, Expect, Mismatch, Pause, Script, ScriptStep
from pyrs.testing.subscription import Emission

T = TypeVar("T")

MAX_WAITING_SIGNALS = 100_000  # the verification fails if more signals wait for a step
_UNSET = object()
POLL_SECONDS = 0.01  # the interval at which virtual time is checked for tasks that another thread scheduled


class VerifyingSubscriber(Subscriber[T], Generic[T]):
    """Runs the steps as far as received signals allow, on the thread of each signal.

    Steps run inside the signals, so that an endless stream can be cancelled there. One thread runs the script at a
    time. The script is not running while a step calls the Publisher, so signals emitted inside that call are processed
    at once. Only the verifying thread waits, and calls the actions that are marked ``on_verifying_thread``.

    Rules: 2.1, 2.3, 2.5, 2.6, 2.8, 2.13.
    """

    def __init__(
        self,
        steps: Sequence[ScriptStep],
        request: int,
        seconds: float,
        pass_time: Callable[[float], object] | None = None,
        context: Sequence[tuple[ContextVar[Any], Any]] = (),
    ) -> None:
        self.recorded: Any = None
        self._context = context  # the variables and values that each signal must see
        self._steps = steps
        self._first_request = request
        self._seconds = seconds
        self._deadline = monotonic() + seconds
        self._pass_time = pass_time  # advances virtual time; None waits in real time
        self._verifying_thread = get_ident()
        self._changed = Condition()
        self._log = SignalLog()
        self._subscription: Subscription | None = None
        self._inbox: deque[Emission] = deque()
        self._number = 0  # the number of the current step
        self._script: Script = self._run_steps()
        self._command: Command | None = None  # the last command of the script; None if it was executed
        self._running = False
        self._ended = False
        self._failure: AssertionError | None = None

    # The Subscriber

    def on_subscribe(self, subscription: Subscription, /) -> None:
        with self._changed:
            first = self._subscription is None
            if first:
                self._subscription = subscription
            self._log.enter(Signal.ON_SUBSCRIBE, subscription)
        self._check_context(Signal.ON_SUBSCRIBE)
        self._refuse_none(Signal.ON_SUBSCRIBE, subscription)
        try:
            if not first:
                subscription.cancel()  # 2.5
            elif self._ended:
                self.cancel()  # 2.6
            else:
                self._inbox.append(Emission(Signal.ON_SUBSCRIBE, subscription))
                if self._first_request:
                    self.request(self._first_request)
            self._react()
        finally:
            self._leave()

    def on_next(self, element: T, /) -> None:
        self._signalled(Signal.ON_NEXT, element)

    def on_error(self, error: BaseException, /) -> None:
        self._signalled(Signal.ON_ERROR, error)

    def on_complete(self) -> None:
        self._signalled(Signal.ON_COMPLETE)

    # The operations that a step may call

    def request(self, n: int) -> None:
        """Request ``n`` more elements."""
        with self._changed:
            self._log.requested(n)
            subscription = self._subscription
        assert subscription is not None  # the first step has seen it
        subscription.request(n)

    def cancel(self) -> None:
        """Cancel the Subscription if it is active."""
        with self._changed:
            if self._log.state is not State.ACTIVE:
                return
            self._log.cancelled()
            subscription = self._subscription
        if subscription is not None:
            subscription.cancel()

    def put_back(self, emission: Emission) -> None:
        """Make the signal the next one again."""
        self._inbox.appendleft(emission)

    # The verifying thread

    def start(self, publisher: Publisher[T]) -> None:
        """Subscribe. Steps run when their signals arrive, if they can run on any thread."""
        try:
            publisher.subscribe(self)
        except Exception as error:
            self._fail("subscribe() that returns normally (1.9)", repr(error), error)
        except BaseException:
            self._ended = True
            self.cancel()  # 2.6
            raise

    def finish(self, seconds: float | None = None) -> None:
        """Run the script to its end, on this thread; raise AssertionError if it failed.

        ``seconds`` is the deadline for the rest of a verification that another thread may have started.
        """
        if seconds is not None:
            self._verifying_thread = get_ident()
            self._seconds = seconds
            self._deadline = monotonic() + seconds
        try:
            while not self._ended:
                self._advance()
                self._do(self._wait())
        finally:
            self._ended = True
            self.cancel()  # 2.6
        with self._changed:
            failure = self._failure
            if failure is None and self._log.violations:
                failure = self._failed("a Publisher that obeys the rules", self._log.violations[0])
        if failure is not None:
            raise failure

    def _wait(self) -> Command | None:
        """Wait until the script can continue or needs this thread; return its command."""
        if self._pass_time is not None:
            self._pass_time(0.0)  # runs the tasks that are due
        with self._changed:
            while not (self._ended or self._ready() or self._needs_verifying_thread()):
                left = self._deadline - monotonic()
                if left <= 0:
                    return self._command
                if self._pass_time is not None:
                    self._changed.wait(min(left, POLL_SECONDS))
                    return None  # check virtual time again
                self._changed.wait(left)
            return self._command if self._needs_verifying_thread() else None

    def _do(self, command: Command | None) -> None:
        if command is None or self._ended:
            return
        if isinstance(command, Expect):
            self._timed_out()
        elif isinstance(command, Do):
            self._call(command)
        else:
            self._pass(command.seconds)
            with self._changed:
                if self._command is command:
                    self._command = None

    def _pass(self, seconds: float) -> None:
        if self._pass_time is not None:
            self._pass_time(seconds)
            return
        end = monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._ended, min(end, self._deadline) - monotonic())
        if end > self._deadline:
            self._timed_out()

    # The script

    def _run_steps(self) -> Script:
        for number, step in enumerate(self._steps):
            self._number = number
            yield from step.run(self, *step.arguments)

    def _ready(self) -> bool:
        if self._running:
            return False
        return self._command is None or (isinstance(self._command, Expect) and bool(self._inbox))

    def _needs_verifying_thread(self) -> bool:
        return isinstance(self._command, (Await, Pause)) or (
            isinstance(self._command, Do) and self._command.on_verifying_thread
        )

    def _advance(self) -> None:
        """Run the script as far as possible without waiting, on one thread at a time."""
        while True:
            with self._changed:
                urgent = self._command if self._inbox and self._verifying_thread == get_ident() else None
                ready = self._ready() and not self._ended
                if ready:
                    self._running = True
            if ready:
                self._resume()
            elif isinstance(urgent, Do) and not self._ended:
                self._call(urgent)  # the signal arrived on the verifying thread: the action runs inside it
            else:
                return

    def _resume(self) -> None:
        signal = self._inbox.popleft() if isinstance(self._command, Expect) else None
        expected = self._command.expected if isinstance(self._command, Expect) else "the step to return normally"
        command: Command | None = None
        try:
            command = self._script.send(signal)  # type: ignore[arg-type]
        except StopIteration:
            self._ended = True
        except BaseException as error:
            if isinstance(error, Mismatch):
                cause = signal.value if signal is not None and signal.kind is Signal.ON_ERROR else None
                self._fail(expected, str(signal), cause)
            else:
                asserted = isinstance(error, AssertionError)
                self._fail("an assertion that holds" if asserted else expected, repr(error), error)
                if hooks.is_exit(error):
                    raise
        finally:
            with self._changed:
                self._running = False
                self._command = command
                self._changed.notify_all()
        if isinstance(command, Pause) and self._inbox:
            self._unexpected(self._inbox[0])
        elif isinstance(command, Do) and not command.on_verifying_thread:
            self._call(command)

    def _call(self, command: Do) -> None:
        with self._changed:
            if self._command is not command:
                return
            self._command = None  # set before the call: its signals continue the script
            number = self._number
            self._changed.notify_all()
        try:
            command.action()
        except BaseException as error:
            self._fail("the step to return normally", repr(error), error, number)
            if hooks.is_exit(error):
                raise

    # Signals

    def _signalled(self, kind: Signal, value: Any = None) -> None:
        with self._changed:
            self._log.enter(kind, value)
        self._check_context(kind)
        self._refuse_none(kind, value)
        try:
            if kind is Signal.ON_NEXT:
                overlap.hold()
            emission = Emission(kind, value)
            with self._changed:
                pausing = isinstance(self._command, Pause)
                if not self._ended:
                    self._inbox.append(emission)
            if pausing:
                self._unexpected(emission)
            self._react()
        finally:
            self._leave()

    def _react(self) -> None:
        if self._ended:
            return
        if self._log.violations:
            self._fail("a Publisher that obeys the rules", self._log.violations[0])
        elif monotonic() > self._deadline:
            self._timed_out()
        elif len(self._inbox) > MAX_WAITING_SIGNALS:
            self._fail("the step to end", f"more than {MAX_WAITING_SIGNALS:,} signals waiting for it")
        else:
            self._advance()

    def _refuse_none(self, kind: Signal, value: Any) -> None:
        if value is None and kind is not Signal.ON_COMPLETE:
            self._react()
            self._leave()
            raise NullSignal(f"{kind.value}(None)")  # 2.13

    def _check_context(self, kind: Signal) -> None:
        for variable, expected in self._context:
            seen = variable.get(_UNSET)
            if seen is not expected and seen != expected:
                shown = "no value" if seen is _UNSET else short(seen)
                self._fail(f"{kind.value} with {variable.name} = {short(expected)}", f"{kind.value} with {shown}")

    def _leave(self) -> None:
        with self._changed:
            self._log.leave()
            self._changed.notify_all()

    # Failures

    def _unexpected(self, emission: Emission) -> None:
        self._fail("no signal", str(emission), emission.value if emission.kind is Signal.ON_ERROR else None)

    def _timed_out(self) -> None:
        with self._changed:
            expected = self._command.expected if isinstance(self._command, Expect) else "the step to end"
        self._fail(expected, f"nothing more within {self._seconds:g} seconds")

    def _fail(
        self, expected: str, received: str, cause: BaseException | None = None, number: int | None = None
    ) -> None:
        with self._changed:
            if self._ended:
                return
            self._failure = self._failed(expected, received, cause, number)
            self._ended = True
            self._changed.notify_all()
        self.cancel()

    def _failed(
        self, expected: str, received: str, cause: BaseException | None = None, number: int | None = None
    ) -> AssertionError:
        number = self._number if number is None else number
        step = self._steps[number]
        where = f"step {number} of {len(self._steps) - 1}, {step.text}" + (f", {step.site}" if step.site else "")
        failure = AssertionError(
            f"{where}\n  expected: {expected}\n  received: {received}\n  so far: {self._log.summary()}"
        )
        failure.__cause__ = cause if isinstance(cause, BaseException) else None  # a Publisher may signal anything
        return failure
