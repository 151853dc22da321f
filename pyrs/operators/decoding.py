"""decode and split_lines: turn chunks of any size into text and lines."""

from __future__ import annotations

from codecs import IncrementalDecoder, getincrementaldecoder, lookup_error
from collections.abc import Iterator
from itertools import takewhile
from typing import Any

from pyrs._core.demand import UNBOUNDED
from pyrs._core.fusion import Chain, LengthHint
from pyrs._core.stage import Stage, TailRun
from pyrs._core.validation import checked_natural, checked_string
from pyrs.errors import BufferOverflow


def checked_chunk(chunk: Any) -> bytes:
    """Return a chunk as bytes; reject one that is not a bytes-like object."""
    if not isinstance(chunk, (bytes, bytearray, memoryview)):
        raise TypeError(f"decode takes a stream of bytes, not of {type(chunk).__name__}")
    return bytes(chunk)


class _DecodeRun(TailRun):
    def __init__(self, stage: Decode) -> None:
        super().__init__()
        self._decoder = stage.begin()

    def on_next(self, element: Any) -> None:
        text = self._decoder.decode(checked_chunk(element))
        if text:
            self.forward(text)
        elif self._requested < UNBOUNDED:
            self.request_upstream(1)

    def on_complete(self) -> None:
        text = self._decoder.decode(b"", True)
        self.end_with(*([text] if text else []))


class Decode(Stage):
    """``decode(encoding, errors)``: the text of chunks of bytes."""

    run_type = _DecodeRun

    def __init__(self, encoding: str, errors: str) -> None:
        self.encoding = checked_string(encoding, "encoding")
        self.errors = checked_string(errors, "errors")
        self._decoder = getincrementaldecoder(encoding)
        lookup_error(errors)
        self.call = f"decode({encoding!r}{'' if errors == 'strict' else f', errors={errors!r}'})"

    def begin(self) -> IncrementalDecoder:
        """Return the decoder of a subscription."""
        return self._decoder(self.errors)

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        decoder, strict = self.begin(), self.errors == "strict"
        for chunk in iterator:
            try:
                text = decoder.decode(checked_chunk(chunk))
            except BaseException:
                whole.raised_in(self)
                raise
            if text:
                # At the end, incomplete bytes become text, which needs demand, or an error, which needs none.
                hint.holding = not strict and bool(decoder.getstate()[0])
                yield text
        whole.check_end()
        try:
            text = decoder.decode(b"", True)
        except BaseException:
            whole.raised_in(self)
            raise
        hint.used_up = True
        if text:
            yield from whole.after_end(text)


class _Splitter:
    """Splits the chunks of one subscription, and stores the incomplete line.

    Attributes:
        pieces: the incomplete line.
        failure: the error to signal after the returned lines; None if there is none.
    """

    def __init__(self, max_length: int | None) -> None:
        self._max_length = UNBOUNDED if max_length is None else max_length
        self._kind: type[Any] | None = None
        self._ends: tuple[Any, Any, Any] = ("\n", "\r", "\r\n")
        self.pieces: list[Any] = []
        self._length = 0
        self._after_return = False  # a line feed at the start of the next chunk belongs to the last line
        self.failure: Exception | None = None

    def add(self, chunk: Any) -> list[Any]:
        """Add a chunk and return the lines that it completes.

        If the chunk has another type or a line is too long, sets ``failure`` and returns the lines before the failure.
        Later chunks are dropped, because they may begin with the rest of the long line.
        """
        if self.failure is not None:
            return []
        chunk = bytes(chunk) if isinstance(chunk, (bytearray, memoryview)) else chunk
        if not isinstance(chunk, self._kind or (str, bytes)):
            wanted = "str or bytes" if self._kind is None else f"{self._kind.__name__}, like the first element"
            self.release()
            self.failure = TypeError(f"split_lines takes a stream of {wanted}, not of {type(chunk).__name__}")
            return []
        if self._kind is None:
            self._kind = str if isinstance(chunk, str) else bytes
            self._ends = self._ends if self._kind is str else (b"\n", b"\r", b"\r\n")
        feed, carriage_return, both = self._ends
        if self._after_return and chunk:
            self._after_return = False
            chunk = chunk[1:] if chunk[:1] == feed else chunk
        if not chunk:
            return []
        self._after_return = chunk[-1:] == carriage_return
        lines = chunk.replace(both, feed).replace(carriage_return, feed).split(feed)
        last = lines.pop()
        if lines:
            lines[0] = self._join(lines[0])
            self.release()
        if last:
            self.pieces.append(last)
            self._length += len(last)
        longest = max(map(len, lines), default=0)
        return lines if max(longest, self._length) <= self._max_length else self._before_overflow(lines)

    def _before_overflow(self, lines: list[Any]) -> list[Any]:
        self.release()
        self.failure = BufferOverflow(
            f"a line is longer than {self._max_length} {'characters' if self._kind is str else 'bytes'}: "
            "pass a greater max_length, or None for no limit"
        )
        return list(takewhile(lambda line: len(line) <= self._max_length, lines))

    def rest(self) -> list[Any]:
        """Remove the incomplete line, and return it if there is one."""
        rest = [self._join(None)] if self.pieces else []
        self.release()
        return rest

    def release(self) -> None:
        """Drop the incomplete line."""
        self.pieces, self._length = [], 0

    def _join(self, end: Any) -> Any:
        pieces = self.pieces if end is None else [*self.pieces, end]
        return pieces[0][:0].join(pieces)


class _SplitLinesRun(TailRun):
    """Emits the lines of a chunk on demand, then requests the next chunk.

    A chunk is requested when no line is left. The requests are sent outside the drain loop, because a synchronous
    source emits inside ``request``.
    """

    request_may_raise = True  # the error of a line that is too long follows the demanded lines before it

    def __init__(self, stage: SplitLines) -> None:
        super().__init__()
        self._stage = stage
        self._splitter = _Splitter(stage.max_length)
        self._unbounded = False
        self._outstanding = False  # a chunk was requested
        self._due = 0  # the number of chunks to request; under the lock

    def request_more(self, n: int) -> None:
        if n >= UNBOUNDED:
            with self._lock:
                if not self._unbounded:
                    self._unbounded, self._due = True, UNBOUNDED
        self.wake_here()

    def on_next(self, element: Any) -> None:
        self._outstanding = False
        with self._lock:
            lines = self._splitter.add(element)
            over = self._over
            if not over:
                self._tail.extend(lines)
        if over:  # release has run on another thread
            self.discard_all([*self._splitter.rest(), *reversed(lines)])
        self.wake_here()

    def on_complete(self) -> None:
        failure, self._splitter.failure = self._splitter.failure, None
        if failure is not None:
            self._stage.blame(failure)
        self.end_with(*self._splitter.rest(), error=failure)

    def on_error(self, error: BaseException) -> None:
        self.end_with(error=error)

    def _work(self) -> None:
        super()._work()
        if self._tail:  # the common case needs no lock
            return
        with self._lock:
            if self._tail or self._over or self._source_ended:
                return
            failure, self._splitter.failure = self._splitter.failure, None
            if failure is not None:
                raise failure
            if self._requested > self._emitted and not (self._unbounded or self._outstanding):
                self._outstanding, self._due = True, 1

    def _after_drain(self) -> None:
        with self._lock:
            n, self._due = self._due, 0
        if n:
            self.request_upstream(n)

    def release(self) -> None:
        super().release()
        with self._lock:
            rest = self._splitter.rest()
        self.discard_all(rest)


class SplitLines(Stage):
    """``split_lines(max_length)``: the lines of chunks of str or bytes."""

    run_type = _SplitLinesRun

    def __init__(self, max_length: int | None) -> None:
        self.max_length = max_length if max_length is None else checked_natural(max_length, "max_length", 1)
        self.call = f"split_lines({'' if max_length is None else f'max_length={self.max_length}'})"

    def pull(self, iterator: Iterator[Any], whole: Chain[Any], hint: LengthHint) -> Iterator[Any]:
        splitter = _Splitter(self.max_length)
        for chunk in iterator:
            lines = splitter.add(chunk)
            failure = splitter.failure
            left = len(lines)
            for line in lines:
                left -= 1
                hint.holding = left > 0 or bool(splitter.pieces)
                hint.used_up = not left and failure is not None
                yield line
            if failure is not None:
                whole.raised_in(self)
                raise failure
        whole.check_end()
        rest = splitter.rest()
        hint.used_up = True
        yield from whole.after_end(*rest)
