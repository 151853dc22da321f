"""Error notes name the operator or source that failed and the line of user code that assembled it."""

from __future__ import annotations

import dataclasses
import functools
import os
import re
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NoReturn

import pytest

import pyrs
from pyrs import schedulers, sinks
from pyrs._core.sites import add_note, assembly_site
from pyrs.testing import TestPublisher, TestSubscriber
from tests.core.support import error_of, notes_of
from tests.waiting import uncollected

Wrap = Callable[[Any], pyrs.Stream[Any]]
ROOT = Path(__file__).resolve().parents[3]


def here(offset: int = 0) -> str:
    return f"{__file__}:{sys._getframe(1).f_lineno + offset}"


def fail(*_: object) -> NoReturn:
    raise KeyError("mine")


class FailingCallable:
    def __call__(self, element: object) -> NoReturn:
        raise KeyError("mine")

    def method(self, element: object) -> NoReturn:
        raise KeyError("mine")


FUNCTIONS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "function": (fail, "fail"),
    "lambda": (lambda element: fail(), "<lambda>"),
    "built-in": (int, "int"),
    "method of a built-in": ("abc".index, "str.index"),
    "partial": (functools.partial(fail, 1), "functools.partial("),
    "partial of a built-in": (functools.partial(int, base=10), "functools.partial("),
    "callable object": (FailingCallable(), "<tests.core."),
    "bound method": (FailingCallable().method, "FailingCallable.method"),
    "wrapped": (functools.lru_cache(fail), "fail"),
    "decorated": (functools.wraps(fail)(lambda element: fail()), "fail"),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("operator", ["map", "filter", "do_on_next"])
def test_note_names_operator_and_function(kind: str, operator: str, any_way: Wrap) -> None:
    function, name = FUNCTIONS[kind]
    stream = getattr(any_way(pyrs.just("x").map(lambda text: text)), operator)(function).map(lambda text: text)
    (note,) = notes_of(error_of(stream))
    assert note.startswith(f"in {operator}({name}")
    assert note.endswith(f", assembled at {here(-3)}")


def test_note_names_the_function_that_raised() -> None:
    def first(text: str) -> str:
        return text.upper() if text else fail()

    def second(text: str) -> str:
        return text if text != "B" else fail()

    stream = pyrs.from_iterable(["a", "B"]).map(first).map(second)
    assert notes_of(error_of(stream))[0].startswith("in map(second), assembled at")
    stream = pyrs.from_iterable(["a", ""]).map(first).map(second)
    assert notes_of(error_of(stream))[0].startswith("in map(first), assembled at")


def test_note_lists_the_candidates_for_functions_implemented_in_c() -> None:
    line = here(1)
    stream = pyrs.just("x").map(str.strip).map(lambda text: text).map(int)
    assert notes_of(error_of(stream)) == [f"in one of map(str.strip) ({line}), map(int) ({line})"]


def test_note_lists_the_candidates_for_a_function_used_twice() -> None:
    stream: pyrs.Stream[Any] = pyrs.just("x").map(fail).map(fail)
    assert notes_of(error_of(stream)) == [f"in one of map(fail) ({here(-1)}), map(fail) ({here(-1)})"]


class TestSources:
    def test_note_names_a_generator(self) -> None:
        def numbers() -> Iterator[int]:
            yield 1
            fail()

        stream = pyrs.from_iterable(numbers()).map(int).map(str)
        (note,) = notes_of(error_of(stream))
        assert note.startswith("in from_iterable(<generator object")
        assert note.endswith(f"assembled at {here(-3)}")

    def test_note_names_an_iterator_and_an_iterable_that_fails_to_start(self) -> None:
        class Numbers:
            def __iter__(self) -> Iterator[int]:
                return self

            def __next__(self) -> int:
                raise KeyError("mine")

        class FailingIterable:
            def __iter__(self) -> Iterator[int]:
                raise KeyError("mine")

        for each in (Numbers(), FailingIterable()):
            (note,) = notes_of(error_of(pyrs.from_iterable(each).map(int)))
            assert note.startswith("in from_iterable(<tests.core.")
            assert note.endswith(f"assembled at {here(-2)}")

    def test_note_names_an_iterator_implemented_in_c(self) -> None:
        (note,) = notes_of(error_of(pyrs.from_iterable(map(int, "1x")).map(lambda n: n)))
        assert note.startswith("in from_iterable(<map object")

    def test_note_names_a_function_implemented_in_c_instead_of_the_generator(self) -> None:
        def numbers() -> Iterator[str]:
            yield "x"

        (note,) = notes_of(error_of(pyrs.from_iterable(numbers()).map(int)))
        assert note.startswith("in map(int), ")

    def test_to_iterable_raises_with_note_and_checkpoint(self) -> None:
        with pytest.raises(ValueError, match="invalid") as caught:
            list(pyrs.just("x").map(int).checkpoint("numbers").to_iterable())
        notes = notes_of(caught.value)
        assert notes == [f"in map(int), assembled at {here(-2)}", f"passed checkpoint 'numbers' at {here(-2)}"]


class TestOperatorKinds:
    def test_note_names_zip_once(self) -> None:
        (note,) = notes_of(error_of(pyrs.just(1).zip(pyrs.just(2), combine=fail)))
        assert note.startswith("in zip(")
        assert note.endswith(f"assembled at {here(-2)}")

    def test_note_names_repeat_once(self) -> None:
        (note,) = notes_of(error_of(pyrs.just(1).repeat(until=fail)))
        assert note == f"in repeat(until=fail), assembled at {here(-1)}"

    def test_combining_operators_add_no_note_to_upstream_errors(self) -> None:
        failing = pyrs.just("x").map(int)
        for stream in (failing.merge(pyrs.never()), failing.concat(pyrs.never()), failing.retry(0)):
            assert [note.partition(",")[0] for note in notes_of(error_of(stream))] == ["in map(int)"]

    def test_note_names_the_failing_operator_of_an_inner_stream_or_flat_map(self) -> None:
        """The note names the operator of the inner stream, or ``flat_map`` if its own function raises."""
        (note,) = notes_of(error_of(pyrs.just("x").flat_map(lambda text: pyrs.just(text).map(int))))
        assert note == f"in map(int), assembled at {here(-1)}"
        (note,) = notes_of(error_of(pyrs.just("x").flat_map(fail)))
        assert note.startswith("in flat_map(fail")
        assert note.endswith(f"assembled at {here(-2)}")

    @pytest.mark.parametrize("hide", [False, True])
    @pytest.mark.parametrize(
        "operator",
        [
            "concat_map", "distinct", "distinct_until_changed", "do_on_next", "filter", "flat_map", "group_by", "map",
            "reduce", "scan", "skip_while", "switch_map", "take_while", "to_dict",
        ],
    )  # fmt: skip
    def test_note_names_the_operator_once(self, operator: str, hide: bool, hidden: Wrap) -> None:
        source = hidden(pyrs.just(1, 2, 3)) if hide else pyrs.just(1, 2, 3)
        (note,) = notes_of(error_of(getattr(source, operator)(fail)))
        assert note.startswith(f"in {operator}(")
        assert note.endswith(f", assembled at {here(-2)}")

    @pytest.mark.parametrize(
        ("name", "make"),
        [
            ("generate", lambda: pyrs.generate(lambda: 1, fail)),
            ("defer", lambda: pyrs.defer(fail)),
            ("using", lambda: pyrs.using(fail, fail)),
            ("from_callable", lambda: pyrs.from_callable(fail)),
        ],
    )
    def test_note_names_the_source_once(self, name: str, make: Callable[[], pyrs.Stream[Any]]) -> None:
        (note,) = notes_of(error_of(make()))
        assert note.startswith(f"in {name}(")
        assert __file__ in note

    def test_note_names_the_source_of_an_inner_stream(self) -> None:
        def numbers() -> Iterator[int]:
            yield 1
            fail()

        (note,) = notes_of(error_of(pyrs.just(1).flat_map(lambda _: pyrs.from_iterable(numbers()))))
        assert note.startswith("in from_iterable(<generator object")
        assert note.endswith(f"assembled at {here(-2)}")


class TestCheckpoint:
    def test_checkpoint_marks_errors_of_any_upstream(self, any_way: Wrap) -> None:
        stream = any_way(pyrs.just("x").map(int)).checkpoint("orders").filter(lambda n: n).checkpoint()
        assert notes_of(error_of(stream))[1:] == [
            f"passed checkpoint 'orders' at {here(-2)}",
            f"passed a checkpoint at {here(-3)}",
        ]

    def test_checkpoint_marks_errors_of_a_foreign_publisher(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        source.stream().checkpoint("orders").subscribe(subscriber)
        source.error(OSError())
        assert notes_of(subscriber.await_error()) == [f"passed checkpoint 'orders' at {here(-2)}"]

    def test_checkpoint_marks_only_errors_that_pass_it(self, any_way: Wrap) -> None:
        stream: pyrs.Stream[Any] = any_way(pyrs.just("x")).checkpoint("before").map(fail).checkpoint("after")
        assert [note.partition(" at ")[0] for note in notes_of(error_of(stream))] == [
            "in map(fail), assembled",
            "passed checkpoint 'after'",
        ]

    def test_checkpoint_after_on_error_map_marks_the_new_error_only(self) -> None:
        failure, other = OSError(), KeyError()
        stream = pyrs.error(failure).checkpoint("a").on_error_map(lambda error: other).checkpoint("b")
        assert error_of(stream) is other
        assert [note.partition(" at ")[0] for note in notes_of(failure)] == ["passed checkpoint 'a'"]
        assert [note.partition(" at ")[0] for note in notes_of(other)][-1] == "passed checkpoint 'b'"

    def test_checkpoint_adds_no_frame_to_on_next(self) -> None:
        whole = pyrs.range(3).checkpoint("a")
        assert whole.collect() == [0, 1, 2]
        frames: list[int] = []

        def depth(element: object) -> None:
            frames.append(len(traceback.extract_stack()))

        source: TestPublisher[int] = TestPublisher()
        for stream in (source.stream().filter(bool), source.stream().filter(bool).checkpoint().checkpoint()):
            stream.subscribe(on_next=depth)
        source.next(1)
        assert frames[0] == frames[1]


class TestNotes:
    def test_retried_error_has_each_note_once(self) -> None:
        failure = KeyError("always the same")

        def function(element: object) -> NoReturn:
            raise failure

        notes = notes_of(error_of(pyrs.just(1).map(function).checkpoint("a").retry(20)))
        assert [note.partition(",")[0].partition(" at ")[0] for note in notes] == [
            "in map(function)",
            "passed checkpoint 'a'",
            "after 21 attempts in retry(20)",
        ]

    def test_error_shared_by_two_streams_has_the_notes_of_both(self) -> None:
        failure = KeyError("shared")

        def function(element: object) -> NoReturn:
            raise failure

        error_of(pyrs.just(1).map(function))
        assert notes_of(error_of(pyrs.just(1).filter(function))) == [
            f"in map(function), assembled at {here(-2)}",
            f"in filter(function), assembled at {here(-2)}",
        ]

    def test_number_of_notes_is_bounded(self) -> None:
        failure = KeyError("kept")
        for number in range(1_000):
            error_of(pyrs.error(failure).checkpoint(str(number)))
        assert len(notes_of(failure)) == 32

    def test_frozen_dataclass_error_receives_a_note(self) -> None:
        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            code: int

        def function(element: int) -> NoReturn:
            raise Frozen(element)

        error = error_of(pyrs.just(7).map(function))
        assert isinstance(error, Frozen)
        assert error.code == 7
        assert notes_of(error) == [f"in map(function), assembled at {here(-3)}"]

    def test_errors_that_reject_notes_are_forwarded_unchanged(self) -> None:
        class Slots(Exception):
            __slots__ = ("code",)

        class Odd(Exception):
            __notes__ = 3

        class RejectsNotes(Exception):
            @property
            def __notes__(self) -> NoReturn:
                raise RuntimeError("no")

        for kind in (Slots, Odd, RejectsNotes):

            def function(element: int, kind: type[Exception] = kind) -> NoReturn:
                raise kind

            assert isinstance(error_of(pyrs.just(7).map(function)), kind)

    def test_add_note_keeps_existing_notes_and_adds_no_duplicate(self) -> None:
        error = KeyError("mine")
        add_note(error, "first")
        add_note(error, "second")
        add_note(error, "first")
        assert notes_of(error) == ["first", "second"]

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 keeps notes but does not print them")
    def test_notes_are_printed_below_the_traceback(self) -> None:
        lines = "".join(traceback.format_exception(error_of(pyrs.just("x").map(int)))).splitlines()
        assert lines[-2:] == [
            "ValueError: invalid literal for int() with base 10: 'x'",
            f"in map(int), assembled at {here(-3)}",
        ]

    def test_null_signal_names_the_operator_that_returned_none(self, any_way: Wrap) -> None:
        error = error_of(any_way(pyrs.just(1)).map(lambda n: None))
        assert isinstance(error, pyrs.NullSignal)
        assert notes_of(error) == [f"in map(<lambda>), assembled at {here(-2)}"]

    def test_stop_iteration_names_the_operator_that_raised_it(self) -> None:
        def function(element: int) -> NoReturn:
            raise StopIteration

        error = error_of(pyrs.just(1).map(function).take(5))
        assert isinstance(error, RuntimeError)
        assert notes_of(error) == [f"in map(function), assembled at {here(-2)}"]


class TestSites:
    def test_site_is_the_line_in_a_loop_a_comprehension_and_a_function(self) -> None:
        stream: pyrs.Stream[Any] = pyrs.just("x")
        for function in (str, fail):
            stream = stream.map(function)
        assert notes_of(error_of(stream))[0].endswith(here(-1).rpartition(":")[2])

        (stream,) = [pyrs.just("x").map(function) for function in (fail,)]
        assert notes_of(error_of(stream)) == [f"in map(fail), assembled at {here(-1)}"]

        def build() -> pyrs.Stream[Any]:
            return pyrs.just("x").map(fail)

        assert notes_of(error_of(build())) == [f"in map(fail), assembled at {here(-2)}"]

    def test_site_in_a_library_is_the_line_of_the_library(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The site is the line that called the operator, also in third-party code."""
        library = tmp_path / "some_library.py"
        library.write_text("def numbers(stream):\n    return stream.map(int)\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        import some_library  # type: ignore[import-not-found]

        error = error_of(some_library.numbers(pyrs.just("x")))
        assert notes_of(error) == [f"in map(int), assembled at {library}:2"]

    def test_site_at_module_level_is_the_first_line_of_the_call(self, tmp_path: Path) -> None:
        script = tmp_path / "script.py"
        script.write_text("import pyrs\n\npyrs.just('x').map(\n    int\n).collect()\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert "ValueError: invalid literal" in done.stderr
        if sys.version_info >= (3, 11):
            assert f"in map(int), assembled at {script}:3" in done.stderr

    def test_site_without_user_code_is_the_nearest_caller(self) -> None:
        assert assembly_site() is not None
        code = compile("site = assembly_site()", pyrs.__file__, "exec")
        names: dict[str, Any] = {"assembly_site": assembly_site}
        exec(code, names)
        assert str(names["site"]) == here(-1)


class TestHooks:
    def test_drops_are_printed_without_logging_configuration(self) -> None:
        """The last-resort handler of ``logging`` prints warnings and errors on stderr."""
        program = (
            "import pyrs\n"
            "from pyrs._core import hooks\n"
            "pyrs.just('x').map(int).subscribe(on_next=print)\n"
            "hooks.on_next_dropped(3, 'a full buffer')\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
        )
        assert done.returncode == 0
        assert "dropped error (subscribe() was called without on_error): ValueError(" in done.stderr
        assert "dropped 3 element(s) (a full buffer)" in done.stderr
        assert "Traceback (most recent call last):" in done.stderr
        if sys.version_info >= (3, 11):
            assert "in map(int), assembled at <string>:3" in done.stderr

    def test_logging_is_imported_only_on_a_drop(self) -> None:
        program = "import sys, pyrs; pyrs.range(3).map(str).collect(); print('logging' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
        )
        assert done.stdout == "False\n"


EXAMPLE = re.compile(r"(?<!-->\n)```python\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)
EXAMPLES = EXAMPLE.findall((ROOT / "docs" / "debugging.md").read_text(encoding="utf-8"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 keeps notes but does not print them")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example_on_the_debugging_page_prints_the_shown_output(number: int, tmp_path: Path) -> None:
    program, expected = EXAMPLES[number]
    script = tmp_path / "orders.py"
    script.write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    printed = (done.stdout + done.stderr).replace(f"{tmp_path}{os.sep}", "")
    assert printed.endswith(expected)


def test_examples_on_the_debugging_page_are_found() -> None:
    assert len(EXAMPLES) >= 8


def test_assembly_site_runs_few_lines() -> None:
    """Finding the site inspects a few frames and reads no source, so that frequent assembly stays cheap."""
    steps: list[str] = []

    def follow(frame: object, event: str, argument: object) -> Any:
        steps.append(event)
        return follow

    before = sys.gettrace()
    with uncollected():  # finalizers would add steps
        sys.settrace(follow)
        try:
            site = assembly_site()
        finally:
            sys.settrace(before)
    assert str(site) == here(-3)
    assert len(steps) < 20


class TestSourcesThatForwardAnError:
    """A source that forwards the error of a future or an emitter adds a note with its own call."""

    def test_note_names_from_future(self) -> None:
        future: Future[int] = Future()
        future.set_exception(ValueError("planned"))
        (note,) = notes_of(error_of(pyrs.from_future(future)))
        assert note.startswith("in from_future(<Future at ") and note.endswith(f"assembled at {here(-1)}")

    def test_note_names_create(self) -> None:
        (note,) = notes_of(error_of(pyrs.create(push_error)))
        assert note == f"in create(push_error, overflow='buffer'), assembled at {here(-1)}"

    def test_shared_error_has_one_note_for_all_subscribers(self) -> None:
        error = ValueError("planned")
        stream = pyrs.create(lambda emitter: emitter.error(error))
        assert [len(notes_of(error_of(stream))) for _ in range(3)] == [1, 1, 1]


def push_error(emitter: pyrs.Emitter[int]) -> None:
    emitter.error(ValueError("planned"))


class TestRepr:
    @pytest.mark.parametrize(
        ("stream", "live"),
        [
            (pyrs.range(9), "<CallbackSubscriber: <IteratorSubscription live, demand 0>>"),
            (
                pyrs.never().publish_on(schedulers.inline()),
                "<CallbackSubscriber: <publish_on(inline()) live, demand 3>>",
            ),
            (pyrs.never().retry(2), "<CallbackSubscriber: <retry(2) live, demand 3>>"),
            (sinks.multicast().stream, "<CallbackSubscriber: <HubSubscription live, demand 3>>"),
            (
                sinks.multicast().stream.map(str).filter(len),
                "<CallbackSubscriber: <map(str).filter(len): live, from <HubSubscription live, demand 3>>>",
            ),
        ],
    )
    def test_repr_of_a_subscription_shows_state_and_demand(self, stream: pyrs.Stream[Any], live: str) -> None:
        subscription = stream.subscribe(on_next=lambda n: None, request=3)
        assert repr(subscription) == live
        subscription.request(pyrs.UNBOUNDED)
        assert "demand unbounded" in repr(subscription) or "over" in repr(subscription)
        subscription.cancel()
        assert repr(subscription) == "<CallbackSubscriber: over>"

    def test_repr_of_a_scheduled_task_shows_its_state(self) -> None:
        task = schedulers.single().schedule(print, 1000)
        assert repr(task) == "<Delayed print>"
        task.cancel()
        assert repr(task) == "<Delayed over>"

    def test_repr_of_an_uninitialized_stream_does_not_raise(self) -> None:
        assert repr(pyrs.Stream.__new__(pyrs.Stream)).startswith("<pyrs.stream.stream.Stream object at ")


PUSHED_OR_NOT = pytest.mark.parametrize("pushed", [False, True])


@PUSHED_OR_NOT
@pytest.mark.parametrize(
    ("chain", "operator"),
    [
        (lambda s: s.map(lambda n: n).map(lambda a, b: a).filter(lambda n: True), "map(<lambda>)"),
        (lambda s: s.map(lambda n: n).filter(lambda: True).map(str), "filter(<lambda>)"),
        (lambda s: s.map(int).scan(lambda a: a), "scan(<lambda>)"),
        (lambda s: s.filter(bool).map(lambda: 1), "map(<lambda>)"),
    ],
    ids=["too many parameters", "no parameter", "scan", "after a built-in function"],
)
def test_note_names_a_function_with_the_wrong_number_of_parameters(chain: Any, operator: str, pushed: bool) -> None:
    source: pyrs.Stream[Any] = pyrs.range(1, 4)
    with pytest.raises(TypeError) as raised:
        chain(source.concat(pyrs.empty()) if pushed else source).collect()
    (note,) = notes_of(raised.value)
    assert note.startswith(f"in {operator}, assembled at ")
