"""Run the official TCK on Python objects: its TestNG classes run in a JVM."""

from __future__ import annotations

import faulthandler
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyrs.errors import JvmUnavailable, VersionMismatch
from pyrs.tck._java.hooks import Hooks
from pyrs.tck._java.scope import Scope
from pyrs.tck.environment import Skipped, TestEnvironment
from pyrs.tck.expected import BLACKBOX, PROCESSOR, PUBLISHER, WHITEBOX
from pyrs.tck.helper import HelperPublisher
from pyrs.tck.verdicts import Report, Status, Verdict, judge, judge_all
from pyrs.tck.verification import Verification
from pyrs.tck.verifications import PublisherVerification

if TYPE_CHECKING:
    from pyrs.jvm.gateways.base import Java
    from pyrs.jvm.gateways.control import Gateway

_ENTRY = "io.pyrs.tck.Referee"
_TABLES = {"publisher": PUBLISHER, "whitebox": WHITEBOX, "blackbox": BLACKBOX, "processor": PROCESSOR}
_JAR = Path(__file__).resolve().parents[2] / "jvm" / "jars" / "pyrs-tck.jar"


class Family(Enum):
    """The interfaces under which the official TCK sees the Python object."""

    REACTIVE_STREAMS = "reactive-streams"
    FLOW = "flow"


class JavaFailure(AssertionError):
    """The failure of a test of the official TCK."""

    stack = ""  # the Java stack, followed by the Python frames that called Java


class JavaReferee:
    """Runs the official TCK 1.0.4, or its Flow variant, on Python objects.

    Args:
        jvm: the JVM in which the TCK runs: a SparkSession, SparkContext or Py4J gateway; None for the JVM of this
            process, which JPype starts if necessary. Such a process must not use ``faulthandler``.
        family: the interfaces under which the TCK sees the Python object.

    Raises:
        JvmUnavailable: no JVM was found, an extra is not installed, or a jar of the TCK can neither be read from the
            cache nor downloaded.
        VersionMismatch: the jar belongs to another version of pyrs.
        TypeError: ``jvm`` is of an unsupported type.
    """

    def __init__(self, jvm: object | None = None, family: Family = Family.REACTIVE_STREAMS) -> None:
        self.family = Family(family)
        self._gateway: Gateway = _gateway_to(jvm)
        self._entry = _entry_in(self._gateway, self._parent_loader)
        # Load the classes of the TCK, so that no measured test waits for them.
        _Warming.environment = TestEnvironment(timeout=10.0, hook_timeout=10.0, deadline=30.0)
        self.judge(_Warming, "required_createPublisher3MustProduceAStreamOfExactly3Elements")

    def __str__(self) -> str:
        return "java" if self.family is Family.REACTIVE_STREAMS else "java flow"

    def verify(
        self,
        verification: type[Verification],
        *,
        only: Callable[[str], bool] | None = None,
        on_verdict: Callable[[Verdict], object] | None = None,
    ) -> Report:
        """Run the tests of the official TCK for a verification; see ``pyrs.tck.verify``."""
        report = judge_all(str(self), self.judge, verification, verification.expected, only, on_verdict)
        return report._replace(problems=(*report.problems, *self._other_tests(verification)))

    def judge(self, verification: type[Verification] | Verification, name: str) -> Verdict:
        """Run one test within its deadline; repeat a failed test of §3.13 once."""
        subject = verification() if isinstance(verification, type) else verification
        verdict = self._judge_once(subject, name)
        if verdict.status is Status.FAILED and "_spec313_" in name:
            # This test checks the references once, at the end of its timeout, so it may fail on a busy machine.
            verdict = self._judge_once(subject, name)
            if verdict.status is Status.FAILED:
                return verdict._replace(reason=f"{verdict.reason} (in two runs)")
        return verdict

    def _judge_once(self, subject: Verification, name: str) -> Verdict:
        hooks = self._hooks_of(subject)
        scope = Scope(hooks, collecting="_spec313_" in name)

        def body(test: str) -> None:
            self._run(scope, hooks, subject, test)

        try:
            return judge(subject, name, body)
        finally:
            scope.close()

    def _hooks_of(self, subject: Verification) -> Hooks:
        return Hooks(subject)

    def _parent_loader(self, java: Java) -> object:
        """Return a parent loader without the class path, which may have another TCK."""
        return java.static("java.lang.ClassLoader", "getPlatformClassLoader")

    def _run(self, scope: Scope, hooks: Hooks, subject: Verification, test: str) -> None:
        env = subject.env
        scope.open(self._open)
        millis = [round(seconds * 1000) for seconds in (env.timeout, env.no_signals_timeout)]
        result: list[Any] = scope.call(
            "run",
            0,
            f"{self.family.value} {_class_for(subject)}",
            test,
            *millis,
            millis[0],  # the TCK polls for errors at this interval: once per timeout
            round(env.reference_timeout * 1000),
            getattr(subject, "processor_buffer_size", 0),
            int(env.debug_enabled),
            hooks.overridden,
        )
        status, message, stack, frames, cause = result
        if status == "passed":
            return
        if isinstance(cause, Skipped) or status == "skipped":
            raise Skipped(str(cause) if isinstance(cause, Skipped) else message)
        if isinstance(cause, BaseException) and not isinstance(cause, Exception):
            raise cause  # such as pytest.exit
        failure = JavaFailure(message)
        failure.stack = stack + (f"Python:\n{frames}" if frames else "")
        # A failed check of a hook's result has the same message as this failure, so only its cause is chained.
        raise failure from cause.__cause__ if isinstance(cause, AssertionError) else cause

    def _open(self, token: bytes, port: int) -> int:
        return int(str(self._gateway.with_java(lambda java: java.call(self._entry, "open", token, port))))

    def _other_tests(self, verification: type[Verification]) -> list[str]:
        """Compare the tests of the official TCK with the expected ones."""
        subject = verification()
        scope = Scope(Hooks(subject), collecting=False)
        try:
            scope.open(self._open)
            names = set(str(scope.call("names", 0, f"{self.family.value} {_class_for(subject)}")).split("\n"))
        finally:
            scope.close()
        expected = set(verification.expected)
        return [
            f"the official TCK has the test {name}, which pyrs does not know" for name in sorted(names - expected)
        ] + [f"the official TCK has no test {name}" for name in sorted(expected - names)]


class _Warming(PublisherVerification[int]):
    """Loads the classes of the TCK. Its timeouts suffice on a slow machine."""

    def create_publisher(self, elements: int) -> HelperPublisher[int]:
        return HelperPublisher(self.env, int, elements)


def _class_for(subject: Verification) -> str:
    for name, table in _TABLES.items():
        if subject.expected is table:
            return name
    raise TypeError(f"the official TCK has no counterpart of {type(subject).__name__}")


def _gateway_to(jvm: object | None) -> Gateway:
    try:
        from pyrs.jvm.gateways import gateway_for, launch_gateway
    except ImportError as error:
        raise JvmUnavailable(
            "the official TCK needs a JVM and an extra: pip install 'pyrs-streams[jpype]' for a JVM in this process, "
            f"'pyrs-streams[spark]' for a Spark driver ({error})"
        ) from error

    if jvm is not None:
        return gateway_for(jvm)
    if faulthandler.is_enabled():
        raise JvmUnavailable(
            "a JVM in this process and Python's faulthandler both handle SIGSEGV: run pytest with -p no:faulthandler "
            "(elsewhere: without -X faulthandler), or choose a JVM in another process, such as a Spark driver's"
        )
    return launch_gateway()


def _entry_in(gateway: Gateway, parent_of: Callable[[Java], object]) -> object:
    from pyrs import __version__
    from pyrs.tck._java.jars import tck_jars  # needs an extra, which `import pyrs.tck` must not

    if not _JAR.is_file():
        raise JvmUnavailable(f"{_JAR} is missing from this installation of pyrs. In a checkout run `make setup`")
    jars = [_JAR, *tck_jars()]

    def load(java: Java) -> object:
        urls = [java.call(java.call(java.new("java.io.File", str(jar)), "toURI"), "toURL") for jar in jars]
        loader = java.new("java.net.URLClassLoader", java.array("java.net.URL", urls), parent_of(java))
        constructor = java.call(
            java.call(loader, "loadClass", _ENTRY), "getConstructor", java.array("java.lang.Class", ())
        )
        entry = java.call(constructor, "newInstance", java.array("java.lang.Object", ()))
        found = java.call(entry, "version")
        if found != __version__:
            raise VersionMismatch(f"{_JAR} belongs to pyrs {found}, but this is pyrs {__version__}: rebuild the jar")
        return entry

    return gateway.with_java(load)
