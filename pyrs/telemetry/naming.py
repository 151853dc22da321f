"""The names of streams in telemetry, shared by streams of the same line."""

from __future__ import annotations

import re
from os.path import basename
from typing import Any

from pyrs._core.guard import GuardedPublisher
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator, PublisherWrapper
from pyrs._core.pushed_chain import PushedChainPublisher
from pyrs._core.sites import Site
from pyrs.operators.metrics import Measured
from pyrs.operators.observing import Checkpoint, Log
from pyrs.operators.sharing import Assembled
from pyrs.stream.stream import Stream

_MAX_OPERATORS = 64
_CALLED = re.compile(r"<?(\w+)(?![\w.])")


def operators_of(publisher: Any) -> list[Any]:
    """Return the operators from the last to the source, by the main input of each."""
    found: list[Any] = []
    while len(found) < _MAX_OPERATORS:
        if isinstance(publisher, Stream | PublisherWrapper | GuardedPublisher):
            publisher = publisher.source
        elif isinstance(publisher, IterablePublisher):
            return [*found, *reversed(publisher.stages), publisher]
        elif isinstance(publisher, PushedChainPublisher):
            found += reversed(publisher.stages)
            publisher = publisher.source
        elif isinstance(publisher, Operator | Assembled) and publisher.source is not None:
            found.append(publisher)
            publisher = publisher.source
        else:
            return [*found, publisher]
    return found


def name_of_stream(operators: list[Any]) -> tuple[str, Site | None]:
    """Return the name of a stream, and the line of its last operator.

    The name is that of the last ``checkpoint``, ``log`` or ``metrics`` with a name. Other streams are named after their
    last operator and the line that assembled it.
    """
    last = operators[0]
    site = getattr(last, "site", None)
    site = site if isinstance(site, Site) else None
    for operator in operators:
        if isinstance(operator, Checkpoint | Log) and operator.name:
            return operator.name, site
        if isinstance(operator, Measured):
            return operator.metrics.name, site
    # share() and cache() are one call and two operators, of which the last one has no call.
    called = _CALLED.match(next(filter(None, map(_call_of, operators)), ""))
    call = called.group(1) if called else type(last).__name__.strip("_")
    return f"{call} at {basename(site.file)}:{site.line}" if site else call, site


def _call_of(operator: Any) -> str:
    if isinstance(operator, IterablePublisher):
        return str(operator.name)
    if isinstance(operator, Operator | Assembled):
        return str(operator.call)
    module = type(operator).__module__
    # The repr of a probe is that of its source. The repr of a third-party Publisher may be long, or raise.
    is_known = module.startswith("pyrs.") and not module.startswith("pyrs.testing.")
    return repr(operator) if is_known or not hasattr(operator, "subscribe") else ""
