"""Buffer the encoded elements of a publisher end until they are written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Any, NamedTuple

from pyrs._core.fusion import null_element
from pyrs.jvm.buffers import Buffers
from pyrs.jvm.limits import LIMITS
from pyrs.jvm.link.frames import ARRAY32, MAX_BODY, MAX_MESSAGE
from pyrs.jvm.values.encoder import ValueEncoder

MAX_ELEMENTS = LIMITS["next.elements"]
_ARRAY_HEADER_SIZE = ARRAY32.size


class Carrying(bytes):
    """An encoded element that keeps its references alive until the writer takes it."""

    carried: list[object]


class OutboundBatch(NamedTuple):
    """The elements of one NEXT.

    ``carried`` holds the exported handles in the batch as ints, which were counted as sent, and the proxies of the
    peer's objects, which must not be released before the batch is written.
    """

    size: int
    elements: bytes | Buffers
    carried: list[object]

    @property
    def returns_objects(self) -> bool:
        """True if the batch carries an object of the peer."""
        return any(type(each) is not int for each in self.carried)


class Batches:
    """A queue that the emitting thread fills and the writer empties at the same time.

    Each side performs one list operation at a time, so neither waits for the other: the elements that an iterator
    produced before it stalled can be written while it stalls.
    """

    __slots__ = ("_carries", "_encoded", "_encoder", "_most", "_stop")

    def __init__(self, encoder: ValueEncoder) -> None:
        self._encoder = encoder
        self._encoded: list[bytes | Buffers] = []
        self._most = MAX_ELEMENTS  # the maximum size of the next batch
        self._carries = False
        self._stop = False

    def __len__(self) -> int:
        return len(self._encoded)

    # The emitter's side.

    def add(self, element: object) -> None:
        """Encode one element and append it, or raise a ConversionError."""
        encoder = self._encoder
        try:
            encoded = encoder.encode_element(element)
            converted = encoder.converted
            if converted[0] is not None:
                if converted[0] is not element:
                    encoder.check(element, encoded)  # type: ignore[arg-type]  # Buffers were not converted
                converted[0] = None
        except BaseException as error:
            explained = encoder.explain(element, error)
            if not isinstance(error, Exception):  # an interrupt
                raise
            raise explained from error
        self._encoded.append(self._carrying(encoded) if encoder.carried else encoded)

    def fill(self, iterator: Iterator[Any], wanted: int) -> tuple[int, BaseException | None]:
        """Append up to ``wanted`` elements, each encoded as it is pulled.

        Returns:
            The number of elements, and the error that ended the call early: a ConversionError, NullSignal for None, or
            the error of the iterator; None if there was no error.
        """
        append, encode, carried = self._encoded.append, self._encoder.encode_element, self._encoder.carried
        converted = self._encoder.converted
        count = 0
        try:
            for element in islice(iterator, wanted):
                if element is None:
                    return count, null_element()
                try:
                    encoded = encode(element)
                    if converted[0] is not None:
                        if converted[0] is not element:
                            self._encoder.check(element, encoded)  # type: ignore[arg-type]  # Buffers were not converted
                        converted[0] = None
                except BaseException as error:
                    explained = self._encoder.explain(element, error)
                    return count, explained if isinstance(error, Exception) else error
                append(self._carrying(encoded) if carried else encoded)
                count += 1
                if self._stop:
                    break
        except BaseException as error:
            return count, error
        return count, None

    def _carrying(self, encoded: bytes | Buffers) -> Carrying:
        assert isinstance(encoded, bytes), "an Arrow batch carries no reference"
        carrying = Carrying(encoded)
        carrying.carried = self._encoder.carried[:]
        self._encoder.carried.clear()
        self._carries = True
        return carrying

    def stop(self) -> None:
        """End a running ``fill`` after its current element. Any thread may call this."""
        self._stop = True

    # The writer: one thread at a time.

    def take(self) -> OutboundBatch | None:
        """Remove and return the next batch to write; None if there is none.

        An element that is too large for a message is returned alone, and not removed.
        """
        if not self._encoded:
            return None
        # If all elements are as large as the first one, the slice is one frame and one element more.
        encoded = self._encoded[: min(self._most, MAX_BODY // len(self._encoded[0]) + 1)]
        try:
            elements = b"".join(encoded)  # type: ignore[arg-type]  # Buffers raise the TypeError
            parts: list[bytes] = encoded  # type: ignore[assignment]
        except TypeError:
            first = encoded[0]
            if isinstance(first, Buffers):
                batch = OutboundBatch(1, first, [])
                del self._encoded[: len(first) < MAX_MESSAGE]
                return batch
            parts = list(takewhile(lambda part: isinstance(part, bytes), encoded))  # type: ignore[arg-type]
            elements = b"".join(parts)
        if len(elements) > MAX_BODY and len(parts) > 1:
            # The sizes are added up only in this case, to keep the usual case fast.
            size, kept = len(parts[0]), 1
            # An element that exceeds the limit of a message is left out, so that the elements before it are sent.
            while size < MAX_BODY and size + len(parts[kept]) + _ARRAY_HEADER_SIZE <= MAX_MESSAGE:
                size += len(parts[kept])
                kept += 1
            if kept < len(parts):
                # Large elements follow small ones. Joining them all again for each frame would take quadratic time.
                self._most = kept
                del parts[kept:]
                elements = b"".join(parts)
        elif self._most < MAX_ELEMENTS:
            self._most = min(2 * self._most, MAX_ELEMENTS)
        # Created before the removal: a RecursionError must lose no element.
        batch = OutboundBatch(len(parts), elements, _carried(parts) if self._carries else [])
        if len(elements) < MAX_MESSAGE:
            del self._encoded[: len(parts)]
        return batch

    def discard(self, disown: Callable[[list[object]], object]) -> None:
        """Remove all elements without writing them; pass their references to ``disown``."""
        parts = self._encoded[:]
        for part in parts:
            carried = part.carried if isinstance(part, Carrying) else []
            while carried:  # one at a time: a RecursionError must neither skip nor repeat one
                disown(carried[-1:])
                del carried[-1]
        del self._encoded[: len(parts)]


def _carried(parts: Sequence[bytes | Buffers]) -> list[object]:
    return [each for part in parts if isinstance(part, Carrying) for each in part.carried]
