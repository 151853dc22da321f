"""What pytest loads in every run: it lets the referee in when somebody uses it, and imports nothing of it before.

It stands outside of the referee's room, so that no pytest run slows down, or fails, for a referee that it has no use
for. The plugin itself is ``pyrs.tck.plugin``.
"""

from __future__ import annotations

import sys
from typing import Any

REFEREES = ("python", "java", "both")
FAMILIES = ("reactive-streams", "flow")
# As in pyrs.tck.plugin.
DUE = "reactive-streams-tck-due "
REPORTS = "pyrs-tck-reports"

_NAME = "pyrs-tck-items"


def pytest_addoption(parser: Any) -> None:
    """Let the user say who judges."""
    group = parser.getgroup("Reactive Streams TCK")
    group.addoption(
        "--tck-referee",
        choices=REFEREES,
        default="python",
        help="who judges: the port in Python (the default), the official kit in a JVM, or both, which must agree",
    )
    group.addoption(
        "--tck-jvm",
        default="jpype",
        help="where the official kit runs: jpype (in this process: needs -p no:faulthandler), spark, or MODULE:NAME",
    )
    group.addoption(
        "--tck-family",
        choices=FAMILIES,
        default="reactive-streams",
        help="as what the official kit sees the object: org.reactivestreams or java.util.concurrent.Flow",
    )


def pytest_pycollect_makeitem(collector: Any, name: str, obj: object) -> Any:
    """Collect subclasses of the verifications, whatever their names, unless a name begins with an underscore.

    Nor those with ``__test__ = False``, which is how pytest knows what others derive from.
    """
    if name.startswith("_") or not _is_verification(obj):
        return None
    return _plugin(collector.config).VerificationClass.from_parent(collector, name=name, obj=obj)


def pytest_configure(config: Any) -> None:
    """Listen, with or without a terminal."""
    config.pluginmanager.register(Reports(), REPORTS)


def pytest_sessionfinish(session: Any) -> None:
    """Look at what other processes have judged: then nothing was collected in this one."""
    config = session.config
    if hasattr(config, "workerinput") or config.pluginmanager.hasplugin(_NAME):
        return
    if config.pluginmanager.get_plugin(REPORTS).reports:
        # From here on it is told of everything, the summary too.
        _plugin(config).pytest_sessionfinish(session)


class Reports:
    """What pytest reports of the tests of verifications, whichever process judged.

    Attributes:
        reports: in the order in which they came.
    """

    def __init__(self) -> None:
        self.reports: list[Any] = []

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Keep it, if it is of a verification."""
        if any(str(key).startswith(DUE) for key, _ in getattr(report, "user_properties", ())):
            self.reports.append(report)


def _is_verification(thing: object) -> bool:
    # Whoever has a verification has imported this.
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
    """Return the plugin, which pytest knows of from now on."""
    from pyrs.tck import plugin

    if not config.pluginmanager.hasplugin(_NAME):
        config.pluginmanager.register(plugin, _NAME)
    return plugin
