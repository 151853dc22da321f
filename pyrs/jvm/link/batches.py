"""What a publisher end has encoded and not yet written."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator
from itertools import compress, islice, tee
from typing import TYPE_CHECKING, Any, NamedTuple

from pyrs._core.fusion import null_element
from pyrs.jvm.link.frames import MAX_BODY, array_header

if TYPE_CHECKING:
    from pyrs.jvm.link.session import Encoder

MAX_ELEMENTS = 1_024
_NIL = b"\xc0"


class Carrying(bytes):
    """An encoded element with references in it. They are held until it is in the writer's hands."""

    carried: list[object]


class Batch(NamedTuple):
    """The elements of one NEXT.

    `carried` holds handles of ours, as ints, which were counted as sent, and objects that stand for the peer's, which
    must not be given back before this is written.
    """

    size: int
    elements: bytes
    carried: list[object]

    @property
    def body(self) -> bytes:
        """The body of a NEXT."""
        return array_header(self.size) + self.elements

    @property
    def goes_home(self) -> bool:
        """Whether an object of the peer's is among what it carries."""
        return any(type(each) is not int for each in self.carried)


class Batches:
    """Filled by the thread that emits, emptied by the writer.

    Elements of a source that pushes are appended one at a time. Elements of one that is pulled are encoded a batch in
    one go, each as it is pulled; the writer may help itself from the batch that is being filled, so that a slow
    iterator holds back nothing that it gave. The lock is held for a moment at the end of a batch, never while user code
    runs.
    """

    __slots__ = (
        "_carries",
        "_encoder",
        "_found_none",
        "_lock",
        "_open",
        "_sealed",
        "_single",
        "_stolen",
        "_stop",
        "_ticks",
    )

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._single: deque[bytes] = deque()
        self._sealed: deque[Batch] = deque()
        self._lock = threading.Lock()
        self._open: list[bytes] | None = None
        self._ticks: list[bool] = []
        self._stolen = 0
        self._found_none = False
        self._carries = False
        self._stop = False

    def __len__(self) -> int:
        return len(self._single) + len(self._open or ()) + sum(batch.size for batch in tuple(self._sealed))

    def __bool__(self) -> bool:
        return bool(self._single or self._sealed or self._open)

    # The emitter's side.

    def add(self, element: object) -> None:
        """Encode one element and append it.

        Raises:
            ConversionError: it has no form in Java.
        """
        encoder = self._encoder
        try:
            encoded = encoder.encode(element)
        except Exception as error:
            raise encoder.explain(element, error) from error
        if encoder.carried:
            encoded = Carrying(encoded)
            encoded.carried = encoder.carried[:]
            encoder.carried.clear()
            self._carries = True
        self._single.append(encoded)

    def fill(self, iterator: Iterator[Any], wanted: int) -> tuple[int, BaseException | None]:
        """Pull and encode up to `wanted` elements. Returns how many there are now, and what ended it before its time.

        A ConversionError is an element that has no form in Java; anything else was raised by the iterator.
        """
        if self._carries:
            return self._fill_singly(iterator, wanted)
        if wanted == 1:
            filled = self._fill_singly(iterator, wanted)
            if filled[0]:
                self._sealed.append(_as_batch(self._single.pop()))
            return filled
        if self._stop:
            return 0, None
        encoder = self._encoder
        chunk: list[bytes] = []
        self._open = chunk
        # The ticks end the loop when the stream is cancelled, without a look at a flag for each element.
        self._ticks = ticks = [True] * wanted
        failure: BaseException | None = None
        try:
            elements, behind = tee(compress(islice(iterator, wanted), ticks))
            chunk.extend(map(encoder.encode, elements))
        except BaseException as error:
            # The twin still has the element that could not be encoded.
            with self._lock:
                done = self._stolen + len(chunk)
            failure = self._explained(error, behind, done)
        with self._lock:
            self._open = None
            stolen, self._stolen = self._stolen, 0
            if self._found_none:
                chunk.clear()
            elif _NIL in chunk:
                del chunk[chunk.index(_NIL) :]
                self._found_none = True
            count = stolen + len(chunk)
            if chunk:
                self._sealed.append(Batch(len(chunk), b"".join(chunk), encoder.carried[:]))
                if encoder.carried:
                    # From here on it is known for each element what it carries, so that a batch may be cut anywhere.
                    self._carries = True
                    encoder.carried.clear()
        return count, null_element() if self._found_none else failure

    def _fill_singly(self, iterator: Iterator[Any], wanted: int) -> tuple[int, BaseException | None]:
        count = 0
        try:
            for element in islice(iterator, wanted):
                if self._stop:
                    break
                if element is None:
                    return count, null_element()
                self.add(element)
                count += 1
        except BaseException as error:
            return count, error
        return count, None

    def _explained(self, error: BaseException, behind: Iterator[Any], done: int) -> BaseException:
        """Tell what the encoder raised from what the iterator raised: the encoder's own frame comes first."""
        inner = error.__traceback__.tb_next if error.__traceback__ is not None else None
        encoding = inner is not None and str(inner.tb_frame.f_globals.get("__name__", "")).startswith("msgpack")
        if not encoding or not isinstance(error, Exception):
            return error
        return self._encoder.explain(next(islice(behind, done, None)), error)

    def stop(self) -> None:
        """End a `fill` that is under way, after the element that it is at. From any thread."""
        self._stop = True
        self._ticks.clear()

    # The writer's side: one thread at a time.

    def take(self) -> Batch | None:
        """The next batch to write."""
        if self._sealed:
            return self._sealed.popleft()
        if self._open:
            stolen = self._steal()
            if stolen is not None:
                return stolen
        # What is appended one at a time comes after every batch.
        return self._gather() if self._single and not self._sealed else None

    def _steal(self) -> Batch | None:
        with self._lock:
            chunk = self._open
            if not chunk or self._encoder.carried or self._found_none:
                return None
            taken = chunk[:]
            del chunk[: len(taken)]
            if _NIL in taken:
                del taken[taken.index(_NIL) :]
                self._found_none = True
            self._stolen += len(taken)
        return Batch(len(taken), b"".join(taken), []) if taken else None

    def _gather(self) -> Batch | None:
        parts: list[bytes] = []
        append, popleft = parts.append, self._single.popleft
        try:
            for _ in range(min(len(self._single), MAX_ELEMENTS)):
                append(popleft())
        except IndexError:
            pass  # a cancel on another thread discards what is left
        if sum(map(len, parts)) > MAX_BODY:
            # Rarely: sizes are looked at where they matter, and not for each element.
            size = kept = 0
            while size < MAX_BODY:
                size += len(parts[kept])
                kept += 1
            self._single.extendleft(reversed(parts[kept:]))
            del parts[kept:]
        if not parts:
            return None
        carried: list[object] = []
        if self._carries:
            for part in parts:
                if type(part) is Carrying:
                    carried += part.carried
        return Batch(len(parts), b"".join(parts), carried)

    def discard(self, disown: Callable[[int], None]) -> None:
        """Take back the handles of what will not be written."""
        self.stop()
        while self._sealed or self._single:
            try:
                carried = (self._sealed.popleft() if self._sealed else _as_batch(self._single.popleft())).carried
            except IndexError:
                return
            for handle in carried:
                if type(handle) is int:
                    disown(handle)


def _as_batch(element: bytes) -> Batch:
    return Batch(1, element, element.carried if type(element) is Carrying else [])
