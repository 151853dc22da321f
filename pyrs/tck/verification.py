"""The base of the four verifications: run a test, skip it, call hooks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from inspect import iscoroutinefunction
from types import MappingProxyType
from typing import Any, ClassVar

from pyrs.tck.environment import HookFailed, R, Skipped, TestEnvironment, described, named
from pyrs.tck.expected import Kind, kind_of, why_untested

# The counterparts of Java's NullPointerException: TypeError (pyrs' NullSignal is one), and the AttributeError of None.
NULL_ERRORS = (TypeError, AttributeError)
# The counterpart of Java's IllegalArgumentException.
ILLEGAL_ARGUMENT = ValueError


class Verification:
    """The base of the verifications; each test runs on a separate object.

    Attributes:
        environment: the timeouts.
        skip_tests: maps the name of a test to the reason for skipping it. The reason is part of the verdict.
        expected: the tests of the official TCK for this verification.
        tck_run: the current run in pytest: the class, and its parameter set if it is parametrized. Each parameter set
            may test another implementation.
    """

    environment: TestEnvironment | None = None
    skip_tests: ClassVar[Mapping[str, str]] = MappingProxyType({})
    expected: ClassVar[Mapping[str, Kind]] = MappingProxyType({})
    tck_run: str = ""

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name, kind in vars(cls).get("expected", {}).items():
            if kind is Kind.UNTESTED and not hasattr(cls, name):
                setattr(cls, name, _untested(name))

    @cached_property
    def env(self) -> TestEnvironment:
        """The environment of the current test."""
        given: object = self.environment
        if given is not None and not isinstance(given, TestEnvironment):
            raise TypeError(
                f"{type(self).__name__}.environment must be an object such as TestEnvironment(timeout=2), "
                f"not {named(given)}"
            )
        return (TestEnvironment() if given is None else given).fresh()

    @property
    def is_debugged(self) -> bool:
        """True if the last test ran without a deadline, for debugging."""
        env = vars(self).get("env")  # missing if ``environment`` is not valid
        return env is not None and env.deadline is None

    def set_up(self) -> None:
        """Prepare a test; called before each one."""

    def tear_down(self) -> None:
        """Clean up after a test.

        Called after each one, also after a failure, but not if ``set_up`` failed.
        """

    @classmethod
    def test_names(cls) -> list[str]:
        """Return the tests of the official TCK in its order, then the additional ones."""
        beyond = [name for owner in reversed(cls.__mro__) for name in vars(owner) if kind_of(name) is Kind.BEYOND]
        return [name for name in cls.expected if callable(getattr(cls, name, None))] + list(dict.fromkeys(beyond))

    @classmethod
    def problems(cls) -> list[str]:
        """Return the faults of the class: missing or overridden tests, invalid skips."""
        names = cls.test_names()
        wrong = [f"{name} of the official TCK is missing" for name in cls.expected if name not in names]
        for name in names:
            function = getattr(cls, name)
            if not getattr(function, "__module__", "").startswith("pyrs.tck."):
                wrong.append(f"{cls.__name__} overrides {name}; to skip it, add it to skip_tests with a reason")
        skips: object = cls.skip_tests
        if not isinstance(skips, Mapping):
            return [*wrong, f"skip_tests must map test names to reasons, but is a {type(skips).__name__}"]
        if all(name in skips for name in names):
            wrong.append("skip_tests skips every test, so nothing is verified")
        for name, reason in skips.items():
            if name not in names:
                wrong.append(f"skip_tests names {name}, which does not exist")
            elif not isinstance(reason, str) or not reason.strip():
                wrong.append(f"skip_tests gives no reason for {name}")
        return wrong

    def run_test(self, name: str, body: Callable[[str], None] | None = None) -> None:
        """Run one test on this thread; raise if it fails.

        ``body`` runs the test; by default it is the method of that name.

        Raises:
            Skipped: the test does not apply to this implementation.
        """
        if name in self.skip_tests:
            raise Skipped(f"by skip_tests: {self.skip_tests[name]}")
        env = self.env
        try:
            self.call_hook("set_up()", self.set_up, ())
            try:
                self._run_body(name, body)
                # Some tests of the official TCK record errors and never check them (§1.11, §2.9).
                env.verify_no_async_errors_no_delay()
            finally:
                with suppress(Skipped):  # the test has its verdict
                    self.call_hook("tear_down()", self.tear_down, ())
        finally:
            env.close()

    def _run_body(self, name: str, body: Callable[[str], None] | None) -> None:
        try:
            if body is None:
                getattr(self, name)()
            else:
                body(name)
        except Skipped:
            self.env.verify_no_async_errors_no_delay()  # a violation before the skip fails the test
            raise
        except Exception as error:
            earlier = self.env.first_async_error
            if earlier is None or earlier is error:
                raise
            if isinstance(earlier, (HookFailed, Skipped)):
                raise earlier from earlier.__cause__  # the failure of the test is a consequence
            if isinstance(error, AssertionError):
                error.__cause__ = error.__cause__ or earlier
                raise
            # The error that was recorded first is the cause, so it is the one to report.
            try:
                self.env.verify_no_async_errors_no_delay()
            except AssertionError as flop:
                flop.__cause__ = flop.__cause__ or error
                raise

    def call_number_hook(self, hook: Callable[[], R]) -> R:
        """Call a hook that returns a number or a bool.

        Raises:
            HookFailed: the hook raised or returned something else.
        """
        text = f"{getattr(hook, '__name__', hook)}()"
        answer = self.call_hook(text, hook, ())
        if not isinstance(answer, int):
            raise HookFailed(f"{text} must return a number or a bool, but returned {named(answer)}")
        return answer

    def call_hook(self, text: str, hook: Callable[[], R], methods: tuple[str, ...], *, none_is_fine: bool = False) -> R:
        """Call a hook within its deadline, and check that its result has the methods.

        Raises:
            AssertionError: the hook raised it.
            HookFailed: the hook raised another exception, or the result lacks one of the methods or defines it with
                ``async def``.
            Skipped: the hook raised it, or skipped the test as in unittest or pytest.
        """
        failures: tuple[type[BaseException], ...] = (
            Exception,
            SystemExit,
            *imported(("_pytest.outcomes", "OutcomeException")),
        )
        try:
            thing = self.env.timed(text, hook)
        except (Skipped, AssertionError):
            raise
        except imported(("unittest", "SkipTest"), ("_pytest.outcomes", "Skipped")) as error:
            raise Skipped(str(error)) from error
        except failures as error:
            raise HookFailed(f"{text} raised {described(error)}") from error
        if thing is not None or not none_is_fine:
            for method in methods:
                function = getattr(thing, method, None)
                if not callable(function):
                    raise HookFailed(f"{text} returned {named(thing)}, which has no method {method}()")
                if iscoroutinefunction(function) or iscoroutinefunction(type(function).__call__):
                    raise HookFailed(
                        f"{text} returned {named(thing)}, whose method {method}() is a coroutine function, which "
                        "nothing awaits: define it with def instead of async def"
                    )
        return thing


def imported(*names: tuple[str, str]) -> tuple[type[BaseException], ...]:
    """Return the named exceptions of those modules that are imported."""
    return tuple(getattr(sys.modules[module], name) for module, name in names if module in sys.modules)


def _untested(name: str) -> Callable[[Verification], None]:
    reason = f"not verified by the official TCK: {why_untested(name)}"

    def test(self: Verification) -> None:
        raise Skipped(reason)

    test.__name__ = name
    test.__doc__ = f"Skip: {reason}."
    return test
