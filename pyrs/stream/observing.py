"""The observing operators of a stream; what they do is in ``pyrs/operators/observing.py`` and its neighbours."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from pyrs import operators
from pyrs.stream.family import Family

if TYPE_CHECKING:
    from logging import Logger
    from typing import TextIO

    from pyrs.operators.metrics import Metrics
    from pyrs.stream.stream import Stream

__all__ = ["Observing"]

T_co = TypeVar("T_co", covariant=True)


class Observing(Family[T_co]):
    """Operators that look on, and change nothing."""

    __slots__ = ()

    def do_on_next(self, action: Callable[[T_co], object]) -> Stream[T_co]:
        """Call the action with each element, before it is handed on.

            ---1---2---3---|
            do_on_next(print)
            ---1---2---3---|

        Demand goes through unchanged. What the action raises ends the stream with that error and cancels upstream.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).do_on_next(print).collect()
            1
            2
            [1, 2]
        """
        return self._then(operators.observing.DoOnNext(action))

    def do_on_subscribe(self, action: Callable[[], object]) -> Stream[T_co]:
        """Call the action for each Subscriber, before its ``on_subscribe``.

            do_on_subscribe(action)
            subscribe -> action() ---1---2---|

        Demand goes through unchanged. What the action raises is the stream's error, and upstream is cancelled.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_subscribe(lambda: print("begins")).collect()
            begins
            [1]
        """
        return self._then(operators.observing.DoOnSubscribe(action))

    def do_on_request(self, action: Callable[[int], object]) -> Stream[T_co]:
        """Call the action with each demand, before it is handed on.

            do_on_request(print)
            request(2) -> print(2) ---1---2

        It runs on whichever thread requests, and may run on several at once. What the action raises goes to the hook
        for dropped errors; the demand is handed on all the same. ``pyrs.UNBOUNDED`` stands for no limit.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(9).do_on_request(print).subscribe(on_next=print, request=2)
            2
            0
            1
        """
        return self._then(operators.observing.DoOnRequest(action))

    def do_on_complete(self, action: Callable[[], object]) -> Stream[T_co]:
        """Call the action when the stream completes, before the Subscriber is told.

            ---1---2---|
            do_on_complete(action)
            ---1---2---|    action()

        Demand goes through unchanged. What the action raises is the stream's error, in place of the end.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_complete(lambda: print("all there")).collect()
            all there
            [1]
        """
        return self._then(operators.observing.DoOnComplete(action))

    def do_on_error(self, action: Callable[[BaseException], object]) -> Stream[T_co]:
        """Call the action with the error when the stream fails, before the Subscriber is told.

            ---1---X
            do_on_error(print)
            ---1---X        print(X)

        Demand goes through unchanged. What the action raises does not take the error's place: the error says so in a
        note, and the hook for dropped errors is told the other.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just("x").map(int).do_on_error(lambda error: print(type(error))).on_error_return(0).collect()
            <class 'ValueError'>
            [0]
        """
        return self._then(operators.observing.DoOnError(action))

    def do_on_terminate(self, action: Callable[[], object]) -> Stream[T_co]:
        """Call the action when the stream completes or fails, before the Subscriber is told. Not after a cancel.

            ---1---2---|
            do_on_terminate(action)
            ---1---2---|    action()

        Demand goes through unchanged. An action that raises is treated as in ``do_on_complete`` and ``do_on_error``.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_terminate(lambda: print("over")).collect()
            over
            [1]
        """
        return self._then(operators.observing.DoOnTerminate(action))

    def do_on_cancel(self, action: Callable[[], object]) -> Stream[T_co]:
        """Call the action when the Subscriber, or an operator behind this one, cancels; before upstream is told.

            ---1---2---3---
            do_on_cancel(action)
            take(2)         cancel -> action()
            ---1---2|

        It runs on whichever thread cancels, once at most. What the action raises goes to the hook for dropped errors;
        the cancel is handed on all the same.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).do_on_cancel(lambda: print("enough")).take(2).collect()
            enough
            [0, 1]
        """
        return self._then(operators.observing.DoOnCancel(action))

    def finally_do(self, action: Callable[[], object]) -> Stream[T_co]:
        """Call the action once when it is over: after the end, the error or the cancel, whichever is first.

            ---1---2---|
            finally_do(action)
            ---1---2---|
                       action()

        It runs exactly once for each Subscriber, also when the Subscriber raises, after the signal or the cancel was
        handed on. What the action raises goes to the hook for dropped errors. For what has to be opened too see
        ``pyrs.using``.

        Raises:
            TypeError: the action cannot be called.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.just(1).finally_do(lambda: print("closed")).subscribe(on_next=print)
            1
            closed
        """
        return self._then(operators.observing.FinallyDo(action))

    def checkpoint(self, name: str | None = None) -> Stream[T_co]:
        """Have every error that passes here say so, in a note that is printed below its traceback.

            ---1---X
            checkpoint("orders")
            ---1---X    passed checkpoint 'orders' at shop.py:12

        Costs nothing as long as nothing fails. The note has this call's file and line.

        Raises:
            TypeError: the name is not a string.

        Examples:
            >>> import pyrs
            >>> def show(error):
            ...     print(error.__notes__[-1].partition(" at ")[0])
            >>> _ = pyrs.just("x").map(int).checkpoint("orders").subscribe(on_error=show)
            passed checkpoint 'orders'
        """
        return self._then(operators.observing.Checkpoint(name))

    def log(self, name: str | None = None, *, logger: Logger | None = None, level: int = 20) -> Stream[T_co]:
        """Write a log record for each signal, request and cancel.

            ---1---2---|
            log("numbers")
            ---1---2---|    numbers: on_next(1) ... numbers: on_complete()

        Demand goes through unchanged. Elements are shown in a line's length.

        Args:
            name: what the records begin with; None for the stream as it was written.
            logger: None for the one of the name ``pyrs.stream``.
            level: that of the records. 20 is ``logging.INFO``, which Python shows only where logging was set up, such
                as by ``logging.basicConfig(level=logging.INFO)``.

        Raises:
            TypeError: an argument is of the wrong type.

        Examples:
            >>> import logging, sys
            >>> import pyrs
            >>> logger = logging.getLogger("example")
            >>> logger.addHandler(logging.StreamHandler(sys.stdout))
            >>> logger.setLevel(logging.INFO)
            >>> pyrs.range(9).log("numbers", logger=logger).take(2).collect()
            numbers: on_subscribe()
            numbers: request(2)
            numbers: on_next(0)
            numbers: on_next(1)
            numbers: cancel()
            [0, 1]
        """
        return self._then(operators.observing.Log(name, logger, level, repr(self)))

    def progress(
        self, total: int | None = None, description: str | None = None, *, file: TextIO | None = None
    ) -> Stream[T_co]:
        """Show how far the stream has come: by tqdm where that is installed, else in lines on stderr.

            ---1---2---3---|
            progress(total=3)
            ---1---2---3---|    3/3 [00:00<00:00, 512.00 elements/s]

        A bar for each Subscriber, from its subscription to the end, the error or the cancel; in a notebook a widget.
        Without tqdm there is a line every half second at most, and one at the end. Demand goes through unchanged. What
        cannot be shown goes to the hook for dropped errors, and the stream goes on.

        Args:
            total: how many elements there will be, if that is known.
            description: what the line begins with.
            file: where to write; None for stderr.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: total is negative.

        Examples:
            >>> import io, pyrs
            >>> file = io.StringIO()
            >>> pyrs.range(3).progress(total=3, description="numbers", file=file).collect()
            [0, 1, 2]
            >>> "numbers" in file.getvalue()
            True
        """
        return self._then(operators.progress.Progress(total, description, file))

    def metrics(self, metrics: Metrics) -> Stream[T_co]:
        """Count subscriptions, demand, elements and ends.

            ---1---2---|
            metrics(counters)
            ---1---2---|    counters.elements == 2

        Demand goes through unchanged. The counters may be shared by several streams and be read at any time.

        Args:
            metrics: the counters, see ``pyrs.Metrics``.

        Raises:
            TypeError: they are none.

        Examples:
            >>> import pyrs
            >>> numbers = pyrs.Metrics("numbers")
            >>> stream = pyrs.range(3).metrics(numbers)
            >>> stream.collect(), stream.collect()
            ([0, 1, 2], [0, 1, 2])
            >>> numbers.subscribed, numbers.elements, numbers.completed
            (2, 6, 2)
        """
        return self._then(operators.metrics.Measured(metrics))
