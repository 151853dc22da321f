"""Buffer the rows of a Publisher until a streaming query has committed them."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from math import inf
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow
from pyarrow.ipc import get_record_batch_size

from pyrs._core.validation import checked_publisher
from pyrs.api import Publisher
from pyrs.errors import PyrsError
from pyrs.spark.schema.arrow import size_of
from pyrs.spark.schema.rows import RowEncoder
from pyrs.spark.source.elements import BatchElements, Elements
from pyrs.spark.source.intake import Intake
from pyrs.spark.source.journal import Journal, JournalDamaged, Segment

_log = logging.getLogger("pyrs.spark")
_CHECK_SECONDS = 0.1
_KEEP_SECONDS = 0.1
_FIRST_SECONDS = 1.0
_TASK_ROWS = 10_000  # per task; with fewer rows, the overhead of a task exceeds its work
_TASK_BYTES = 32 << 20  # per task; Spark's limit is spark.rpc.message.maxSize, 128 MiB


class OffsetRefused(PyrsError):
    """A query requested elements that are not buffered and cannot be produced again."""


class Offset(NamedTuple):
    """A number of rows, counted from the beginning of an epoch."""

    epoch: str
    sequence: int


class ReplayBuffer:
    """Answers Spark's planner, and buffers the rows until Spark has committed them.

    A batch consists of one or more segments. When Spark commits an offset at or after the end of a segment, the segment
    is released, and elements are requested up to the capacity. Elements in the journal count as buffered from the
    start. Requests of the planner are answered sequentially.

    Args:
        publisher, max_rows, capacity, on_restart: the arguments of ``read_stream``.
        encoder: encodes the rows in Arrow.
        journal: stores the segments on disk; None to buffer them in memory only.
        parallelism: the number of tasks for a large segment; more if its rows are large.
        whole: whether elements are Arrow batches instead of rows. Offsets and ``max_rows`` count rows in either case,
            and ``capacity`` counts elements.
        most_bytes: the maximum size of a row that Spark can send to an executor.

    Raises:
        JournalDamaged: the journal has rows of another schema.
    """

    def __init__(
        self,
        publisher: Publisher[Any],
        encoder: RowEncoder,
        max_rows: int,
        capacity: int,
        on_restart: str | Callable[[int], Publisher[Any]],
        journal: Journal | None,
        parallelism: int = 1,
        whole: bool = False,
        most_bytes: float = inf,
    ) -> None:
        self._publisher = publisher
        self._max_rows = max_rows
        self._capacity = capacity
        self._on_restart = on_restart
        self._journal = journal
        self._parallelism = parallelism
        self._elements = (BatchElements if whole else Elements)(encoder, most_bytes)
        self._intake: Intake | None = None
        self._pending: deque[pyarrow.RecordBatch] = deque()  # encoded rows that are in no segment yet
        self._segments: deque[Segment] = journal.segments if journal else deque()
        self._epoch = journal.epoch if journal else uuid4().hex
        self._end = journal.end if journal else 0  # the end of the last segment
        self._base = self._segments[0].start if self._segments else self._end
        self._encoded = self._end
        self._error: BaseException | None = None
        self._warned = False
        self._kept = 0.0
        # The number of elements that were requested or are in the journal, and are not committed.
        self._uncommitted = sum(
            self._elements.restore(segment.start, _batches(segment, encoder.arrow)) for segment in self._segments
        )

    def answer(self, request: dict[str, Any], wanted: Callable[[], bool]) -> Sequence[Any]:
        """Return the answer to a request of the planner, in pieces.

        ``wanted`` returns whether the planner still waits.
        """
        what = request["what"]
        start, end = _offset(request.get("start")), _offset(request.get("end"))
        if what == "plan" and start and end:
            return self._plan(start, end, wanted)
        sequence = None
        if what == "initial":
            sequence = self._base
        elif what == "latest":
            finish, once = bool(request.get("finish")), bool(request.get("once"))
            return [json.dumps(self._latest(start, finish, once, wanted)).encode()]
        elif what == "report":
            waiting = self._elements.rows_in(self._waiting()) if self._intake else 0
            sequence = max(self._encoded + waiting, self._end) if self._intake else self._end
        elif what == "commit" and end:
            self._commit(end)
        else:
            raise ValueError(f"unknown request: {what!r}")
        return [json.dumps(self._as_json(sequence)).encode()]

    def ahead(self) -> bool:
        """Prepare a part of the next batch; return False if nothing was done."""
        intake = self._intake
        if intake is None or self._error is not None:
            return False
        if self._journal is not None and (len(intake) or self._pending):
            # Received elements are safe only in the journal. Appends are rare, because each one waits for the disk.
            if time.monotonic() - self._kept < _KEEP_SECONDS:
                return False
            self._kept = time.monotonic()
            try:
                self._cut(self._max_rows)
            except Exception as error:  # nothing is lost: the next request tries again, and receives the error
                _log.warning("read_stream: received elements are not in the journal yet: %s", error)
                return False
            return True
        if self._encoded - self._end >= self._max_rows and self._elements.last_row(self._end, self._capacity) == inf:
            self._cut(self._max_rows)  # a full batch does not change any more
            return True
        return len(intake) >= self._elements.chunk and self._encode()

    def close(self) -> None:
        """Cancel the subscription, and release the journal."""
        if self._intake is not None:
            self._intake.end(None)
        if self._journal is not None:
            self._journal.close()

    def _as_json(self, sequence: int | None) -> dict[str, Any] | None:
        return None if sequence is None else {"epoch": self._epoch, "sequence": sequence}

    def _latest(
        self, start: Offset | None, finish: bool, once: bool, wanted: Callable[[], bool]
    ) -> dict[str, Any] | None:
        """Return the end of the next batch, which is its start if no row is available.

        ``finish`` is True with ``availableNow``: only the end of the publisher ends the batches. ``once`` is True with
        ``Trigger.Once``, which requests one offset only.
        """
        position = self._end if start is None else self._position(start)
        intake = self._begun()
        end = position
        last_row = self._elements.last_row(position, self._capacity)
        for segment in self._segments:
            fits = segment.end - position <= self._max_rows and segment.end <= last_row
            if segment.end > position and (end == position or fits):
                end = segment.end
        left = self._max_rows - (end - position)
        if end == self._end and left > 0:
            if (start is None or once) and end == position and not self._pending:
                # This offset may be the query's only one (with ``once``, and before Spark 4.2 with availableNow). It is
                # requested just after the subscription.
                intake.wait(_FIRST_SECONDS)
            while True:
                # This is read before the elements: once the intake has ended, it has all elements.
                ended = intake.ended or self._error is not None
                end = self._cut(left, position)
                if start is not None and end == position and not self._pending and intake.is_spent:
                    # Spark has planned all buffered elements, and commits them only when there are more. The buffer is
                    # full after a restart with smaller sizes, or if the commit of the previous batch did not arrive.
                    self._allow(1)
                if not finish or ended or end > position:
                    break
                intake.wait(_CHECK_SECONDS)  # also after a batch without rows
                if not wanted():
                    raise ConnectionError("the query no longer waits for an answer")
        error = self._error or intake.error  # read before the elements: then the intake has all of them
        if error is not None and end == position and not self._waiting():
            raise error
        return self._as_json(end) if start is None or end > position or start.epoch == self._epoch else start._asdict()

    def _plan(self, start: Offset, end: Offset, wanted: Callable[[], bool]) -> Sequence[Any]:
        """Return the rows between two offsets as Arrow streams, one for each partition."""
        if end.epoch != self._epoch and self._on_restart == "new-epoch":
            if end != start:
                rows = str(end.sequence - start.sequence) if start.epoch == end.epoch else f"up to {end.sequence}"
                _log.error("read_stream: %s rows of a batch are lost with the process that had buffered them", rows)
            return ()
        before = self._epoch  # the epoch of the initial offset, if this is the first batch of the checkpoint
        last = self._position(end, start)
        first = start.sequence if start.epoch in (before, self._epoch) else self._position(start)
        if first > last:
            raise OffsetRefused(f"the batch ends at element {last}, before its start at element {first}")
        intake = self._begun()
        while last > self._end:
            self._cut(min(last - self._end, self._max_rows))
            error, ended = self._error or intake.error, intake.ended
            if last > self._end and not (self._waiting() or self._pending):
                if error is not None:
                    raise error
                if ended:
                    raise OffsetRefused(f"the publisher ended at {self._end}, in the middle of a batch up to {last}")
                if intake.is_spent:  # the batch was planned with a larger capacity
                    self._allow(self._elements.needed_for(last - self._end))
                intake.wait(_CHECK_SECONDS)
                if not wanted():
                    raise ConnectionError("the query no longer waits for an answer")
        segments = [each for each in self._segments if first <= each.start and each.end <= last]
        if sum(each.end - each.start for each in segments) != last - first:
            raise OffsetRefused(
                f"the elements from {first} to {last} are not buffered, only those from {self._base} on"
            )
        return _pieces(segments)

    def _commit(self, end: Offset) -> None:
        if end.epoch != self._epoch:
            return
        start = self._base
        while self._segments and self._segments[0].end <= end.sequence:
            self._base = self._segments.popleft().end
        self._uncommitted -= self._elements.committed(start, self._base)
        self._fill()
        if self._journal is not None:
            self._journal.trim(self._base)

    def _position(self, offset: Offset, start: Offset | None = None) -> int:
        """Return the number of the first row after an offset."""
        begin = offset if start is None else start
        can_continue = callable(self._on_restart) and self._intake is None
        if offset.epoch == self._epoch:
            if can_continue and begin.epoch == self._epoch and begin.sequence > self._end:
                # The query has run without this journal: Spark has the elements up to this offset.
                self._continue_at(begin)
            is_planned = start is not None and callable(self._on_restart)
            if not self._base <= offset.sequence <= self._end and not (offset.sequence > self._end and is_planned):
                raise OffsetRefused(
                    f"the checkpoint is at element {offset.sequence}, but those from {self._base} to {self._end} are "
                    "buffered: it is not the checkpoint of this journal, or another query has committed in between"
                )
            return offset.sequence
        if can_continue and not self._end:
            # The publisher can be restarted at an element: the numbers of the checkpoint are continued.
            self._continue_at(Offset(offset.epoch, begin.sequence))
            return offset.sequence
        if self._on_restart == "new-epoch":
            if not self._warned:
                self._warned = True
                _log.error(
                    "read_stream: the checkpoint is at element %d of a process that has ended. The elements that it "
                    "buffered and Spark had not committed are lost; those of this process are numbered from 0",
                    offset.sequence,
                )
            return self._base
        if self._journal is not None:
            raise OffsetRefused(
                f"the checkpoint is at element {offset.sequence} of another journal than {self._journal.folder}: give "
                "read_stream the journal that the query with this checkpoint had, on a disk that the new driver can "
                "read; on_restart='new-epoch' continues without the elements of that journal"
            )
        raise OffsetRefused(
            f"the checkpoint is at element {offset.sequence} of a publisher whose process has ended, so its buffered "
            "elements are lost. Give read_stream a journal, or as on_restart a function that returns a publisher of "
            "the elements from a number on; on_restart='new-epoch' continues without them"
        )

    def _continue_at(self, offset: Offset) -> None:
        """Forget the elements of the journal, and continue at an offset.

        Called before the subscription.
        """
        self._elements.committed(self._base, offset.sequence)
        self._uncommitted = 0
        self._epoch = offset.epoch
        self._base = self._end = self._encoded = offset.sequence
        self._segments.clear()
        if self._journal is not None:
            self._journal.renumber(self._epoch, self._base)

    def _begun(self) -> Intake:
        if self._intake is None:
            publisher = self._publisher
            if callable(self._on_restart) and self._end:
                publisher = checked_publisher(self._on_restart(self._end), "the result of on_restart")
            self._intake = Intake(publisher)
            self._fill()
        return self._intake

    def _waiting(self) -> int:
        """Return the number of received elements that will be encoded.

        There are none after an element that does not fit.
        """
        return 0 if self._error is not None else len(self._begun())

    def _fill(self) -> None:
        """Request elements up to the capacity."""
        if self._intake is not None and self._uncommitted < self._capacity:
            self._allow(self._capacity - self._uncommitted)

    def _allow(self, count: int) -> None:
        self._uncommitted += count
        self._begun().allow(count)

    def _cut(self, most: int, position: int | None = None) -> int:
        """Make a segment of the received elements, and return the end of the last segment.

        Args:
            most: the maximum number of rows in the segment.
            position: the first row of the batch of this segment; None if the batch begins with the segment.
        """
        while self._encoded - self._end < most and self._encode():
            pass
        start = self._end if position is None else position
        most = int(min(most, self._elements.last_row(start, self._capacity) - self._end))
        batches, count = [], 0
        while self._pending and count < most:
            batch = self._pending.popleft()
            if batch.num_rows > most - count:
                self._pending.appendleft(batch.slice(most - count))
                batch = batch.slice(0, most - count)
            batches.append(batch)
            count += batch.num_rows
        if count:
            try:
                segment = Segment(self._end, self._end + count, _parts(batches, self._parallelism))
                if self._journal is not None:
                    self._journal.append(segment)
            except BaseException:
                self._pending.extendleft(reversed(batches))  # for another attempt, when the disk has free space
                raise
            self._segments.append(segment)
            self._end = segment.end
        return self._end

    def _encode(self) -> bool:
        """Encode received elements; return False if there are none."""
        intake = self._begun()
        elements = [] if self._error else intake.take(self._elements.chunk)
        if not elements:
            return False
        batch, empty, error = self._elements.encode(elements, self._encoded)
        if error is not None:
            self._error = error
            intake.end(error)
        self._encoded += batch.num_rows
        if batch.num_rows:
            self._pending.append(batch)
        if empty:
            self._uncommitted -= empty
            self._fill()
        return True


def _batches(segment: Segment, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    for piece in segment.pieces:
        with pyarrow.ipc.open_stream(piece) as batches:
            if batches.schema != schema:
                pairs = zip_longest(batches.schema, schema)
                differing = next(pair for pair in pairs if not all(pair) or pair[0] != pair[1])
                found, expected = map(_shown, differing)
                raise JournalDamaged(f"the journal has rows of another schema: {found}, not {expected}")
            yield from batches


def _pieces(segments: Sequence[Segment]) -> list[Any]:
    """Return the pieces of segments, with small adjacent segments as one piece.

    Each piece is a task, and with a journal there are up to ten segments a second.
    """
    pieces: list[Any] = []
    small: list[Any] = []
    rows = size = 0
    for segment in segments:
        count, length = segment.end - segment.start, sum(map(len, segment.pieces))
        rows, size = rows + count, size + length
        if rows > _TASK_ROWS or size > _TASK_BYTES:
            pieces += _joined(small)
            small, rows, size = [], count, length
        if count > _TASK_ROWS or length > _TASK_BYTES:
            pieces += segment.pieces
            rows = size = 0
        else:
            small += segment.pieces
    return pieces + _joined(small)


def _joined(pieces: list[Any]) -> list[Any]:
    """Join Arrow streams into one; return an empty list unchanged."""
    if len(pieces) < 2:
        return pieces
    tables = [pyarrow.ipc.open_stream(piece).read_all() for piece in pieces]
    return [_stream(pyarrow.concat_tables(tables).combine_chunks())]


def _shown(field: pyarrow.Field | None) -> str:
    return "no column" if field is None else f"{field.name} {field.type}{'' if field.nullable else ' not null'}"


def _offset(value: Any) -> Offset | None:
    match value:
        case None:
            return None
        case {"epoch": str(epoch), "sequence": int(sequence)} if len(epoch.encode()) == 32 and sequence >= 0:
            return Offset(epoch, sequence)
    raise OffsetRefused(f"the checkpoint has an offset of another source: {value!r}")


def _parts(batches: list[pyarrow.RecordBatch], parallelism: int) -> list[Any]:
    """Return the batches as Arrow streams, one for each task."""
    table = pyarrow.Table.from_batches(batches)
    tasks = min(parallelism, -(-table.num_rows // _TASK_ROWS))
    rows = -(-table.num_rows // tasks)
    parts = [table.slice(first, rows) for first in range(0, table.num_rows, rows)]
    return [_stream(half) for part in parts for half in _halved(part)]


def _halved(table: pyarrow.Table) -> Iterator[pyarrow.Table]:
    """Halve a table until each part has at most ``_TASK_BYTES`` or one row.

    An equal number of rows in each part would not limit its size.
    """
    half = table.num_rows // 2
    # The size of whole buffers is a fast upper bound, also for a slice.
    small = size_of(table) <= _TASK_BYTES
    if not half or small or sum(map(get_record_batch_size, table.to_batches())) <= _TASK_BYTES:
        yield table
    else:
        yield from _halved(table.slice(0, half))
        yield from _halved(table.slice(half))


def _stream(table: pyarrow.Table) -> Any:
    sink = pyarrow.BufferOutputStream()
    with pyarrow.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()
