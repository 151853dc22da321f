"""Sources that call a function of the user's for each Subscriber: defer, using, from_callable, generate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.display import name_of
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.sites import assembly_site
from pyrs._core.stage import ElementStage
from pyrs._core.subscription import InertSubscription, checked_subscriber
from pyrs._core.validation import checked_callable, checked_publisher
from pyrs.api import Publisher, Subscriber
from pyrs.stream.single import Single
from pyrs.stream.stream import Stream

__all__ = ["defer", "from_callable", "generate", "using"]

T = TypeVar("T")
S = TypeVar("S")
R = TypeVar("R")


def defer(factory: Callable[[], Publisher[T]]) -> Stream[T]:
    """Return a stream that asks the factory for a Publisher each time that somebody subscribes.

        defer(factory)
        subscribe -> factory() ---1---2---|
        subscribe -> factory() ---3---|

    Demand goes to that Publisher unchanged. What the factory raises is the stream's error.

    Raises:
        TypeError: the factory cannot be called.

    Rules: 1.9.

    Examples:
        >>> from itertools import count
        >>> numbers = count()
        >>> from pyrs import just
        >>> stream = defer(lambda: just(next(numbers)))
        >>> stream.collect(), stream.collect()
        ([0], [1])
    """
    return Stream(_Defer(checked_callable(factory, "factory")))


class _Defer(Operator[T]):
    def __init__(self, factory: Callable[[], Publisher[T]]) -> None:
        super().__init__(None, f"defer({name_of(factory)})")
        self.factory = factory

    def subscribe(self, subscriber: Subscriber[T], /) -> None:
        subscriber = checked_subscriber(subscriber)
        try:
            publisher = checked_publisher(self.factory(), "the result of factory")
        except Exception as error:
            self.blame(error)
            InertSubscription(subscriber, error).start()  # only on_error may tell of it, after on_subscribe (1.9)
            return
        publisher.subscribe(subscriber)

    def run(self, subscriber: Subscriber[Any]) -> Any:
        """Nothing runs between the Publisher and its Subscriber."""
        raise NotImplementedError


def using(resource: Callable[[], AbstractContextManager[R]], use: Callable[[R], Publisher[T]]) -> Stream[T]:
    """Return a stream that holds a resource from ``subscribe`` to its end.

        using(open_file, lines)
        subscribe -> enter ---1---2---| -> exit

    For each Subscriber the context manager is made and entered, and left exactly once: when the stream completes or
    fails, before the Subscriber hears of it, or when it is cancelled. It is given the error that ended the stream, but
    cannot suppress it. A completed stream whose context manager raises fails with that; else the error goes to the hook
    for dropped errors. Demand goes to the Publisher that ``use`` returns, unchanged.

    Args:
        resource: makes the context manager, such as ``lambda: open(path)``; ``contextlib.closing`` and
            ``contextlib.contextmanager`` make one of other things.
        use: makes the Publisher of what was entered.

    Raises:
        TypeError: one of them cannot be called.

    Examples:
        >>> from contextlib import closing
        >>> from io import StringIO
        >>> from pyrs import from_iterable
        >>> using(lambda: closing(StringIO("to be")), lambda text: from_iterable(text.read().split())).collect()
        ['to', 'be']
    """
    return Stream(_Using(checked_callable(resource, "resource"), checked_callable(use, "use")))


class _Using(Operator[T], Generic[T, R]):
    def __init__(self, resource: Callable[[], AbstractContextManager[R]], use: Callable[[R], Publisher[T]]) -> None:
        super().__init__(None, f"using({name_of(resource)}, {name_of(use)})")
        self.resource = resource
        self.use = use

    def run(self, subscriber: Subscriber[Any]) -> _UsingRun[T]:
        return _UsingRun(subscriber, self)


class _UsingRun(SubscriptionArbiter[T]):
    __slots__ = ("_entered", "_manager", "_use")

    def __init__(self, subscriber: Subscriber[T], operator: _Using[T, Any]) -> None:
        super().__init__(subscriber, operator)
        self._manager = operator.resource
        self._use = operator.use
        self._entered: list[AbstractContextManager[Any]] = []

    def _begin(self) -> None:
        manager = self._manager()
        entered = manager.__enter__()
        self._entered.append(manager)
        source = checked_publisher(self._use(entered), "the result of use")
        if self._live:
            self._switch_to(source)
        else:  # cancelled while it was entered
            self._release()

    def _source_completed(self) -> None:
        try:
            self._exit(None)
        except BaseException as error:
            self._raised(error)
        else:
            self._complete()

    def _source_failed(self, error: BaseException) -> None:
        self._exit_quietly(error)
        self._fail(error)

    def _raised(self, error: BaseException) -> None:
        self._exit_quietly(error)
        super()._raised(error)

    def _release(self) -> None:
        self._exit_quietly(None)

    def _exit_quietly(self, error: BaseException | None) -> None:
        try:
            self._exit(error)
        except BaseException as raised:
            if hooks.is_exit(raised):
                raise
            hooks.on_error_dropped(raised, f"leaving the resource of {self._operator.call}")

    def _exit(self, error: BaseException | None) -> None:
        try:
            manager = self._entered.pop()  # atomic: of an end and a cancel only one finds it
        except IndexError:
            return
        if error is None:
            manager.__exit__(None, None, None)
        else:
            manager.__exit__(type(error), error, error.__traceback__)


def from_callable(function: Callable[[], T]) -> Single[T]:
    """Return a stream of what the function returns, called when the element is demanded, for each Subscriber anew.

        from_callable(read)
        request -> read() ---result|

    The function runs on the thread that requests. What it raises is the stream's error, and so is a None
    (``NullSignal``). For a coroutine function see ``from_awaitable``.

    Raises:
        TypeError: the function cannot be called.

    Examples:
        >>> from_callable(lambda: 6 * 7).block()
        42
    """
    stage = _Call(checked_callable(function, "function"))
    stage.site = assembly_site()
    return Single(IterablePublisher(((),), (stage,), ""))


class _Call(ElementStage):
    def __init__(self, function: Callable[[], Any]) -> None:
        self.function = function

    def begin(self) -> Callable[[Any], Any]:
        function = self.function
        return lambda _: function()

    def __repr__(self) -> str:
        return f"from_callable({name_of(self.function)})"


def generate(initial: Callable[[], S], step: Callable[[S], tuple[T, S] | None]) -> Stream[T]:
    """Return a stream that computes its elements one by one, from a state, as they are demanded.

        generate(lambda: 1, lambda n: (n, 2 * n))
        request(4) ---1---2---4---8--

    Pulled: a step runs for each element that is demanded, on the thread that requests; nothing is held. Each Subscriber
    begins with a state of its own. What a function raises is the stream's error.

    Args:
        initial: returns the first state.
        step: takes the state and returns an element and the next state, or None to complete.

    Raises:
        TypeError: one of them cannot be called.

    Examples:
        >>> generate(lambda: (0, 1), lambda s: (s[0], (s[1], s[0] + s[1]))).take(8).collect()
        [0, 1, 1, 2, 3, 5, 8, 13]
    """
    made = _Generated(checked_callable(initial, "initial"), checked_callable(step, "step"))
    return Stream(IterablePublisher(made, (), f"generate({name_of(initial)}, {name_of(step)})", assembly_site()))


class _Generated(Generic[S, T]):
    def __init__(self, initial: Callable[[], S], step: Callable[[S], tuple[T, S] | None]) -> None:
        self._initial = initial
        self._step = step

    def __iter__(self) -> Iterator[T]:
        state = self._initial()
        step = self._step
        while True:
            result = step(state)
            if result is None:
                return
            element, state = result
            yield element
