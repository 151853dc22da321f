"""Assemble a Python stage when Java calls it: ``Bridge.to_jvm_stage``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs._core.sites import Site, code_of
from pyrs.jvm.java_objects import JavaPublisher, ObjectKind
from pyrs.stream.stream import Stream


def stage_function(function: Callable[[Stream[Any]], Any], *, exact: bool, convert: object) -> Callable[..., Any]:
    """Return the function that Java calls to assemble the stage over one upstream."""
    code = code_of(function)
    site = None if code is None else Site(code.co_filename, code.co_firstlineno)

    def assemble(upstream: Any, hot: bool = False) -> Any:
        """Apply the function to one upstream. Java passes ``hot`` for a hot Publisher."""
        source = upstream.source if isinstance(upstream, Stream) else None
        if isinstance(source, JavaPublisher):
            upstream = Stream(source)  # also for a Mono, because the result may have several elements
            source.exact, source.convert, source.site = exact, convert, site
            source.hot = source.hot or hot
        result = function(upstream)
        source = result.source if isinstance(result, Stream) else result
        if isinstance(source, JavaPublisher) and source.java_object._kind == ObjectKind.COMPLETION_STAGE:
            result = Stream(source).checkpoint()  # a CompletionStage is not a Publisher in Java
        if callable(getattr(result, "subscribe", None)):
            return result if isinstance(result, Stream) else Stream(result)
        raise TypeError(f"a stage must return a Publisher, but {function!r} returned a {type(result).__name__}")

    return assemble
