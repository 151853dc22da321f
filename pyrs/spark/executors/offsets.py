"""The offsets and ranges of ``stream_from_publishers``, in Spark's planner."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pyrs.spark.read.partitions import cause_for_worker, text_of

Position = dict[str, dict[str, Any]]
"""An offset of the query: ``next`` maps a partition to the end of its last micro-batch, ``first`` to its first offset.

``first`` makes a repeated micro-batch independent of ``start``: Spark stores the end of the first micro-batch and not
its start, and a partition that is added later has no start in the previous offset.
"""


def named_partitions(partitions: Iterable[Any]) -> dict[str, Any]:
    """Return the partitions by name.

    The name of a string is that string, and the name of another value is its JSON.
    """
    named: dict[str, Any] = {}
    for i, partition in enumerate(partitions):
        name = partition if isinstance(partition, str) else _json(partition)
        if name is None:
            raise TypeError(
                f"the value {i} of partitions must be a string or another JSON value, not {partition!r} of type "
                f"{type(partition).__name__}: the checkpoint stores it"
            )
        if name in named:
            raise ValueError(f"partitions must be distinct, but {name!r} occurs twice")
        named[name] = partition
    return named


def checked_offset(offset: Any, origin: str) -> Any:
    """Return an offset in the form of the checkpoint: with lists instead of tuples.

    ``origin`` begins the message of an error.
    """
    if offset is None:
        raise TypeError(f"{origin} is None: if there is nothing to read, the offset is that of the next element")
    text = _json(offset)
    if text is None:
        raise TypeError(f"{origin} must be a JSON value, not {offset!r} of type {type(offset).__name__}")
    return json.loads(text)


class Offsets:
    """The offsets of all partitions, for one run of a query.

    Args:
        partitions: the partitions by name.
        latest, start, limit: the arguments of ``stream_from_publishers``.
    """

    def __init__(self, partitions: Mapping[str, Any], latest: Callable[[Any], Any], start: Any, limit: Any) -> None:
        self._latest: Position | None = None
        self._partitions = partitions
        self._latest_of = latest
        self._start = start
        self._limit = limit
        self._targets: dict[str, Any] | None = None

    def initial(self) -> Position:
        """Return the offset of a query without a checkpoint."""
        return {"first": {}, "next": {}}

    def latest(self) -> Position | None:
        """Return the ends of the partitions at the last ``after``; None before it."""
        return self._latest

    def finish(self) -> None:
        """Read up to the ends that the next call of ``after`` determines, and no further."""
        self._targets = {}

    def after(self, position: Position | None, limited: bool) -> Position:
        """Return the end of the next micro-batch.

        It is the position itself if there is nothing to read.

        Args:
            position: the end of the last micro-batch; None after a restart if Spark is older than 4.2, which does not
                pass it. The limit does not apply then.
            limited: whether the limit applies.

        Raises:
            RuntimeError: a function failed.
            TypeError: a function returned None or a value that is not JSON.
            ValueError: an offset is less than that of the position, ``limit`` does not fit the offsets, or the position
                is of another source.
        """
        known = self.initial() if position is None else _checked(position)
        first, ends, latest = dict(known["first"]), dict(known["next"]), {}
        for name in self._partitions:
            if name not in ends:
                first[name] = self._called("start", self._start, name) if callable(self._start) else self._start
            begin = ends.get(name, first[name])
            end = latest[name] = self._end(name)
            if position is not None:
                _in_order(name, begin, end)
                if limited and self._limit is not None and begin != end:
                    end = self._limited(name, begin, end)
            ends[name] = end
        self._latest = {"first": first, "next": {**ends, **latest}}
        return {"first": first, "next": ends}

    def ranges(self, start: Position, end: Position) -> list[tuple[Any, Any, Any]]:
        """Return the partition, start and end of each range of a micro-batch.

        Raises:
            ValueError: a range has a partition that was removed, or ends before its start, or an offset is of another
                source.
        """
        before, after = _checked(start), _checked(end)
        ranges = []
        for name, stop in after["next"].items():
            begin = before["next"].get(name, after["first"].get(name))
            if begin == stop:
                continue
            if name not in self._partitions:
                raise ValueError(
                    f"partition {name!r} was removed, but the checkpoint has a micro-batch with its rows from "
                    f"{begin!r} to {stop!r}, which must be repeated: remove the partition after that"
                )
            _in_order(name, begin, stop)
            ranges.append((self._partitions[name], begin, stop))
        return ranges

    def commit(self, end: Position) -> None:
        """Do nothing, because nothing is kept until a commit."""

    def close(self) -> None:
        """Do nothing, because nothing is open."""

    def _end(self, name: str) -> Any:
        targets = {} if self._targets is None else self._targets
        if name not in targets:
            targets[name] = self._called("latest", self._latest_of, name)
        return targets[name]

    def _limited(self, name: str, begin: Any, end: Any) -> Any:
        if not callable(self._limit):
            if not (_is_number(begin) and _is_number(end)):
                raise ValueError(
                    f"limit={self._limit!r} needs offsets that are numbers, but partition {name!r} has {begin!r} and "
                    f"{end!r}: pass a function as limit"
                )
            return min(end, begin + self._limit)
        limited = self._called("limit", self._limit, name, begin, end)
        if _is_less(limited, begin) or _is_less(end, limited):
            raise ValueError(
                f"limit of partition {name!r} returned {limited!r}, which is not between the start, {begin!r}, and the "
                f"end, {end!r}"
            )
        if limited == begin:
            raise ValueError(f"limit of partition {name!r} returned the start, {begin!r}, so the query cannot continue")
        return limited

    def _called(self, parameter: str, function: Callable[..., Any], name: str, *offsets: Any) -> Any:
        try:
            offset = function(self._partitions[name], *offsets)
        except Exception as error:
            raise RuntimeError(f"{parameter} of partition {name!r} failed: {text_of(error)}") from cause_for_worker(
                error
            )
        return checked_offset(offset, f"the result of {parameter} for partition {name!r}")


def _checked(position: Any) -> Position:
    if not isinstance(position, dict) or position.keys() != {"first", "next"}:
        raise ValueError(f"the checkpoint belongs to another source: its offset is {json.dumps(position)}")
    return position


def _in_order(name: str, begin: Any, end: Any) -> None:
    """Raise a ValueError if a range of numbers ends before its start."""
    if _is_less(end, begin):
        raise ValueError(f"the offset of partition {name!r} went back from {begin!r} to {end!r}")


def _is_less(offset: Any, other: Any) -> bool:
    """Return whether a number is less than another one.

    The order of other offsets is unknown.
    """
    return _is_number(offset) and _is_number(other) and bool(offset < other)


def _is_number(offset: Any) -> bool:
    return isinstance(offset, (int, float)) and not isinstance(offset, bool)


def _json(value: Any) -> str | None:
    """Return a value as JSON; None if it is not a JSON value."""
    try:
        return json.dumps(value, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError):
        return None
