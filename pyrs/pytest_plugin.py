"""The entry point that pytest loads in every run.

It imports ``pyrs.tck.plugin`` when a verification is collected. It is outside of ``pyrs.tck``, so that a pytest run
without a verification neither imports the TCK nor fails because of it.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

REFEREES = ("python", "java", "both")
FAMILIES = ("reactive-streams", "flow")
# Copies of constants of pyrs.tck.plugin, where they are explained. A test compares them.
DUE = "reactive-streams-tck-due "
REPORTS = "pyrs-tck-reports"
# Two concurrent calls of ast.parse can raise a SystemError: https://github.com/python/cpython/issues/106905.
UNSAFE_PARSER = (3, 11) <= sys.version_info < (3, 11, 8)

_NAME = "pyrs-tck-items"
_PACKAGES = ("pyrs._core", "pyrs.aio", "pyrs.operators", "pyrs.publishers", "pyrs.schedulers", "pyrs.sinks")


def pytest_addoption(parser: Any) -> None:
    """Add the command-line options of the TCK."""
    group = parser.getgroup("Reactive Streams TCK")
    group.addoption(
        "--tck-referee",
        choices=REFEREES,
        default="python",
        help="the TCK: the Python port (default), the official TCK in a JVM, or both with a comparison of the verdicts",
    )
    group.addoption(
        "--tck-jvm",
        default="jpype",
        help="the JVM of the official TCK: jpype (this process; disables faulthandler), spark, or MODULE:NAME",
    )
    group.addoption(
        "--tck-family",
        choices=FAMILIES,
        default="reactive-streams",
        help="the interfaces that the official TCK uses: org.reactivestreams or java.util.concurrent.Flow",
    )


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    """Collect the subclasses of the verifications.

    Classes whose names begin with an underscore and classes with ``__test__ = False`` are not collected.
    """
    if name.startswith("_") or not _is_verification(obj):
        return None
    return _plugin(collector.config).VerificationClass.from_parent(collector, name=name, obj=obj)


def pytest_configure(config: Any) -> None:
    """Register the receiver of reports."""
    config.pluginmanager.register(Reports(), REPORTS)


def pytest_collection_finish(session: Any) -> None:
    """Import the lazily loaded modules of pyrs, if ``ast.parse`` is not thread-safe.

    Otherwise two threads of a test might import them at the same time. pytest parses each imported module of pyrs,
    because it rewrites the assertions of packages that have a pytest plugin.
    """
    if UNSAFE_PARSER:
        for package in _PACKAGES:
            for module in walk_packages(import_module(package).__path__, f"{package}."):
                with suppress(ImportError):  # a module for a library that is not installed
                    import_module(module.name)


def pytest_sessionfinish(session: Any) -> None:
    """Load the plugin if only worker processes ran verifications."""
    config = session.config
    if hasattr(config, "workerinput") or config.pluginmanager.hasplugin(_NAME):
        return
    if config.pluginmanager.get_plugin(REPORTS).reports:
        # The registered plugin also receives the following hooks, such as the terminal summary.
        _plugin(config).pytest_sessionfinish(session)


class Reports:
    """Collects the reports of verifications' tests from all processes.

    Attributes:
        reports: the reports in the order of their arrival.
    """

    def __init__(self) -> None:
        self.reports: list[Any] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep the last report of a verification's test."""
        properties = getattr(report, "user_properties", ())
        if getattr(report, "outcome", "") != "rerun" and any(str(key).startswith(DUE) for key, _ in properties):
            self.reports.append(report)


def _is_verification(thing: object) -> bool:
    # A module that defines a verification imports pyrs.tck.verification, so without that module there is none.
    base = getattr(sys.modules.get("pyrs.tck.verification"), "Verification", None)
    return (
        base is not None
        and isinstance(thing, type)
        and issubclass(thing, base)
        and not thing.__module__.startswith("pyrs.tck.")
        and bool(getattr(thing, "expected", ()))
        and bool(getattr(thing, "__test__", True))
    )


def _plugin(config: Any) -> Any:
    """Return the plugin; register it if it is not registered."""
    from pyrs.tck import plugin

    if not config.pluginmanager.hasplugin(_NAME):
        config.pluginmanager.register(plugin, _NAME)
    return plugin
