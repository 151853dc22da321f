"""Error messages for method names of other libraries."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OTHER_NAMES = {
    "select": "use map()",
    "where": "use filter()",
    "aggregate": "use reduce()",
    "sum": "use reduce(operator.add)",
    "finally_action": "use finally_do()",
    "first_or_default": "use first(default=...)",
    "last_or_default": "use last(default=...)",
    "throttle_first": "use throttle()",
    "throttle_with_timeout": "use debounce()",
    "buffer_with_count": "use buffer(count)",
    "window_with_count": "use window(count)",
    **dict.fromkeys(("result", "block"), "use collect() for all elements, or first().block() for one"),
    "to_future": "use pyrs.adapters.futures.to_future(single)",
    "pipe": "call operators as methods, stream.map(f).filter(g), or use transform(function)",
    "block_first": "use first().block()",
    "block_last": "use last().block()",
    "do_on_each": "use do_on_next(), do_on_error() and do_on_complete(), or materialize()",
    "do_finally": "use finally_do()",
    "collect_list": "use to_list(), or collect() to wait for the elements",
    "run": "use collect(), for_each() or last().block()",
    "observe_on": "use publish_on()",
    "switch_on_empty": "use switch_if_empty()",
    "exhaust_map": "use flat_map(function, concurrency=1) after on_backpressure_drop()",
    "merge_map": "use flat_map()",
    "merge_with": "use merge()",
    **dict.fromkeys(("concat_with", "then_many"), "use concat()"),
    "zip_with": "use zip()",
    "catch": "use on_error_resume()",
    "on_error_continue": "use on_error_resume() inside flat_map()",
    "flatten": "use flat_map(lambda inner: inner)",
    **dict.fromkeys(("foreach", "each"), "use for_each()"),
    **dict.fromkeys(("map_async", "async_map", "par_map"), "use map(coroutine_function, concurrency=n)"),
    **dict.fromkeys(("batch", "chunk", "chunked", "chunks", "grouped", "sliding"), "use buffer(count)"),
    **dict.fromkeys(("head", "limit", "islice"), "use take()"),
    **dict.fromkeys(("drop", "offset"), "use skip()"),
    **dict.fromkeys(("sort", "sorted", "sort_by", "order_by"), "use to_list().map(sorted)"),
    **dict.fromkeys(("max", "min"), "use reduce(max) or reduce(min)"),
    **dict.fromkeys(("peek", "do", "inspect", "do_action", "tap"), "use do_on_next()"),
    **dict.fromkeys(("len", "size", "length"), "use count()"),
    **dict.fromkeys(("on_next", "emit", "next", "send", "push"), "use a sink of pyrs.sinks, which has a stream"),
    **dict.fromkeys(("request", "cancel", "dispose"), "use the Subscription that subscribe(on_next=...) returns"),
    **dict.fromkeys(("to_df", "to_pandas", "write_stream"), "use pyrs.spark.for_each_frame() or read_stream()"),
    **dict.fromkeys(("delay_elements", "rate_limit", "pace"), "use delay_until(lambda _: pyrs.timer(seconds))"),
    "enumerate": "use with_index()",
    "union": "use merge() or concat()",
    "get": "use element_at(), or first().block() for one element",
    "start": "use subscribe(), or collect() to wait for the elements",
}


def missing_attribute(owner: type, name: str, other_names: Mapping[str, str] = _OTHER_NAMES) -> str:
    """Return the message of an AttributeError, with advice if there is some.

    ``other_names`` maps method names of other libraries, in snake case, to advice.

    Examples:
        >>> import pyrs
        >>> missing_attribute(pyrs.Stream, "flatMap")
        "'Stream' object has no attribute 'flatMap': use flat_map()"
    """
    message = f"{owner.__name__!r} object has no attribute {name!r}"
    snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
    if advice := other_names.get(snake):
        return f"{message}: {advice}"
    if not snake.startswith("_") and hasattr(owner, snake):
        return f"{message}: use {snake}()"
    return message
