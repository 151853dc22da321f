"""What the four verifications share: how one test runs, what skips it, and how hooks are called."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any, ClassVar, TypeVar

from pyrs.tck.environment import Skipped, TestEnvironment, named
from pyrs.tck.expected import Kind, kind_of

__all__ = ["NOT_AN_ARGUMENT", "NULL_ERRORS", "Verification", "untested"]

R = TypeVar("R")

# What stands for Java's NullPointerException: TypeError (pyrs' NullSignal is one), or what None itself raises.
NULL_ERRORS = (TypeError, AttributeError)
# What stands for IllegalArgumentException.
NOT_AN_ARGUMENT = ValueError

_BY_THE_KIT = "not verified by this kit"


class Verification:
    """The base of the four verifications. Each test is a method; each runs on an object of its own.

    Attributes:
        environment: the timeouts.
        skip_tests: tests that are not to run: name to reason. The reason is part of the verdict.
        expected: the Java kit's tests of this verification.
        tck_run: what tells runs of the class apart where it runs with several sets of parameters, as pytest names them:
            each may be about another implementation.
    """

    environment: TestEnvironment | None = None
    skip_tests: ClassVar[Mapping[str, str]] = MappingProxyType({})
    expected: ClassVar[Mapping[str, Kind]] = MappingProxyType({})
    tck_run: str = ""

    @cached_property
    def env(self) -> TestEnvironment:
        """The environment of the test that runs."""
        return (TestEnvironment() if self.environment is None else self.environment).fresh()

    def set_up(self) -> None:
        """Called before each test."""

    def tear_down(self) -> None:
        """Called after each test, however it ended."""

    @classmethod
    def test_names(cls) -> list[str]:
        """Return the names of the tests there are: the Java kit's in its order, then those beyond it."""
        beyond = [name for owner in reversed(cls.__mro__) for name in vars(owner) if kind_of(name) is Kind.BEYOND]
        return [name for name in cls.expected if callable(getattr(cls, name, None))] + list(dict.fromkeys(beyond))

    @classmethod
    def problems(cls) -> list[str]:
        """Return what is wrong with the set of tests itself: missing ones, rewritten ones, skips of what is not."""
        names = cls.test_names()
        wrong = [f"{name} is in the Java kit and missing here" for name in cls.expected if name not in names]
        for name in names:
            function = getattr(cls, name)
            if not getattr(function, "__module__", "").startswith("pyrs.tck."):
                wrong.append(f"{name} was rewritten by {cls.__name__}; name it in skip_tests, with the reason, instead")
        skips: object = cls.skip_tests
        if not isinstance(skips, Mapping):
            return [*wrong, f"skip_tests must map the names of tests to reasons, and is a {type(skips).__name__}"]
        if all(name in skips for name in names):
            wrong.append("skip_tests leaves out every test, so nothing is judged")
        for name, reason in skips.items():
            if name not in names:
                wrong.append(f"skip_tests names {name}, and there is no such test")
            elif not isinstance(reason, str) or not reason.strip():
                wrong.append(f"skip_tests gives no reason for {name}")
        return wrong

    def run_test(self, name: str, body: Callable[[str], None] | None = None) -> None:
        """Run one test on this thread: raise if it fails.

        Args:
            name: the test's name.
            body: does the test; None for the method of that name.

        Raises:
            Skipped: the test says nothing about this implementation.
        """
        if name in self.skip_tests:
            raise Skipped(f"left out: {self.skip_tests[name]}")
        env = self.env
        try:
            self.call_hook("set_up()", self.set_up)
            try:
                self._run_body(name, body)
                # Once more for every test: in the Java kit some tests record an error and never look (1.11, 2.9).
                env.verify_no_async_errors_no_delay()
            finally:
                self.call_hook("tear_down()", self.tear_down)
        finally:
            env.close()

    def _run_body(self, name: str, body: Callable[[str], None] | None) -> None:
        try:
            if body is None:
                getattr(self, name)()
            else:
                body(name)
        except Skipped:
            raise
        except Exception as error:
            earlier = self.env.first_async_error
            if earlier is None or earlier is error:
                raise
            if isinstance(error, AssertionError):
                error.__cause__ = error.__cause__ or earlier
                raise
            # What was recorded before says more than what it led to.
            try:
                self.env.verify_no_async_errors_no_delay()
            except AssertionError as flop:
                flop.__cause__ = flop.__cause__ or error
                raise

    def call_hook(self, text: str, hook: Callable[[], R]) -> R:
        """Call what the user has written, within the hook's own deadline."""
        return self.env.timed(text, hook)

    def asked(self, hook: Callable[[], R]) -> R:
        """Call a hook that answers a question about what is judged, with a number or a bool.

        Raises:
            AssertionError: it answered with something else.
        """
        text = f"{getattr(hook, '__name__', hook)}()"
        answer = self.call_hook(text, hook)
        if not isinstance(answer, int):
            raise AssertionError(f"{text} returned {named(answer)}, and a number or a bool is due")
        return answer

    def made(self, text: str, hook: Callable[[], Any], methods: tuple[str, ...], *, none_is_fine: bool = False) -> Any:
        """Call a hook that makes something, and see that it did.

        Raises:
            AssertionError: it raised, or what it returned lacks the methods.
        """
        try:
            thing = self.call_hook(text, hook)
        except (Skipped, AssertionError):
            raise
        except Exception as error:
            raise AssertionError(f"{text} raised {type(error).__name__}: {error}") from error
        if thing is not None or not none_is_fine:
            for method in methods:
                if not callable(getattr(thing, method, None)):
                    raise AssertionError(f"{text} returned {named(thing)}, which has no {method}()")
        return thing

    def not_verified(self, message: str = _BY_THE_KIT) -> None:
        """Skip this test.

        Raises:
            Skipped: always.
        """
        raise Skipped(message)


def untested(why: str) -> Callable[[Verification], None]:
    """Return a test that is in the Java kit by name only.

    Args:
        why: which check beyond the kit does it, or why none can.
    """

    def test(self: Verification) -> None:
        self.not_verified(f"{_BY_THE_KIT}: {why}")

    test.__doc__ = f"Not a test: {why}."
    test.__module__ = sys._getframe(1).f_globals["__name__"]
    return test
