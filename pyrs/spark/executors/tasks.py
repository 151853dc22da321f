"""Tasks on the executors, which run a stage, a Subscriber or a Publisher."""

from __future__ import annotations

import select
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import closing, contextmanager
from itertools import chain
from pickle import loads
from socket import socketpair
from threading import Event, Thread
from time import monotonic
from typing import Any, NamedTuple

import pyarrow

from pyrs._core.downstream import awaits_signals, checked_subscriber
from pyrs._core.iterating import IterablePublisher
from pyrs._core.validation import checked_publisher
from pyrs.api import Processor, Publisher, Subscription
from pyrs.operators.terminal import to_iterable
from pyrs.publishers.asynchronous import from_future
from pyrs.publishers.deferred import defer
from pyrs.spark.read.partitions import PartitionFailed, cause_for_worker, text_of
from pyrs.spark.schema.arrow import Shape
from pyrs.spark.schema.columns import TooLarge
from pyrs.spark.schema.rows import RowEncoder
from pyrs.spark.schema.zones import has_zone, with_zone, zoned
from pyrs.stream.stream import Stream

_GATHER_SECONDS = 0.2
"""The maximum age of the first row of a batch, so that a slow or silent stage does not delay a ``limit``."""

AHEAD = 32  # the default number of elements that a task requests ahead


class Output(NamedTuple):
    """Sends the elements of a stream to Spark; pickled in the driver.

    Attributes:
        encoder: encodes the elements.
        zone: the session's time zone, in which pandas shows times.
        rows: the maximum number of rows in a batch.
    """

    encoder: RowEncoder
    zone: str
    rows: int

    def send(self, stream: Stream[Any], ahead: int) -> Iterator[Any]:
        """Yield the batches of a stream, and flush the worker's output after each.

        The stream is cancelled when the task ends.
        """
        output = _output_of_worker()
        flush = getattr(output, "flush", lambda: None)
        with _cancel_with_task(stream, output) as cancellable:
            for batch in self._encode(cancellable, ahead):
                yield batch
                flush()

    def _encode(self, stream: Stream[Any], ahead: int) -> Iterator[Any]:
        gathered: list[Any] = []
        number = 0  # the number of the first gathered row
        due = 0.0
        # None is yielded while the stream is silent, so that the gathered rows are sent.
        with closing(to_iterable(stream.source, ahead, _GATHER_SECONDS, None)) as elements:  # type: ignore[type-var]
            for element in elements:
                batch = self._as_batch(element)
                if batch is None and element is not None:
                    if not gathered:
                        due = monotonic() + _GATHER_SECONDS
                    gathered.append(element)
                if gathered and (batch is not None or len(gathered) == self.rows or monotonic() > due):
                    yield from self._batches(gathered, number)
                    number += len(gathered)
                    gathered = []
                if batch is not None:
                    yield self.encoder.fitted(batch, number)
                    number += 1
        if gathered:
            yield from self._batches(gathered, number)

    def _batches(self, rows: list[Any], first: int) -> Iterator[Any]:
        """Encode rows as one batch, or as several if they are too large for one."""
        try:
            batches = iter((self.encoder.batch(rows, first),))
        except TooLarge:
            half = len(rows) // 2
            if not half:
                raise
            batches = chain(self._batches(rows[:half], first), self._batches(rows[half:], first + half))
        yield from batches

    def _as_batch(self, element: Any) -> Any:
        """Return the element as a RecordBatch if it is a batch, None if it is a row."""
        if isinstance(element, pyarrow.RecordBatch):
            return element
        # An element that is a DataFrame has imported pandas. The class is missing while another thread imports pandas.
        frame = getattr(sys.modules.get("pandas"), "DataFrame", None)
        if frame is not None and isinstance(element, frame):
            return _of_pandas(element, self.encoder.arrow, self.zone)
        return None


class StageTask(NamedTuple):
    """Runs a stage on an executor; pickled in the driver.

    Attributes:
        stage: a function from Stream to Publisher, or a factory of Processors.
        makes_processor: whether ``stage`` is a factory of Processors.
        shape: the type of the input elements.
        output: sends the output elements.
    """

    stage: Callable[..., Any]
    makes_processor: bool
    shape: Shape
    output: Output

    def run(self, partition: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the output batches of the stage for a partition.

        Raises:
            PartitionFailed: the stage raised or failed; that error is the cause.
        """
        ahead = 1 if self.shape.name in ("arrow", "pandas") else AHEAD
        with _Failing(partition):
            yield from self.output.send(self._staged(_stream(self.shape, partition, batches)), ahead)

    def _staged(self, source: Stream[Any]) -> Stream[Any]:
        if not self.makes_processor:
            return Stream(checked_publisher(self.stage(source), "the result of stage"))

        def joined() -> Publisher[Any]:
            processor = self.stage()
            if not isinstance(processor, Processor):
                raise TypeError(f"stage must return a Processor, not {type(processor).__name__}")
            source.subscribe(processor)
            return processor

        return defer(joined)


class RangeTask(NamedTuple):
    """Runs the Publishers of a factory on an executor; pickled in the driver.

    Attributes:
        factory: returns the Publisher of a range, or of a value of ``from_publishers``.
        output: sends the elements.
        prefetch: the number of elements that are requested ahead.
    """

    factory: Callable[..., Any]
    output: Output
    prefetch: int

    def run(self, partition: int, part: tuple[Any, Any, Any]) -> Iterator[Any]:
        """Yield the batches of a range: ``part`` is the user's partition, start and end.

        Raises:
            PartitionFailed: the factory raised, or the Publisher failed; that error is the cause.
        """
        value, start, end = part
        with _Failing(partition, f"{value!r} from {start!r} to {end!r}: "):
            yield from self.batches(*part)

    def batches(self, *arguments: Any) -> Iterator[Any]:
        """Yield the batches of the Publisher that the factory returns for these arguments."""
        publisher = checked_publisher(self.factory(*arguments), "the result of factory")
        yield from self.output.send(Stream(publisher), self.prefetch)


class PublisherTask(NamedTuple):
    """Runs Publishers of ``from_publishers`` on an executor; pickled in the driver.

    Attributes:
        source: calls the factory with a value, and sends the elements of the Publisher.
        values: the pickled argument of the factory for each partition.
    """

    source: RangeTask
    values: tuple[bytes, ...]

    def run(self, partition: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Yield the batches of the Publisher whose number is the input.

        The input is one number, or none if there are no values. After ``coalesce``, ``partition`` is another number.

        Raises:
            PartitionFailed: the factory raised, or the Publisher failed; that error is the cause.
        """
        for number in chain.from_iterable(batch.column(0).to_pylist() for batch in batches):
            with _Failing(number):
                yield from self.source.batches(loads(self.values[number]))


def _output_of_worker() -> Any:
    """Return the output file of Spark's Python worker; None outside a worker.

    It is a local variable of the worker's main function. It buffers up to 64 KiB unless it is flushed.
    """
    frame = sys._getframe()
    while frame.f_back is not None:
        frame = frame.f_back
        output = frame.f_locals.get("outfile")
        if output is not None:
            return output
    return None


@contextmanager
def _cancel_with_task(stream: Stream[Any], output: Any) -> Iterator[Stream[Any]]:
    """Cancel a stream when Spark needs no more rows, for example after a ``limit``.

    Spark then closes its connection to the worker. Without this function, the worker would notice the closed connection
    only when it writes the next batch. A pulled stream is not watched, because it runs only when Spark takes a row.
    """
    events = getattr(select, "POLLRDHUP", 0) | getattr(select, "POLLHUP", 0)
    if isinstance(stream.source, IterablePublisher) or not hasattr(select, "poll"):
        yield stream
        return
    poll = select.poll()
    try:
        poll.register(output.fileno(), events)
    except Exception:  # not in a worker, or its output is not a socket
        yield stream
        return
    ours, theirs = socketpair()
    poll.register(theirs, select.POLLIN)
    unneeded: Future[bool] = Future()

    def watch() -> None:
        with theirs:
            closed = {descriptor for descriptor, _ in poll.poll()}
            if theirs.fileno() not in closed:
                unneeded.set_result(True)

    Thread(target=watch, name="pyrs-spark-task", daemon=True).start()
    try:
        yield stream.take_until(from_future(unneeded))
    finally:
        ours.close()  # ends the thread, so that a worker of many short tasks does not accumulate threads


class _Failing:
    """Raises ``PartitionFailed`` in place of an error of its block.

    The new error has the traceback of the original error. By default
    (``spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled``) Spark's workers drop the cause of an error, whose
    traceback contains the line of user code.

    This is no ``contextmanager``, which would raise a ``StopIteration`` of user code again instead of its replacement.
    """

    def __init__(self, partition: int, detail: str = "") -> None:
        self._partition = partition
        self._detail = detail

    def __enter__(self) -> None:
        """Begin the block."""

    def __exit__(self, kind: Any, error: BaseException | None, traceback: Any) -> None:
        if error is None or isinstance(error, GeneratorExit):  # Spark needs no more rows
            return
        failed = PartitionFailed(self._partition, f"{self._detail}{text_of(error)}")
        raise failed.with_traceback(error.__traceback__) from cause_for_worker(error)


def _of_pandas(frame: Any, into: pyarrow.Schema, zone: str) -> pyarrow.RecordBatch:
    """Convert a pandas frame, whose naive times are in the zone.

    Nested columns take their type from the schema, because a map in pandas is a list of pairs.
    """
    names, arrays = [str(name) for name in frame.columns], []
    kinds = {field.name: field.type for field in into}
    for i, name in enumerate(names):
        wanted = kinds.get(name)
        nested = wanted if wanted is not None and pyarrow.types.is_nested(wanted) else None
        try:
            values = frame.iloc[:, i]
            if nested is not None and has_zone(nested):
                values = [zoned(value, nested, zone) for value in values]
            array = pyarrow.array(values, nested, from_pandas=True)
            if isinstance(array, pyarrow.ChunkedArray):  # of an Arrow type of pandas, for example after pandas.concat
                array = array.combine_chunks()
            arrays.append(with_zone(array, zone) if wanted is not None and has_zone(wanted) else array)
        except Exception as error:  # for example a column of objects of several types
            raise ValueError(f"column {names[i]!r} of a DataFrame: {error}") from error
    return pyarrow.RecordBatch.from_arrays(arrays, names)


class SubscriberTask(NamedTuple):
    """Sends partitions to Subscribers on an executor; pickled in the driver.

    Attributes:
        factory: returns a Subscriber for each partition.
        shape: the type of the elements.
    """

    factory: Callable[[], Any]
    shape: Shape

    def run(self, partition: int, batches: Iterable[Any]) -> Iterator[Any]:
        """Subscribe a new Subscriber to the partition; yield a row with the element count.

        Raises:
            PartitionFailed: the Subscriber or the factory raised, or the stream failed; that error is the cause.
        """
        with _Failing(partition):
            watched = _watched(self.factory())
            _stream(self.shape, partition, batches).subscribe(watched)
            watched.ended.wait()
            if watched.error is not None:
                raise watched.error
        yield pyarrow.RecordBatch.from_pydict({"elements": pyarrow.array([watched.count], pyarrow.int64())})


def _stream(shape: Shape, partition: int, batches: Iterable[Any]) -> Stream[Any]:
    elements = chain.from_iterable(shape.of_batch(batch)[0] for batch in batches if batch.num_rows)
    return Stream(IterablePublisher(_Once(elements), (), f"partition {partition}"))


class _Once(Iterable[Any]):
    """An iterable for one iteration: the rows of a partition arrive over a socket."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator: Iterator[Any] | None = iterator

    def __iter__(self) -> Iterator[Any]:
        iterator, self._iterator = self._iterator, None
        if iterator is None:
            # Not share(): its first Subscriber would receive rows before the second one subscribes.
            raise RuntimeError(
                "a partition can be subscribed to once: use publish().ref_count(n) for n Subscribers at the same time"
            )
        return iterator


class _Watched(Subscription):
    """Records a terminal signal, a cancel, or an exception of the Subscriber (§2.13)."""

    def __init__(self, subscriber: Any) -> None:
        self._subscriber = subscriber
        self._subscription: Subscription | None = None
        self.ended = Event()
        self.error: BaseException | None = None
        self.count = 0

    def request(self, n: int, /) -> None:
        subscription = self._subscription
        if subscription is not None:
            subscription.request(n)

    def cancel(self) -> None:
        subscription, self._subscription = self._subscription, None
        if subscription is not None:
            subscription.cancel()
        self.ended.set()

    def _raised(self, error: BaseException) -> None:
        """Record an exception of the Subscriber, and cancel its subscription."""
        if self.error is None:
            self.error = error
        self.cancel()

    def on_subscribe(self, subscription: Subscription, /) -> Any:
        self._subscription = subscription
        return self._signal(self._subscriber.on_subscribe, self)

    def on_next(self, element: Any, /) -> Any:
        self.count += 1
        return self._signal(self._subscriber.on_next, element)

    def on_error(self, error: BaseException, /) -> Any:
        self.error = error
        return self._signal(self._subscriber.on_error, error, last=True)

    def on_complete(self) -> Any:
        return self._signal(self._subscriber.on_complete, last=True)

    def _signal(self, method: Callable[..., Any], *arguments: Any, last: bool = False) -> Any:
        try:
            method(*arguments)
        except BaseException as error:
            self._raised(error)
        if last:
            self.ended.set()


class _WatchedCoroutines(_Watched):
    """A ``_Watched`` for a Subscriber some of whose methods are coroutine functions."""

    async def on_complete(self) -> None:  # one coroutine function makes ``subscribe`` await the results of all methods
        await super().on_complete()

    async def _signal(self, method: Callable[..., Any], *arguments: Any, last: bool = False) -> None:
        try:
            result = method(*arguments)
            if hasattr(result, "__await__"):
                await result
        except BaseException as error:
            self._raised(error)
        if last:
            self.ended.set()


def _watched(subscriber: Any) -> Any:
    plain = checked_subscriber(subscriber)
    return _WatchedCoroutines(plain) if awaits_signals(plain) else _Watched(plain)
