"""What a streaming query reads of a Publisher: numbered, cut into segments, and kept until Spark has committed it."""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, NamedTuple
from uuid import uuid4

import pyarrow

from pyrs._core.display import listed
from pyrs._core.validation import checked_publisher
from pyrs.api import Publisher
from pyrs.errors import PyrsError
from pyrs.spark.schema.columns import in_line
from pyrs.spark.schema.rows import RowEncoder, SchemaMisfit
from pyrs.spark.source.intake import Intake
from pyrs.spark.source.journal import Journal, JournalDamaged, Segment
from pyrs.spark.source.parts import parts

__all__ = ["Hub", "OffsetRefused"]

_log = logging.getLogger("pyrs.spark")
_CHUNK = 8192  # elements that are encoded together
_LOOK_SECONDS = 0.1
_KEEP_SECONDS = 0.1


class OffsetRefused(PyrsError):
    """A query asks for elements that are not here, and cannot be had again. It fails with this."""


class Offset(NamedTuple):
    epoch: str
    sequence: int


class Hub:
    """Answers the questions of Spark's planner, one at a time.

    A segment is what one offset, or several, have covered; it is kept until Spark commits an offset at or after its
    end. Only then is the publisher allowed as many elements more.

    What a journal has counts as held, from the beginning. Of whole batches it knows the parts that they were divided
    into, and each counts for one.

    Args:
        publisher: whose elements are the rows.
        encoder: makes Arrow batches of them.
        max_rows: how many a batch has at most.
        capacity: how many are held at most.
        on_restart: ``"fail"``, ``"new-epoch"`` or a function.
        journal: where segments are kept on disk, too.
        parallelism: how many tasks a batch is divided among, where it is large enough.
        whole: whether elements are Arrow batches, and not rows. Offsets and ``max_rows`` count rows all the same, and
            ``capacity`` elements.

    Raises:
        JournalDamaged: what is in the journal is of another schema.
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
    ) -> None:
        self._publisher = publisher
        self._encoder = encoder
        self._max_rows = max_rows
        self._capacity = capacity
        self._on_restart = on_restart
        self._journal = journal
        self._parallelism = parallelism
        self._whole = whole
        self._ends: deque[int] = deque()  # the rows with which elements end that are whole batches, and not committed
        self._taken = 0
        self._intake: Intake | None = None
        self._pending: deque[pyarrow.RecordBatch] = deque()  # encoded, and in no segment
        self._segments: deque[Segment] = deque(journal.segments if journal else ())
        self._epoch = journal.epoch if journal else uuid4().hex
        self._end = journal.end if journal else 0  # of the last segment
        self._base = self._segments[0].start if self._segments else self._end
        self._encoded = self._end
        self._error: BaseException | None = None
        self._warned = False
        self._kept = 0.0
        for segment in self._segments:
            end = segment.start
            for piece in segment.pieces:
                with pyarrow.ipc.open_stream(piece) as batches:
                    if batches.schema != encoder.arrow:
                        held, wanted = listed(batches.schema.names), listed(encoder.arrow.names)
                        raise JournalDamaged(f"the journal has rows of another schema: of {held}, and not of {wanted}")
                    for batch in batches if whole else ():
                        end += batch.num_rows
                        self._ends.append(end)
        # The elements that were allowed, or are of the journal, and are not committed.
        self._held = len(self._ends) if whole else self._end - self._base

    def answer(self, question: dict[str, Any], wanted: Callable[[], bool]) -> Sequence[Any]:
        """Return the pieces of the answer to a question of the planner."""
        what = question["what"]
        start, end = _offset(question.get("start")), _offset(question.get("end"))
        if what == "plan" and start and end:
            return self._plan(start, end, wanted)
        sequence = None
        if what == "initial":
            sequence = self._base
        elif what == "latest":
            return [json.dumps(self._latest(start, bool(question.get("finish")), wanted)).encode()]
        elif what == "report":
            waiting = len(self._intake) if self._intake and not self._whole else 0
            sequence = max(self._encoded + waiting, self._end) if self._intake else self._end
        elif what == "commit" and end:
            self._commit(end)
        else:
            raise ValueError(f"no such question: {what!r}")
        return [json.dumps(self._said(sequence)).encode()]

    def ahead(self) -> bool:
        """Do a part of the work for the next batch while Spark is busy with another; False if there is none."""
        intake = self._intake
        if intake is None or self._error is not None:
            return False
        if self._journal is not None and (len(intake) or self._pending):
            # What has come is safe when it is in the journal. Once in a while, since each time is a wait for the disk.
            if time.monotonic() - self._kept < _KEEP_SECONDS:
                return False
            self._kept = time.monotonic()
            try:
                self._cut(self._max_rows)
            except Exception as error:  # nothing is lost: the next question tries again, and is told of it
                _log.warning("read_stream: what has come is not in the journal: %s", error)
                return False
            return True
        return len(intake) >= (1 if self._whole else _CHUNK) and self._encode()

    def close(self) -> None:
        """Cancel, and let go of everything."""
        if self._intake is not None:
            self._intake.fail(None)
        if self._journal is not None:
            self._journal.close()

    def _said(self, sequence: int | None) -> dict[str, Any] | None:
        return None if sequence is None else {"epoch": self._epoch, "sequence": sequence}

    def _latest(self, start: Offset | None, finish: bool, wanted: Callable[[], bool]) -> dict[str, Any] | None:
        """Return the offset at which the next batch ends; the start, if there is nothing after it."""
        position = self._end if start is None else self._position(start)
        intake = self._begun()
        end = position
        for segment in self._segments:
            fits = segment.end - position <= self._max_rows and segment.end <= self._limit(position)
            if segment.end > position and (end == position or fits):
                end = segment.end
        room = self._max_rows - (end - position)
        if end == self._end and room > 0:
            while True:
                over = intake.ended or self._error is not None  # looked at first: what came before it is there by then
                end = self._cut(room, position)
                if start is not None and end == position and not self._pending and intake.is_spent:
                    # All that is held is Spark's, which commits it when there is more. That is so after some restarts:
                    # with smaller sizes, or where the commit of the batch before the last one was not heard of.
                    self._allow(1)
                if not finish or over or end > position:
                    break
                intake.wait(_LOOK_SECONDS)  # also after a batch of no rows
                if not wanted():
                    raise ConnectionError("the query does not wait any more")
        error = self._error or intake.error  # looked at first: what came before it is there by then
        if error is not None and end == position and not len(intake):
            raise error
        return self._said(end) if start is None or end > position or start.epoch == self._epoch else start._asdict()

    def _plan(self, start: Offset, end: Offset, wanted: Callable[[], bool]) -> Sequence[Any]:
        """Return the rows between these offsets, as Arrow streams, one for each partition."""
        if end.epoch != self._epoch and self._on_restart == "new-epoch":
            if end != start:
                _log.error(
                    "read_stream: %s rows of a batch are lost with the process that had them", _between(start, end)
                )
            return ()
        ours = self._epoch  # of the initial offset, where the batch is the first and the checkpoint has none before it
        last = self._position(end, start)
        first = start.sequence if start.epoch in (ours, self._epoch) else self._position(start)
        if first > last:
            raise OffsetRefused(f"the batch from {first} to {last} runs backwards")
        intake = self._begun()
        while last > self._end:
            self._cut(min(last - self._end, self._max_rows))
            error, ended = self._error or intake.error, intake.ended
            if last > self._end and not (len(intake) or self._pending):
                if error is not None:
                    raise error
                if ended:
                    raise OffsetRefused(f"the publisher ended at {self._end}, in the middle of a batch up to {last}")
                if intake.is_spent:  # a batch of a time when there was more room
                    # How many elements that are batches make it up shows when they are there.
                    self._allow(1 if self._whole else last - self._end)
                intake.wait(_LOOK_SECONDS)
                if not wanted():
                    raise ConnectionError("the query does not wait any more")
        segments = [each for each in self._segments if first <= each.start and each.end <= last]
        if sum(each.end - each.start for each in segments) != last - first:
            raise OffsetRefused(f"the elements from {first} to {last} are not held: those from {self._base} on are")
        return [piece for each in segments for piece in each.pieces]

    def _commit(self, end: Offset) -> None:
        if end.epoch != self._epoch:
            return
        while self._segments and self._segments[0].end <= end.sequence:
            segment = self._segments.popleft()
            self._base = segment.end
            if not self._whole:
                self._held -= segment.end - segment.start
        while self._ends and self._ends[0] <= self._base:
            self._ends.popleft()
            self._held -= 1
        self._fill()
        if self._journal is not None:
            self._journal.trim(self._base)

    def _position(self, offset: Offset, start: Offset | None = None) -> int:
        """Return the number of the element that comes next after an offset."""
        if offset.epoch == self._epoch:
            if not self._base <= offset.sequence <= self._end and not (
                offset.sequence > self._end and callable(self._on_restart)
            ):
                raise OffsetRefused(
                    f"the checkpoint is at element {offset.sequence}, and those from {self._base} to {self._end} are "
                    "held: it is not the checkpoint of this journal, or another query has committed in between"
                )
            return offset.sequence
        if callable(self._on_restart) and self._intake is None and not self._end:
            # The publisher can go back: the numbers go on as the checkpoint has them.
            self._epoch = offset.epoch
            self._base = self._end = self._encoded = (start or offset).sequence
            self._segments.clear()
            if self._journal is not None:
                self._journal.renumber(self._epoch, self._base)
            return offset.sequence
        if self._on_restart == "new-epoch":
            if not self._warned:
                self._warned = True
                _log.error(
                    "read_stream: the checkpoint is at element %d of a process that has ended. What that one held and "
                    "Spark had not committed is lost; the elements of this process are numbered from 0",
                    offset.sequence,
                )
            return self._base
        if self._journal is not None:
            raise OffsetRefused(
                f"the checkpoint is at element {offset.sequence} of another journal than {self._journal.folder}: give "
                "read_stream the journal that the query with this checkpoint had, on a disk that the new driver can "
                "read; on_restart='new-epoch' continues without what that journal holds"
            )
        raise OffsetRefused(
            f"the checkpoint is at element {offset.sequence} of a publisher whose process has ended, and what it held "
            "is lost. Give read_stream a journal, or as on_restart a function that returns a publisher of the "
            "elements from a number on; on_restart='new-epoch' continues without them"
        )

    def _begun(self) -> Intake:
        if self._intake is None:
            publisher = self._publisher
            if callable(self._on_restart) and self._end:
                publisher = checked_publisher(self._on_restart(self._end), "what on_restart returns")
            self._intake = Intake(publisher)
            self._fill()
        return self._intake

    def _fill(self) -> None:
        """Let as many elements come as there is room for."""
        if self._intake is not None and self._held < self._capacity:
            self._allow(self._capacity - self._held)

    def _allow(self, count: int) -> None:
        self._held += count
        self._begun().allow(count)

    def _limit(self, position: int) -> float:
        """Return where a batch from here has to end, so that an element at least may come after it."""
        ends = [end for end in self._ends if end > position]
        return ends[self._capacity - 2] if len(ends) >= self._capacity else inf

    def _cut(self, most: int, position: int | None = None) -> int:
        """Make a segment of what has come, and return where the last segment ends.

        Args:
            most: how many rows it has at most.
            position: where the batch begins that it is for; None for where it begins itself.
        """
        while self._encoded - self._end < most and self._encode():
            pass
        most = int(min(most, self._limit(self._end if position is None else position) - self._end))
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
                segment = Segment(self._end, self._end + count, parts(batches, self._parallelism))
                if self._journal is not None:
                    self._journal.append(segment)
            except BaseException:
                self._pending.extendleft(reversed(batches))  # for when there is room on the disk again
                raise
            self._segments.append(segment)
            self._end = segment.end
        return self._end

    def _encode(self) -> bool:
        """Encode elements that have come; False if there are none."""
        intake = self._begun()
        elements = [] if self._error else intake.take(1 if self._whole else _CHUNK)
        if not elements:
            return False
        try:
            if self._whole:
                batch = self._encoder.fitted(elements[0], self._taken)
            else:
                batch = self._encoder.batch(elements, self._encoded)
        except Exception as error:
            # Those before the one that does not fit are rows all the same.
            good = error.element - self._encoded if isinstance(error, SchemaMisfit) and not self._whole else 0
            batch = self._encoder.batch(elements[:good], self._encoded)
            if not self._whole and isinstance(elements[good], (pyarrow.RecordBatch, pyarrow.Table)):
                error = _batch_among_rows(self._encoded + good, elements[good])
            self._error = error
            intake.fail(error)
        self._encoded += batch.num_rows
        if batch.num_rows:
            self._pending.append(batch)
        if self._whole and not self._error:
            self._taken += 1
            if batch.num_rows:
                self._ends.append(self._encoded)
            else:
                self._held -= 1
                self._fill()
        return True


def _offset(value: Any) -> Offset | None:
    if value is None:
        return None
    epoch, sequence = value["epoch"], value["sequence"]
    if not isinstance(epoch, str) or len(epoch.encode()) != 32 or not isinstance(sequence, int) or sequence < 0:
        raise OffsetRefused(f"the checkpoint has an offset that is none of read_stream's: {value!r}")
    return Offset(epoch, sequence)


def _batch_among_rows(number: int, batch: Any) -> SchemaMisfit:
    kind = type(batch).__name__
    how = "read_stream(..., as_='arrow') takes elements that are each a RecordBatch"
    return SchemaMisfit(number, "", f"{in_line(batch)}: must be a row, not a {kind}: {how}")


def _between(start: Offset, end: Offset) -> str:
    return str(end.sequence - start.sequence) if start.epoch == end.epoch else f"up to {end.sequence}"
