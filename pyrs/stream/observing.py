"""Observing operators of Stream, implemented in ``pyrs/operators``."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pyrs import operators
from pyrs._core.display import LazyText
from pyrs.stream.family import K_co, OfKind, OperatorFamily, T_co

if TYPE_CHECKING:
    from logging import Logger
    from typing import TextIO

    from pyrs.operators.metrics import Metrics
    from pyrs.stream.explaining import Explanation


class Observing(OperatorFamily[T_co]):
    """Operators that observe signals and do not change them."""

    def do_on_next(self: OfKind[K_co], action: Callable[[T_co], object]) -> K_co:
        """Call the action with each element, before the element is emitted.

            ---1---2---3---|
            do_on_next(print)
            ---1---2---3---|

        Forwards demand unchanged. If the action raises, upstream is cancelled and the stream fails with that error.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1, 2).do_on_next(print).collect()
            1
            2
            [1, 2]
        """
        return self._kept(self._then(operators.observing.DoOnNext(action)))

    def do_on_subscribe(self: OfKind[K_co], action: Callable[[], object]) -> K_co:
        """Call the action for each Subscriber, before its ``on_subscribe``.

            do_on_subscribe(action)
            subscribe -> action() ---1---2---|

        Forwards demand unchanged. If the action raises, upstream is cancelled and the stream fails with that error.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_subscribe(lambda: print("begins")).collect()
            begins
            [1]
        """
        return self._kept(self._then(operators.observing.Action("do_on_subscribe", action)))

    def do_on_request(self: OfKind[K_co], action: Callable[[int], object]) -> K_co:
        """Call the action with the ``n`` of each request, before the request is forwarded.

            do_on_request(print)
            request(2) -> print(2) ---1---2

        Runs on the thread that requests, and possibly on several threads at once. ``pyrs.UNBOUNDED`` means no limit. An
        exception from the action is reported to the dropped-errors hook; the request is forwarded anyway.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.range(9).do_on_request(print).subscribe(on_next=print, request=2)
            2
            0
            1
        """
        return self._kept(self._then(operators.observing.Action("do_on_request", action)))

    def do_on_complete(self: OfKind[K_co], action: Callable[[], object]) -> K_co:
        """Call the action when the stream completes, before ``on_complete`` is emitted.

            ---1---2---|
            do_on_complete(action)
            ---1---2---|    action()

        Forwards demand unchanged. If the action raises, the stream fails with that error instead of completing.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_complete(lambda: print("all there")).collect()
            all there
            [1]
        """
        return self._kept(self._then(operators.observing.Action("do_on_complete", action)))

    def do_on_error(self: OfKind[K_co], action: Callable[[BaseException], object]) -> K_co:
        """Call the action with the error of the stream, before ``on_error`` is emitted.

            ---1---X
            do_on_error(print)
            ---1---X        print(X)

        Forwards demand unchanged. An exception from the action becomes a note on the error, and is reported as dropped.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just("x").map(int).do_on_error(lambda error: print(type(error))).on_error_return(0).collect()
            <class 'ValueError'>
            [0]
        """
        return self._kept(self._then(operators.observing.Action("do_on_error", action)))

    def do_on_terminate(self: OfKind[K_co], action: Callable[[], object]) -> K_co:
        """Call the action before the stream signals its completion or its error.

            ---1---2---|
            do_on_terminate(action)
            ---1---2---|    action()

        Not called on cancel. Forwards demand unchanged. For exceptions see ``do_on_complete`` and ``do_on_error``.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.just(1).do_on_terminate(lambda: print("terminated")).collect()
            terminated
            [1]
        """
        return self._kept(self._then(operators.observing.Action("do_on_terminate", action)))

    def do_on_cancel(self: OfKind[K_co], action: Callable[[], object]) -> K_co:
        """Call the action when downstream cancels, before the cancel is forwarded.

            ---1---2---3---
            do_on_cancel(action)
            take(2)         cancel -> action()
            ---1---2|

        Runs at most once, on the thread that cancels; operators downstream, such as ``take``, cancel as well. An
        exception from the action is reported to the dropped-errors hook; the cancel is forwarded anyway.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(9).do_on_cancel(lambda: print("enough")).take(2).collect()
            enough
            [0, 1]
        """
        return self._kept(self._then(operators.observing.Action("do_on_cancel", action)))

    def do_on_discard(self: OfKind[K_co], function: Callable[[Any], object]) -> K_co:
        """Call the function with each element that an operator before this one drops.

            ---1---2---3---|
            filter(even).do_on_discard(print)
            -------2-------|    print(1), print(3)

        Forwards demand unchanged. An operator or a source discards an element that it received or buffered and does not
        emit: after a cancel or an error, on overflow, and by design, as in ``filter``, ``distinct``, ``skip`` or
        ``sample``. The function receives the object that the discarding operator received: a mapped element after
        ``map``, a list after ``buffer``. Includes inner streams, such as those of ``flat_map``, and excludes operators
        after this one. If a stream has several ``do_on_discard``, their functions are called from the first to the
        last, and then the global hook (``pyrs.set_discard_hook``).

        An element that is consumed by a user function, as in ``flat_map`` or ``reduce``, is discarded only if the
        function raises. An element in the history of ``replay`` or ``cache`` is discarded only when it leaves the
        history, or the connection is cancelled, before a Subscriber has received it.

        The function runs on the thread that drops the element, without a lock. An exception is reported to the
        dropped-errors hook, and does not change the stream. Use it to release pooled objects. A release must be
        idempotent if an operator before this one emits overlapping lists or windows.

        Args:
            function: called with each discarded element.

        Raises:
            TypeError: ``function`` is not callable.

        Examples:
            >>> import pyrs
            >>> pyrs.range(5).filter(lambda n: n % 2).do_on_discard(print).collect()
            0
            2
            4
            [1, 3]
        """
        return self._kept(operators.observing.DoOnDiscard(self.source, function))

    def finally_do(self: OfKind[K_co], action: Callable[[], object]) -> K_co:
        """Call the action once after completion, error or cancel, whichever is first.

            ---1---2---|
            finally_do(action)
            ---1---2---|
                       action()

        Runs exactly once per Subscriber, after the terminal signal or the cancel was forwarded, and also if the
        Subscriber raises. An exception from the action is reported as dropped. See ``pyrs.using`` for resources.

        Raises:
            TypeError: ``action`` is not callable.

        Examples:
            >>> import pyrs
            >>> _ = pyrs.just(1).finally_do(lambda: print("closed")).subscribe(on_next=print)
            1
            closed
        """
        return self._kept(self._then(operators.observing.Action("finally_do", action)))

    def checkpoint(self: OfKind[K_co], name: str | None = None) -> K_co:
        """Add a note with the file and line of this call to each error of this stream.

            ---1---X
            checkpoint("orders")
            ---1---X    passed checkpoint 'orders' at shop.py:12

        The note is printed below the traceback. There is no cost unless the stream fails.

        Raises:
            TypeError: ``name`` is not a string.

        Examples:
            >>> import pyrs
            >>> def show(error):
            ...     print(error.__notes__[-1].partition(" at ")[0])
            >>> _ = pyrs.just("x").map(int).checkpoint("orders").subscribe(on_error=show)
            passed checkpoint 'orders'
        """
        return self._kept(self._then(operators.observing.Checkpoint(name)))

    def log(self: OfKind[K_co], name: str | None = None, *, logger: Logger | None = None, level: int = 20) -> K_co:
        """Write a log record for each signal, request and cancel.

            ---1---2---|
            log("numbers")
            ---1---2---|    numbers: on_next(1) ... numbers: on_complete()

        Forwards demand unchanged. The repr of an element is shortened.

        Args:
            name: the prefix of the records; None for the stream's repr.
            logger: the logger; None for ``pyrs.stream``.
            level: the level of the records. The default 20 is ``logging.INFO``, which Python shows only after logging
                is configured, for example by ``logging.basicConfig(level=logging.INFO)``.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``level`` is negative.

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
        return self._kept(self._then(operators.observing.Log(name, logger, level, LazyText(repr, self))))

    def progress(
        self: OfKind[K_co], total: int | None = None, description: str | None = None, *, file: TextIO | None = None
    ) -> K_co:
        """Show the stream's progress, with tqdm if installed, else as lines on stderr.

            ---1---2---3---|
            progress(total=3)
            ---1---2---3---|    3/3 [00:00<00:00, 512.00 elements/s]

        Each Subscriber has its own bar, from subscription to completion, error or cancel; in a notebook it is a widget.
        Without tqdm a line is written at most every half second, and one at the end. Forwards demand unchanged. An
        error while writing is reported to the dropped-errors hook, and the stream continues.

        Args:
            total: the expected number of elements, if known.
            description: the prefix of the line.
            file: the file to write to; None for stderr.

        Raises:
            TypeError: an argument has the wrong type.
            ValueError: ``total`` is negative.

        Examples:
            >>> import io, pyrs
            >>> file = io.StringIO()
            >>> pyrs.range(3).progress(total=3, description="numbers", file=file).collect()
            [0, 1, 2]
            >>> "numbers" in file.getvalue()
            True
        """
        return self._kept(self._then(operators.progress.Progress(total, description, file)))

    def metrics(self: OfKind[K_co], metrics: Metrics) -> K_co:
        """Count subscriptions, demand, elements, terminal signals and cancels.

            ---1---2---|
            metrics(counters)
            ---1---2---|    counters.elements == 2

        Forwards demand unchanged. Several streams may share the counters, which can be read at any time.

        Args:
            metrics: the counters; see ``pyrs.Metrics``.

        Raises:
            TypeError: ``metrics`` is not a ``pyrs.Metrics``.

        Examples:
            >>> import pyrs
            >>> numbers = pyrs.Metrics("numbers")
            >>> stream = pyrs.range(3).metrics(numbers)
            >>> stream.collect(), stream.collect()
            ([0, 1, 2], [0, 1, 2])
            >>> numbers.subscribed, numbers.elements, numbers.completed
            (2, 6, 2)
        """
        return self._kept(self._then(operators.metrics.Measured(metrics)))

    def explain(self) -> Explanation:
        """Describe the demand, buffers and thread of each operator.

        The description includes the line that assembled the operator. Does not subscribe. ``print`` shows the result as
        a table; ``svg()`` and notebooks show it as a drawing.

        Examples:
            >>> import pyrs
            >>> stream = pyrs.range(100).map(str).prefetch(8)
            >>> for step in stream.explain().steps:
            ...     print(step.call, "|", step.demand, "|", step.holds)
            range(0, 100) | exact: pulled | nothing
            map(str) | exact | nothing
            prefetch(8) | ahead: 8 | 8
        """
        from pyrs.stream.explaining import explain  # imported on use: most programs never call this

        return explain(self)
