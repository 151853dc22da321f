"""The types that checkers must infer. This file never runs: ``test_types`` passes it to mypy and pyright."""

# pyright: reportUnnecessaryTypeIgnoreComment=true

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from typing import Any

from typing_extensions import assert_type

import pyrs
from pyrs import GroupedStream, Maybe, Notification, Single, Stream
from pyrs.jvm import Bridge

numbers = pyrs.from_iterable([1])
words = pyrs.just("a", "b")


class Animal: ...


class Cat(Animal): ...


def counted(stream: Stream[object]) -> Single[int]:
    return stream.count()


async def fetch(n: int) -> str:
    return str(n)


def push(emitter: pyrs.Emitter[int]) -> None:
    emitter.next(1)


async def push_later(emitter: pyrs.Emitter[str]) -> None:
    emitter.next("later")


# Sources.
assert_type(pyrs.create(push), Stream[int])
assert_type(pyrs.create(push_later, overflow="drop_oldest", capacity=2), Stream[str])
created: Stream[int] = pyrs.create(lambda emitter: emitter.next(1))
assert_type(pyrs.generate(lambda: 0, lambda n: (str(n), n + 1)), Stream[str])
assert_type(pyrs.from_callable(lambda: 1), Single[int])
assert_type(pyrs.from_awaitable(lambda: fetch(1)), Single[str])
assert_type(pyrs.defer(lambda: numbers), Stream[int])
assert_type(pyrs.merge(numbers, words), Stream[int | str])
assert_type(pyrs.merge(numbers, words, numbers.map(float), concurrency=2), Stream[int | str | float])
assert_type(pyrs.merge(numbers, numbers), Stream[int])
assert_type(pyrs.merge([numbers, numbers], delay_errors=True), Stream[int])
assert_type(pyrs.merge(*[words, words]), Stream[str])
assert_type(pyrs.merge(numbers, pyrs.empty()), Stream[int])
assert_type(pyrs.concat(numbers, words), Stream[int | str])
assert_type(pyrs.concat(words.map(len) for _ in range(2)), Stream[int])
assert_type(pyrs.merge(numbers, ["a"]), Stream[int | str])
assert_type(pyrs.concat([1], words), Stream[int | str])
assert_type(pyrs.zip(numbers, ["a"]), Stream[tuple[int, str]])
assert_type(numbers.merge(words), Stream[int | str])

# Sinks take the type of their annotation.
shared: pyrs.sinks.Sink[int] = pyrs.sinks.multicast()
last_words: pyrs.sinks.Sink[str] = pyrs.sinks.replay(3)
assert_type(shared.stream, Stream[int])
assert_type(shared.stream.map(str), Stream[str])
assert_type(last_words.stream.map(len), Stream[int])


# Transforming.
assert_type(numbers, Stream[int])
assert_type(numbers.map(str), Stream[str])
assert_type(numbers.map(str).map(len), Stream[int])
assert_type(numbers.map(lambda n: (n, str(n))), Stream[tuple[int, str]])
assert_type(numbers.scan(add), Stream[int])
assert_type(numbers.scan(lambda text, n: text + str(n), ""), Stream[str])
assert_type(words.with_index(), Stream[tuple[int, str]])
assert_type(words.materialize(), Stream[Notification[str]])
assert_type(words.materialize().dematerialize(), Stream[str])
assert_type(words.transform(lambda stream: stream.map(len)), Stream[int])
assert_type(words.transform(counted), Single[int])
assert_type(words.transform(lambda stream: stream.map(len).source), Stream[int])

# Filtering.
assert_type(numbers.filter(bool), Stream[int])
assert_type(pyrs.from_iterable([1, "a"]).of_type(int), Stream[int])
assert_type(words.take(1).skip(1).take_last(2).distinct(len), Stream[str])
assert_type(words.take_while(str.isalpha, inclusive=True).skip_while(str.isalpha), Stream[str])
assert_type(words.distinct_until_changed(len, comparer=lambda a, b: a + 1 == b), Stream[str])

# Aggregating and selecting one element.
assert_type(numbers.to_list(), Single[list[int]])
assert_type(numbers.to_set(), Single[set[int]])
assert_type(words.to_dict(len), Single[dict[int, str]])
assert_type(words.to_dict(len, str.encode), Single[dict[int, bytes]])
assert_type(numbers.count(), Single[int])
assert_type(numbers.reduce(add), Single[int])
assert_type(numbers.reduce(lambda text, n: text + str(n), ""), Single[str])
assert_type(numbers.first(), Single[int])
assert_type(numbers.single(), Single[int])
assert_type(numbers.first(default="none"), Single[int | str])
assert_type(numbers.last(default=0), Single[int])
assert_type(numbers.element_at(3, default=b""), Single[int | bytes])
assert_type(numbers.default_if_empty("none"), Stream[int | str])
assert_type(numbers.any(bool), Single[bool])
assert_type(numbers.first().block(), int)
assert_type(numbers.collect(), list[int])
assert_type(numbers.to_iterable(), Iterator[int])
assert_type(numbers.subscribe(on_next=print), pyrs.Subscription)

# Singles and Maybes keep their type.
one = numbers.count()
maybe = one.filter(bool)
assert_type(
    one.map(str)
    .do_on_next(lambda text: text.upper())
    .do_on_subscribe(print)
    .do_on_request(print)
    .retry(3)
    .timeout(5)
    .publish_on(pyrs.schedulers.default())
    .subscribe_on(pyrs.schedulers.default())
    .delay(1)
    .delay_until(lambda text: pyrs.timer(len(text)))
    .flat_map(lambda text: pyrs.just(len(text)))
    .zip(words.first())
    .map(lambda pair: pair[0])
    .on_error_map(ValueError)
    .do_on_error(print)
    .cache()
    .finally_do(print)
    .log()
    .checkpoint("here"),
    Single[int],
)
assert_type(
    maybe.map(str)
    .do_on_next(lambda text: text.upper())
    .retry(3)
    .timeout(5)
    .publish_on(pyrs.schedulers.default())
    .delay_subscription(1)
    .filter(lambda text: text.isdigit())
    .flat_map(lambda text: pyrs.just(len(text)))
    .zip(words)
    .map(lambda pair: pair[0])
    .on_error_return(0)
    .do_on_complete(print)
    .do_on_cancel(print)
    .do_on_terminate(print)
    .cache()
    .metrics(pyrs.Metrics("here"))
    .progress(),
    Maybe[int],
)
assert_type(maybe, Maybe[int])
assert_type(one.flat_map(lambda n: pyrs.from_callable(lambda: str(n))), Single[str])
assert_type(one.concat_map(lambda n: pyrs.range(n)), Stream[int])
assert_type(maybe.flat_map(lambda n: pyrs.just(n).filter(bool)), Maybe[int])
assert_type(one.map(fetch), Single[str])
assert_type(one.flat_map(fetch), Single[str])
assert_type(maybe.flat_map(fetch), Maybe[str])
assert_type(one.zip(words.last(), words.first()), Single[tuple[int, str, str]])
assert_type(one.zip(words.last(), combine=lambda n, word: word * n), Single[Any])
assert_type(one.zip(words), Maybe[tuple[int, str]])
assert_type(maybe.zip(words), Maybe[tuple[int, str]])
assert_type(one.on_error_resume(pyrs.just("x")), Single[int | str])
assert_type(one.on_error_resume(lambda error: pyrs.just("x")), Single[int | str])
assert_type(maybe.on_error_resume(lambda error: pyrs.just("x").filter(bool)), Maybe[int | str])
assert_type(Stream(one).on_error_resume(words), Stream[int | str])
assert_type(one.on_error_return("x"), Single[int | str])
assert_type(maybe.default_if_empty("x"), Single[int | str])
assert_type(maybe.switch_if_empty(pyrs.just("x")), Single[int | str])
assert_type(maybe.switch_if_empty(pyrs.just("x").filter(bool)), Maybe[int | str])
assert_type(maybe.switch_if_empty(words), Stream[int | str])
assert_type(words.then(one), Single[int])
assert_type(words.then(pyrs.just(1)), Single[int])
assert_type(one.then(maybe), Maybe[int])
assert_type(one.then(words), Stream[str])
assert_type(one.timeout(1, fallback=words), Stream[int | str])
assert_type(one.retry_when(lambda errors: errors.take(1)), Stream[int])
assert_type(one.cache(1, 60), Stream[int])
assert_type(numbers.cache(2), Stream[int])
assert_type(one.block(), int)
assert_type(maybe.block(), int | None)
assert_type(pyrs.just("x"), Single[str])
assert_type(words.group_by(len).first().block().do_on_next(print), Stream[str])
assert_type(words.publish().do_on_next(print), Stream[str])

# Buffering, windowing, grouping and combining.
assert_type(words.buffer(2), Stream[list[str]])
assert_type(words.buffer(2, skip=1), Stream[list[str]])
assert_type(words.buffer(seconds=1), Stream[list[str]])
assert_type(words.window(2), Stream[Stream[str]])
assert_type(words.window(2, seconds=0.5), Stream[Stream[str]])
assert_type(words.group_by(len), Stream[GroupedStream[int, str]])
assert_type(words.group_by(len, str.encode), Stream[GroupedStream[int, bytes]])
assert_type(words.group_by(len).first().block().key, int)
assert_type(words.group_by(len).flat_map(lambda group: group.count()), Stream[int])
assert_type(words.parallel(2).map(len).filter(bool).sequential(), Stream[int])
assert_type(words.parallel(2).transform_rails(lambda rail: rail.count()).sequential(), Stream[int])
assert_type(words.parallel(2).flat_map(lambda word: pyrs.just(len(word))).reduce(max).sequential(), Stream[int])
assert_type(numbers.concat(words), Stream[int | str])
assert_type(numbers.zip(words), Stream[tuple[int, str]])
assert_type(numbers.zip(words, words, words, numbers), Stream[tuple[int, str, str, str, int]])
assert_type(numbers.combine_latest(words, words, numbers), Stream[tuple[int, str, str, int]])
assert_type(pyrs.zip(numbers, words, words, numbers), Stream[tuple[int, str, str, int]])
assert_type(numbers.zip(words, combine=lambda n, word: word * n), Stream[str])
assert_type(numbers.zip(words, numbers, combine=lambda n, word, other: n + other), Stream[int])
assert_type(numbers.combine_latest(words, combine=lambda n, word: word * n), Stream[str])
assert_type(pyrs.zip(numbers, words, combine=lambda n, word: word * n), Stream[str])
assert_type(pyrs.combine_latest(numbers, words, numbers, combine=lambda n, word, other: n + other), Stream[int])
assert_type(pyrs.zip(numbers, words, words, numbers, combine=lambda *row: len(row)), Stream[int])
assert_type(pyrs.zip([numbers, numbers], combine=lambda *row: len(row)), Stream[int])
assert_type(pyrs.combine_latest(numbers, words, words, words, words), Stream[tuple[int, str, str, str, str]])
assert_type(pyrs.combine_latest(numbers, ["a"]), Stream[tuple[int, str]])

# A chain of fifteen operators keeps track of the element type.
chunks = pyrs.just(b"1\n2", b"3\n")
assert_type(
    chunks.decode()
    .split_lines(max_length=100)
    .map(int)
    .expand(lambda n: pyrs.just(n // 2) if n else pyrs.empty())
    .skip_last(1)
    .timestamp()
    .map(lambda pair: pair[1])
    .elapsed()
    .filter(lambda pair: pair[0] < 1)
    .map(lambda pair: pair[1])
    .throttle_latest(1)
    .on_backpressure_reduce(max)
    .window_when(words, lambda word: pyrs.timer(len(word)))
    .concat_map(lambda window: window.to_list())
    .zip(["a", "b"]),
    Stream[tuple[list[int], str]],
)
assert_type(chunks.split_lines(), Stream[bytes])
assert_type(numbers.expand(lambda n: pyrs.just(str(n))), Stream[int | str])
assert_type(numbers.sequence_equal(words, lambda n, word: n == len(word)), Single[bool])
assert_type(numbers.timestamp(), Stream[tuple[float, int]])
assert_type(numbers.merge(["a"]), Stream[int | str])
assert_type(numbers.concat(["a"]), Stream[int | str])
assert_type(numbers.zip(["a"], {b""}), Stream[tuple[int, str, bytes]])
assert_type(one.zip(["a"]), Maybe[tuple[int, str]])
assert_type(one.zip(["a"], combine=lambda n, word: 1.5), Maybe[float])
assert_type(numbers.zip(combine=lambda n: n / 2), Stream[float])
assert_type(numbers.combine_latest(combine=lambda n: n / 2), Stream[float])

# A stream without elements takes the element type of its context.
assert_type(pyrs.empty().switch_if_empty(numbers), Stream[int])
assert_type(pyrs.never().merge(words), Stream[str])
assert_type(numbers.flat_map(lambda n: pyrs.just(n) if n else pyrs.empty()), Stream[int])
nothing: Stream[int] = pyrs.empty()

# Lazily imported names.
assert_type(pyrs.Backoff(), pyrs.Backoff)
assert_type(pyrs.interval(1), Stream[int])
assert_type(pyrs.schedulers.VirtualTime().now(), float)
sink: pyrs.sinks.Sink[int] = pyrs.sinks.unicast()

# Streams are covariant: a stream of cats is a stream of animals.
animals: Stream[Animal] = pyrs.just(Cat())
publisher: pyrs.Publisher[Animal] = pyrs.just(Cat()).filter(bool)


async def awaited() -> None:
    assert_type(await numbers.to_list(), list[int])
    assert_type(await words.first(default=0), str | int)
    assert_type(await one.map(str), str)
    assert_type(await maybe.map(str), str | None)
    async for word in words:
        assert_type(word, str)
    async with words.iterate() as iterated:
        async for word in iterated:
            assert_type(word, str)


class Numbers(pyrs.Subscriber[int]):
    def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
    def on_next(self, element: int) -> None: ...
    def on_error(self, error: BaseException) -> None: ...
    def on_complete(self) -> None: ...


class AsynchronousSubscriber(pyrs.AsyncSubscriber[int]):
    async def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
    async def on_next(self, element: int) -> None: ...
    def on_error(self, error: BaseException) -> None: ...
    async def on_complete(self) -> None: ...


class SubscriberByShape:
    async def on_subscribe(self, subscription: pyrs.Subscription) -> None: ...
    async def on_next(self, element: str) -> None: ...
    async def on_error(self, error: BaseException) -> None: ...
    async def on_complete(self) -> None: ...


numbers.subscribe(Numbers())
numbers.subscribe(AsynchronousSubscriber())
words.subscribe(SubscriberByShape())


# The annotation declares the element type, which a checker cannot infer from a Java object.
def convert(bridge: Bridge, java_object: Any) -> None:
    converted: Stream[int] = bridge.from_jvm(java_object)
    assert_type(converted.map(str), Stream[str])
    one: Single[str] = bridge.from_jvm(java_object, exact=True)
    assert_type(one.map(len), Single[int])
    assert_type(bridge.from_jvm(java_object), Any)


assert_type(pyrs.errors.StreamTimeout("late"), pyrs.errors.StreamTimeout)  # with ``import pyrs`` alone


# Errors that a checker must report: a checker that accepts one of these lines reports an unused ``type: ignore``.
pyrs.create(push).map(str.upper)  # type: ignore[arg-type]
merged: Stream[int] = pyrs.merge(numbers, words)  # type: ignore[arg-type]
shared.emit("x")  # type: ignore[arg-type]
numbers.map(3)  # type: ignore[call-overload]
numbers.map(str.upper)  # type: ignore[arg-type]
words.filter(abs)  # type: ignore[arg-type]
words.scan(lambda n, word: n + 1, "")  # type: ignore[operator]
words.dematerialize()  # type: ignore[misc]
words.decode()  # type: ignore[misc]
numbers.split_lines()  # type: ignore[misc]
words.transform(len)  # type: ignore[arg-type]
words.buffer()  # type: ignore[call-overload]
words.buffer(2, skip=1, seconds=1)  # type: ignore[call-overload]
words.window(seconds="1")  # type: ignore[call-overload]
words.first("x")  # type: ignore[call-overload]
cats: Stream[Cat] = pyrs.just(Animal())  # type: ignore[arg-type]
words.subscribe(Numbers())  # type: ignore[arg-type]
numbers.subscribe(SubscriberByShape())  # type: ignore[arg-type]
one.flat_map(lambda n: pyrs.range(n))  # type: ignore[arg-type, return-value]
one.on_error_resume(words)  # type: ignore[arg-type]
pyrs.from_iterabel([1])  # type: ignore[attr-defined]
pyrs.operators.nonsense()  # type: ignore[attr-defined]
