"""Sources that call a function for each Subscriber: defer, using, generate ..."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from functools import partial
from types import SimpleNamespace
from typing import Any, Generic, TypeVar

from pyrs._core import hooks
from pyrs._core.arbiter import SubscriptionArbiter
from pyrs._core.context import attach, capture
from pyrs._core.display import name_of
from pyrs._core.iterating import IterablePublisher
from pyrs._core.operator import Operator
from pyrs._core.sites import assembly_site
from pyrs._core.stage import ElementStage, FunctionStage
from pyrs._core.validation import checked_callable, checked_publisher
from pyrs.api import Publisher, R, Subscriber, T
from pyrs.stream.stream import Single, Stream

__all__ = ["defer", "from_callable", "generate", "using"]

S = TypeVar("S")


def defer(factory: Callable[[], Publisher[T]]) -> Stream[T]:
    """Return a stream that calls the factory for a new Publisher at each subscribe.

        defer(factory)
        subscribe -> factory() ---1---2---|
        subscribe -> factory() ---3---|

    Forwards demand to that Publisher unchanged. If the factory raises, the stream fails with that error.

    Raises:
        TypeError: ``factory`` is not callable.

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

    def run(self, subscriber: Subscriber[Any]) -> Any:
        publisher = checked_publisher(self.factory(), "the result of factory")
        return SimpleNamespace(start=partial(attach, publisher, subscriber))


def using(resource: Callable[[], AbstractContextManager[R]], use: Callable[[R], Publisher[T]]) -> Stream[T]:
    """Return a stream that holds a resource from ``subscribe`` to termination.

        using(open_file, lines)
        subscribe -> enter ---1---2---| -> exit

    For each Subscriber, ``resource`` is called, and the returned context manager is entered. The manager is exited
    exactly once: before the terminal signal is emitted, or on cancel. ``__exit__`` receives the error of a failed
    stream, and cannot suppress that error. If ``__exit__`` raises at completion, the stream fails with the exception;
    after an error or a cancel, the exception is reported to the dropped-errors hook. Forwards demand unchanged.

    Args:
        resource: returns the context manager, such as ``lambda: open(path)``; see ``contextlib.closing`` and
            ``contextlib.contextmanager`` for other objects.
        use: receives the entered value and returns a Publisher.

    Raises:
        TypeError: ``resource`` or ``use`` is not callable.

    Examples:
        >>> from contextlib import closing
        >>> from io import StringIO
        >>> from pyrs import from_iterable
        >>> using(lambda: closing(StringIO("to be")), lambda text: from_iterable(text.read().split())).collect()
        ['to', 'be']
    """
    return Stream(_Using(checked_callable(resource, "resource"), checked_callable(use, "use")))


class _UsingRun(SubscriptionArbiter[T]):
    def __init__(self, subscriber: Subscriber[T], operator: _Using[T, Any]) -> None:
        super().__init__(subscriber, operator)
        self._manager = operator.resource
        self._use = operator.use
        self._entered: list[AbstractContextManager[Any]] = []
        self._inside = self._context

    def _begin(self) -> None:
        manager = self._manager()
        entered = manager.__enter__()
        self._entered.append(manager)
        self._inside = capture()  # with the variables that ``__enter__`` set
        source = checked_publisher(self._use(entered), "the result of use")
        if self._live:
            self._switch_to(source)
        else:  # cancelled while the manager was entered
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
        if not self._entered:
            return
        context = self._inside
        # A cancel may run in any context. In a copy, ``__exit__`` cannot reset the variables that ``__enter__`` set.
        if context is None or _is_visible(context):
            self._exit_quietly(None)
        else:
            context.copy().run(self._exit_quietly, None)

    def _exit_quietly(self, error: BaseException | None) -> None:
        try:
            self._exit(error)
        except BaseException as raised:
            hooks.report(raised, f"raised by the exit of the resource of {self._operator.call}")

    def _exit(self, error: BaseException | None) -> None:
        try:
            manager = self._entered.pop()  # atomic: a terminal signal and a cancel must not both exit it
        except IndexError:
            return
        if error is None:
            manager.__exit__(None, None, None)
        else:
            manager.__exit__(type(error), error, error.__traceback__)


def _is_visible(context: Context) -> bool:
    """Return whether the present context has all variables of another, unchanged."""
    present = copy_context()
    return all(variable in present and present[variable] is value for variable, value in context.items())


class _Using(Operator[T], Generic[T, R]):
    run_type = _UsingRun

    def __init__(self, resource: Callable[[], AbstractContextManager[R]], use: Callable[[R], Publisher[T]]) -> None:
        super().__init__(None, f"using({name_of(resource)}, {name_of(use)})")
        self.resource = resource
        self.use = use


def from_callable(function: Callable[[], T]) -> Single[T]:
    """Return a stream of the result of a function, called on demand.

        from_callable(read)
        request -> read() ---result|

    The function runs for each Subscriber, on the thread that requests. If it raises, the stream fails with that error;
    if it returns None, with ``NullSignal``. Use ``from_awaitable`` for a coroutine function.

    Raises:
        TypeError: ``function`` is not callable.

    Examples:
        >>> from_callable(lambda: 6 * 7).block()
        42
    """
    stage = _CallableSource(function)
    stage.site = assembly_site()
    return Single(IterablePublisher(((),), (stage,), ""))


class _CallableSource(FunctionStage, ElementStage):
    name = "from_callable"

    def begin(self) -> Callable[[Any], Any]:
        function = self.function
        return lambda _: function()


def generate(initial: Callable[[], S], step: Callable[[S], tuple[T, S] | None]) -> Stream[T]:
    """Return a stream that computes each element from a state, on demand.

        generate(lambda: 1, lambda n: (n, 2 * n))
        request(4) ---1---2---4---8--

    ``step`` runs once per demanded element, on the thread that requests. Buffers nothing. Each Subscriber has its own
    state. If a function raises, the stream fails with that error.

    Args:
        initial: returns the first state.
        step: receives the state and returns an element and the next state, or None to complete.

    Raises:
        TypeError: ``initial`` or ``step`` is not callable.

    Examples:
        >>> generate(lambda: (0, 1), lambda s: (s[0], (s[1], s[0] + s[1]))).take(8).collect()
        [0, 1, 1, 2, 3, 5, 8, 13]
    """
    iterable = _Generated(checked_callable(initial, "initial"), checked_callable(step, "step"))
    return Stream(IterablePublisher(iterable, (), f"generate({name_of(initial)}, {name_of(step)})", assembly_site()))


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
