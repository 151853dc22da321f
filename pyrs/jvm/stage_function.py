"""Assemble a Python stage when Java calls it: ``Bridge.to_jvm_stage``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyrs._core.sites import Site, code_of
from pyrs.jvm.java_objects import JavaPublisher
from pyrs.stream.stream import Stream


class StageFunction:
    """The object that Java calls to assemble a Python stage."""

    def __init__(self, function: Callable[[Stream[Any]], Any], *, exact: bool, convert: object) -> None:
        self._function = function
        self._exact = exact
        self._convert = convert
        code = code_of(function)
        self._site = None if code is None else Site(code.co_filename, code.co_firstlineno)

    def __call__(self, upstream: Any, hot: bool = False) -> Any:
        """Assemble the stage over one upstream. Java passes ``hot`` for a hot Publisher."""
        if isinstance(upstream, Stream) and isinstance(upstream.source, JavaPublisher):
            upstream = Stream(upstream.source)  # also for a Mono, because the result may have several elements
            upstream.source.exact = self._exact
            upstream.source.site = self._site
            if hot:
                upstream.source.hot = True
            upstream.source.convert = self._convert
        result = self._function(upstream)
        if callable(getattr(result, "subscribe", None)):
            return result if isinstance(result, Stream) else Stream(result)
        raise TypeError(f"a stage must return a Publisher, but {self._function!r} returned a {type(result).__name__}")
