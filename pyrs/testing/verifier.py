"""StepVerifier: a script of the expected signals of a Publisher."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextvars import ContextVar, copy_context
from copy import copy
from math import inf
from time import monotonic
from typing import Any, Generic, TypeVar

from pyrs._core.blocked_threads import while_blocked
from pyrs._core.demand import UNBOUNDED
from pyrs._core.display import name_of, short
from pyrs._core.sites import assembly_site
from pyrs._core.validation import (
    checked_callable,
    checked_integer,
    checked_natural,
    checked_publisher,
    checked_seconds,
    checked_timeout,
)
from pyrs.api import Publisher
from pyrs.testing import steps
from pyrs.testing.dropped import DroppedAssertions, watched
from pyrs.testing.steps import Await, Do, Expect, Pause, Script, ScriptStep
from pyrs.testing.verifying import VerifyingSubscriber

T = TypeVar("T")
R = TypeVar("R")

TIMEOUT = 10.0  # seconds


class StepVerifier(Generic[T]):
    """A script of expected signals, run by one of the ``verify`` methods.

    Steps run in order, each when the signal that it waits for arrives, on the thread of that signal; tasks and waiting
    run on the verifying thread. A failed verification raises AssertionError with the step (its number, text and line),
    the expected signal, the received one and the signals so far. A verification also fails if the Publisher violates a
    rule (1.1, 1.3, 1.4, 1.7, 1.9, 2.12, 2.13), and at the deadline. It always cancels its Subscription.

    Requests the initial demand of ``create``, unbounded by default, plus that of ``then_request``. Drops nothing; up to
    100,000 signals may wait for a step.

    ``create`` and ``with_virtual_time`` return a verifier. The last step defines the expected termination:
    ``expect_complete``, ``expect_error``, ``expect_error_matches``, ``expect_timeout`` or, at any position,
    ``then_cancel``. A verifier can be used several times.

    Examples:
        >>> import pyrs
        >>> verifier = StepVerifier.create(pyrs.range(5), request=2).expect_next(0, 1)
        >>> _ = verifier.then_request(9).expect_next_count(2).expect_next_matches(lambda n: n == 4).verify_complete()
        >>> StepVerifier.create(pyrs.just(1)).expect_next(2).verify_complete()  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        AssertionError: step 1 of 2, expect_next(2), ...:1
          expected: on_next(2)
          received: on_next(1)
          so far: on_subscribe, request(unbounded), on_next(1)
    """

    def __init__(self, factory: Callable[[], Publisher[T]], text: str, request: int | None, virtual: bool) -> None:
        self._factory = factory
        self._virtual = virtual
        self._request = UNBOUNDED if request is None else checked_natural(request, "request")
        self._steps = [ScriptStep(text, assembly_site(), steps.commands, (Expect("on_subscribe"),))]
        self._initial: list[tuple[ContextVar[Any], Any]] = []
        self._expected: list[tuple[ContextVar[Any], Any]] = []
        self._started: _Started | None = None  # set by verify_later

    def __repr__(self) -> str:
        return "\n".join(["StepVerifier", *(f"  {n}. {step.text}" for n, step in enumerate(self._steps))])

    @staticmethod
    def create(publisher: Publisher[T], request: int | None = None) -> StepVerifier[T]:
        """Start the script for a Publisher.

        Args:
            publisher: each ``verify`` subscribes to it.
            request: the initial demand; 0 for none, None for unbounded.

        Raises:
            TypeError: ``publisher`` is not a Publisher, or ``request`` is not an integer.
            ValueError: ``request`` is negative.
        """
        checked_publisher(publisher, "publisher")
        return StepVerifier(lambda: publisher, f"create({short(publisher)})", request, virtual=False)

    @staticmethod
    def with_virtual_time(factory: Callable[[], Publisher[T]], request: int | None = None) -> StepVerifier[T]:
        """Start the script for a Publisher with time-based operators, in virtual time.

        Args:
            factory: returns the Publisher; each ``verify`` calls it, with a new ``pyrs.schedulers.VirtualTime`` as the
                current scheduler. ``then_await``, ``expect_no_event`` and ``expect_timeout`` advance that clock.
            request: as for ``create``.

        Examples:
            >>> import pyrs
            >>> from pyrs import schedulers
            >>> def an_hour_later():
            ...     publisher = TestPublisher()
            ...     schedulers.current().schedule(publisher.complete, delay=3600)
            ...     return publisher
            >>> from pyrs.testing import TestPublisher
            >>> StepVerifier.with_virtual_time(an_hour_later).expect_no_event(3599).then_await(1).verify_complete()
            3600.0
        """
        checked_callable(factory, "factory")
        return StepVerifier(factory, f"with_virtual_time({name_of(factory)})", request, virtual=True)

    # Context

    def with_context(self, variable: ContextVar[R], value: R) -> StepVerifier[T]:
        """Set a context variable for the ``subscribe`` call of each verification."""
        self._initial.append((_checked_variable(variable), value))
        return self

    def expect_context(self, variable: ContextVar[R], value: R) -> StepVerifier[T]:
        """Expect every signal of the stream to see this value of a context variable.

        Examples:
            >>> import pyrs
            >>> from contextvars import ContextVar
            >>> from pyrs import schedulers
            >>> user = ContextVar("user")
            >>> verifier = StepVerifier.create(pyrs.just(1).publish_on(schedulers.default())).with_context(user, "ada")
            >>> seconds = verifier.expect_context(user, "ada").expect_next(1).verify_complete()
        """
        self._expected.append((_checked_variable(variable), value))
        return self

    # Elements

    def expect_subscription(self) -> StepVerifier[T]:
        """Expect ``on_subscribe``. Every script starts with this step implicitly."""
        return self._add("expect_subscription()", steps.commands)  # the first step has waited for it

    def expect_next(self, *elements: T) -> StepVerifier[T]:
        """Expect these elements."""
        return self._add(f"expect_next({', '.join(map(short, elements))})", steps.expect_elements, elements)

    def expect_next_sequence(self, elements: Iterable[T]) -> StepVerifier[T]:
        """Expect the elements of an iterable. An iterator serves only one verification."""
        if not hasattr(elements, "__iter__"):
            raise TypeError(f"elements must be iterable, not {type(elements).__name__}")
        return self._add(f"expect_next_sequence({short(elements)})", steps.expect_elements, elements)

    def expect_next_count(self, count: int) -> StepVerifier[T]:
        """Expect ``count`` elements of any value."""
        count = checked_natural(count, "count")
        return self._add(f"expect_next_count({count})", steps.expect_count, count)

    def expect_next_matches(self, predicate: Callable[[T], object]) -> StepVerifier[T]:
        """Expect an element for which the predicate returns true."""
        checked_callable(predicate, "predicate")
        return self._add(f"expect_next_matches({name_of(predicate)})", steps.expect_matching, predicate)

    def consume_next_with(self, action: Callable[[T], object]) -> StepVerifier[T]:
        """Expect an element and call the action with it; the step fails if that raises."""
        checked_callable(action, "action")
        return self._add(f"consume_next_with({name_of(action)})", steps.consume, action)

    def consume_while(
        self, predicate: Callable[[T], object], action: Callable[[T], object] | None = None
    ) -> StepVerifier[T]:
        """Consume elements while the predicate returns true; call the action with each."""
        checked_callable(predicate, "predicate")
        if action is not None:
            checked_callable(action, "action")
        return self._add(f"consume_while({name_of(predicate)})", steps.consume_while, predicate, action)

    # Collecting

    def record_with(self, factory: Callable[[], Any] = list) -> StepVerifier[T]:
        """Collect the elements of the following steps in the factory's result.

        The result must have a method ``append`` or ``add``.
        """
        checked_callable(factory, "factory")
        return self._add(f"record_with({name_of(factory)})", steps.record_with, factory)

    def consume_recorded_with(self, action: Callable[[Any], object]) -> StepVerifier[T]:
        """Call the action with the collected elements, and stop collecting.

        If the action raises, the step fails.
        """
        checked_callable(action, "action")
        self._has_recording("consume_recorded_with")
        return self._add(f"consume_recorded_with({name_of(action)})", steps.consume_recorded, action)

    def expect_recorded_matches(self, predicate: Callable[[Any], object]) -> StepVerifier[T]:
        """Expect the predicate to be true for the collected elements; stop collecting."""
        checked_callable(predicate, "predicate")
        self._has_recording("expect_recorded_matches")
        return self._add(f"expect_recorded_matches({name_of(predicate)})", steps.expect_recorded, predicate)

    # Actions

    def then(self, task: Callable[[], object]) -> StepVerifier[T]:
        """Run the task on the verifying thread. If the task raises, the step fails."""
        checked_callable(task, "task")
        return self._add(f"then({name_of(task)})", steps.commands, Do(task, on_verifying_thread=True))

    def then_request(self, n: int) -> StepVerifier[T]:
        """Request ``n`` more elements. ``n <= 0`` is forwarded too, to test §3.9."""
        n = checked_integer(n, "n")
        return self._add(f"then_request({n})", steps.then_request, n)

    def then_cancel(self) -> StepVerifier[T]:
        """Cancel the Subscription. Steps may follow, such as ``expect_no_event``."""
        return self._add("then_cancel()", steps.then_cancel, cancels=True)

    def then_await(self, seconds: float = 0.0) -> StepVerifier[T]:
        """Wait for the given time; buffer signals for the following steps."""
        seconds = checked_seconds(seconds, "seconds")
        return self._add(f"then_await({seconds:g})", steps.commands, Await(seconds))

    def expect_no_event(self, seconds: float) -> StepVerifier[T]:
        """Expect no signal for the given time."""
        seconds = checked_seconds(seconds, "seconds")
        return self._add(f"expect_no_event({seconds:g})", steps.commands, Pause(seconds))

    # Termination

    def expect_complete(self) -> StepVerifier[T]:
        """Expect ``on_complete``."""
        return self._add("expect_complete()", steps.expect_complete, ends=True)

    def expect_error(self, kind: type[BaseException] | None = None, *, matching: str | None = None) -> StepVerifier[T]:
        """Expect ``on_error``.

        Args:
            kind: the type of the error.
            matching: a regular expression to search in the message of the error.
        """
        given_kind: object = kind
        if kind is not None and not (isinstance(given_kind, type) and issubclass(given_kind, BaseException)):
            raise TypeError(f"kind must be a class of exceptions, not {short(kind)}")
        if matching is not None:
            if not isinstance(matching, str):
                raise TypeError(f"matching must be a regular expression as a string, not {type(matching).__name__}")
            re.compile(matching)
        given = ([] if kind is None else [kind.__name__]) + ([] if matching is None else [f"matching={matching!r}"])
        return self._add(f"expect_error({', '.join(given)})", steps.expect_error, kind, matching, None, ends=True)

    def expect_error_matches(self, predicate: Callable[[BaseException], object]) -> StepVerifier[T]:
        """Expect ``on_error`` with an error for which the predicate returns true."""
        checked_callable(predicate, "predicate")
        text = f"expect_error_matches({name_of(predicate)})"
        return self._add(text, steps.expect_error, None, None, predicate, ends=True)

    def expect_timeout(self, seconds: float) -> StepVerifier[T]:
        """Expect no signal for the given time, then cancel."""
        seconds = checked_seconds(seconds, "seconds")
        return self._add(f"expect_timeout({seconds:g})", steps.expect_timeout, seconds, ends=True)

    # Verification

    def verify(self, timeout: float = TIMEOUT) -> float:
        """Subscribe and run the script. Blocks the calling thread.

        If an asyncio loop runs on that thread, coroutine functions and asynchronous sources of the stream run on the
        background loop, as for ``collect``.

        Args:
            timeout: the deadline of the whole verification, in seconds of real time.

        Returns:
            The duration in seconds; of virtual time, if the script uses that.

        Raises:
            AssertionError: another signal arrived, none arrived in time, or the Publisher violated a rule.
            RuntimeError: no step defines the expected termination.
        """
        timeout = checked_timeout(timeout, "timeout")
        started, self._started = self._started, None
        if started is not None:
            return while_blocked(started.finish, timeout)
        return while_blocked(lambda: _Started(self, timeout).finish(None))

    def verify_later(self) -> StepVerifier[T]:
        """Subscribe now, and return a verifier whose ``verify`` waits for the end.

        Use it to verify several Publishers concurrently. Steps that expect signals run when the signals arrive.
        ``then`` and steps that wait run in ``verify``, whose deadline starts with that call. A signal on the thread of
        this call also runs a ``then`` that precedes its step. Each call of this method subscribes once.

        Raises:
            RuntimeError: no step defines the expected termination.

        Examples:
            >>> from pyrs import sinks
            >>> sink = sinks.multicast()
            >>> both = [StepVerifier.create(sink.stream).expect_next(1).expect_complete().verify_later() for _ in "ab"]
            >>> sink.emit(1)
            >>> sink.emit_complete()
            >>> seconds = [verifier.verify() for verifier in both]
        """
        later = copy(self)
        later._steps = list(self._steps)
        later._started = _Started(self, None)
        return later

    def verify_complete(self, timeout: float = TIMEOUT) -> float:
        """Expect ``on_complete``, and verify."""
        return self.expect_complete().verify(timeout)

    def verify_error(
        self, kind: type[BaseException] | None = None, *, matching: str | None = None, timeout: float = TIMEOUT
    ) -> float:
        """Expect ``on_error``, and verify."""
        return self.expect_error(kind, matching=matching).verify(timeout)

    def verify_timeout(self, seconds: float, timeout: float = TIMEOUT) -> float:
        """Expect no signal for the given time, cancel, and verify."""
        return self.expect_timeout(seconds).verify(timeout)

    def verify_then_assert_that(self, timeout: float = TIMEOUT) -> DroppedAssertions:
        """Verify, and return assertions on the elements and errors dropped in that time.

        The dropped-signal hooks do not receive them.
        """
        with watched() as dropped:
            self.verify(timeout)
        return dropped

    def _add(
        self, text: str, run: Callable[..., Script], *arguments: Any, ends: bool = False, cancels: bool = False
    ) -> StepVerifier[T]:
        last = self._steps[-1]
        if last.ends:
            raise RuntimeError(f"{text} cannot follow {last.text}, after which the stream has terminated")
        self._steps.append(ScriptStep(text, assembly_site(), run, arguments, ends, cancels))
        return self

    def _has_recording(self, name: str) -> None:
        if not any(step.text.startswith("record_with(") for step in self._steps):
            raise RuntimeError(f"{name} needs a record_with before it")


def _checked_variable(variable: ContextVar[R]) -> ContextVar[R]:
    given: object = variable
    if not isinstance(given, ContextVar):
        raise TypeError(f"variable must be a contextvars.ContextVar, not {type(given).__name__}")
    return variable


class _Started:
    """A verification that has subscribed."""

    def __init__(self, verifier: StepVerifier[Any], timeout: float | None) -> None:
        script, factory = tuple(verifier._steps), verifier._factory
        if not any(step.ends or step.cancels for step in script):
            raise RuntimeError("no terminal step: add expect_complete, expect_error, expect_timeout or then_cancel")
        self._begin = monotonic()
        self._virtual: Any = None
        if verifier._virtual:
            from pyrs import schedulers

            self._virtual = schedulers.VirtualTime()
        pass_time = self._virtual.advance_by if self._virtual else None
        seconds = inf if timeout is None else timeout
        request, expected = verifier._request, tuple(verifier._expected)
        self._context = copy_context()
        for variable, value in verifier._initial:
            self._context.run(variable.set, value)

        def start() -> VerifyingSubscriber[Any]:
            publisher = checked_publisher(factory(), "factory()")
            subscriber = VerifyingSubscriber[Any](script, request, seconds, pass_time, expected)
            subscriber.start(publisher)
            return subscriber

        self._subscriber: VerifyingSubscriber[Any] = self._run_in_context(start)

    def finish(self, timeout: float | None) -> float:
        """Run the script to its end, and return the duration."""
        self._run_in_context(lambda: self._subscriber.finish(timeout))
        return monotonic() - self._begin if self._virtual is None else float(self._virtual.now())

    def _run_in_context(self, function: Callable[[], R]) -> R:
        if self._virtual is None:
            return self._context.run(function)
        from pyrs import schedulers

        def with_clock() -> R:
            with schedulers.use(self._virtual):
                return function()

        return self._context.run(with_clock)
