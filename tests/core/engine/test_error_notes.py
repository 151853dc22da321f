"""Where an error says it comes from: the operator or the source, and the line of user code that assembled it."""

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
from tests.waiting import uncollected

Wrap = Callable[[Any], pyrs.Stream[Any]]
ROOT = Path(__file__).resolve().parents[3]


def here(offset: int = 0) -> str:
    return f"{__file__}:{sys._getframe(1).f_lineno + offset}"


def error_of(stream: pyrs.Stream[Any]) -> BaseException:
    subscriber: TestSubscriber[Any] = TestSubscriber(None)
    stream.subscribe(subscriber)
    return subscriber.await_error()


def notes_of(error: BaseException) -> list[str]:
    return list(getattr(error, "__notes__", ()))


def fail(*_: object) -> NoReturn:
    raise KeyError("mine")


class Fails:
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
    "callable object": (Fails(), "<tests.core."),
    "bound method": (Fails().method, "Fails.method"),
    "wrapped": (functools.lru_cache(fail), "fail"),
    "decorated": (functools.wraps(fail)(lambda element: fail()), "fail"),
}


@pytest.fixture(params=["fused", "pushed", "elsewhere"])
def wrap(request: pytest.FixtureRequest, hidden: Wrap, elsewhere: Wrap) -> Wrap:
    ways: dict[str, Wrap] = {"fused": lambda stream: stream, "pushed": hidden, "elsewhere": elsewhere}
    return ways[request.param]


@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("operator", ["map", "filter", "do_on_next"])
def test_a_function_that_raises(kind: str, operator: str, wrap: Wrap) -> None:
    function, name = FUNCTIONS[kind]
    stream = getattr(wrap(pyrs.just("x").map(lambda text: text)), operator)(function).map(lambda text: text)
    (note,) = notes_of(error_of(stream))
    assert note.startswith(f"in {operator}({name}")
    assert note.endswith(f", assembled at {here(-3)}")


def test_each_of_several_functions_is_told_from_the_others() -> None:
    def first(text: str) -> str:
        return text.upper() if text else fail()

    def second(text: str) -> str:
        return text if text != "B" else fail()

    stream = pyrs.from_iterable(["a", "B"]).map(first).map(second)
    assert notes_of(error_of(stream))[0].startswith("in map(second), assembled at")
    stream = pyrs.from_iterable(["a", ""]).map(first).map(second)
    assert notes_of(error_of(stream))[0].startswith("in map(first), assembled at")


def test_what_is_written_in_c_leaves_a_choice() -> None:
    line = here(1)
    stream = pyrs.just("x").map(str.strip).map(lambda text: text).map(int)
    assert notes_of(error_of(stream)) == [f"in one of map(str.strip) ({line}), map(int) ({line})"]


def test_the_same_function_twice_leaves_a_choice() -> None:
    stream: pyrs.Stream[Any] = pyrs.just("x").map(fail).map(fail)
    assert notes_of(error_of(stream)) == [f"in one of map(fail) ({here(-1)}), map(fail) ({here(-1)})"]


class TestSources:
    def test_a_generator(self) -> None:
        def numbers() -> Iterator[int]:
            yield 1
            fail()

        stream = pyrs.from_iterable(numbers()).map(int).map(str)
        (note,) = notes_of(error_of(stream))
        assert note.startswith("in from_iterable(<generator object")
        assert note.endswith(f"assembled at {here(-3)}")

    def test_an_iterator_of_a_class_and_an_iterable_that_cannot_begin(self) -> None:
        class Numbers:
            def __iter__(self) -> Iterator[int]:
                return self

            def __next__(self) -> int:
                raise KeyError("mine")

        class Refuses:
            def __iter__(self) -> Iterator[int]:
                raise KeyError("mine")

        for each in (Numbers(), Refuses()):
            (note,) = notes_of(error_of(pyrs.from_iterable(each).map(int)))
            assert note.startswith("in from_iterable(<tests.core.")
            assert note.endswith(f"assembled at {here(-2)}")

    def test_an_iterator_in_c(self) -> None:
        (note,) = notes_of(error_of(pyrs.from_iterable(map(int, "1x")).map(lambda n: n)))
        assert note.startswith("in from_iterable(<map object")

    def test_a_generator_that_a_function_in_c_may_have_called(self) -> None:
        def numbers() -> Iterator[str]:
            yield "x"

        (note,) = notes_of(error_of(pyrs.from_iterable(numbers()).map(int)))
        assert note.startswith("in map(int), ")

    def test_on_the_calling_thread(self) -> None:
        with pytest.raises(ValueError, match="invalid") as caught:
            list(pyrs.just("x").map(int).checkpoint("numbers").to_iterable())
        notes = notes_of(caught.value)
        assert notes == [f"in map(int), assembled at {here(-2)}", f"passed checkpoint 'numbers' at {here(-2)}"]


class TestOperatorsOfOtherKinds:
    def test_a_coordinator_names_itself(self) -> None:
        (note,) = notes_of(error_of(pyrs.just(1).zip(pyrs.just(2), combine=fail)))
        assert note.startswith("in zip(")
        assert note.endswith(f"assembled at {here(-2)}")

    def test_a_relay_names_itself(self) -> None:
        (note,) = notes_of(error_of(pyrs.just(1).repeat(until=fail)))
        assert note == f"in repeat(until=fail), assembled at {here(-1)}"

    def test_an_error_from_upstream_is_not_theirs(self) -> None:
        failing = pyrs.just("x").map(int)
        for stream in (failing.merge(pyrs.never()), failing.concat(pyrs.never()), failing.retry(0)):
            assert [note.partition(",")[0] for note in notes_of(error_of(stream))] == ["in map(int)"]

    def test_inner_streams(self) -> None:
        """The operator in the inner stream is named; the outer one only for what its own function raises."""
        (note,) = notes_of(error_of(pyrs.just("x").flat_map(lambda text: pyrs.just(text).map(int))))
        assert note == f"in map(int), assembled at {here(-1)}"
        (note,) = notes_of(error_of(pyrs.just("x").flat_map(fail)))
        assert note.startswith("in flat_map(fail")
        assert note.endswith(f"assembled at {here(-2)}")

    def test_a_fold(self) -> None:
        notes = notes_of(error_of(pyrs.just(1, 2).reduce(fail)))
        assert len(notes) == 1
        assert notes[0].startswith("in reduce(fail")

    @pytest.mark.parametrize("hide", [False, True])
    @pytest.mark.parametrize(
        "operator",
        [
            "concat_map", "distinct", "distinct_until_changed", "do_on_next", "filter", "flat_map", "group_by", "map",
            "reduce", "scan", "skip_while", "switch_map", "take_while", "to_dict",
        ],
    )  # fmt: skip
    def test_every_operator_names_itself_once(self, operator: str, hide: bool, hidden: Wrap) -> None:
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
    def test_every_source_names_itself_once(self, name: str, make: Callable[[], pyrs.Stream[Any]]) -> None:
        (note,) = notes_of(error_of(make()))
        assert note.startswith(f"in {name}(")
        assert __file__ in note

    def test_a_source_in_an_inner_stream(self) -> None:
        def numbers() -> Iterator[int]:
            yield 1
            fail()

        (note,) = notes_of(error_of(pyrs.just(1).flat_map(lambda _: pyrs.from_iterable(numbers()))))
        assert note.startswith("in from_iterable(<generator object")
        assert note.endswith(f"assembled at {here(-2)}")


class TestCheckpoint:
    def test_marks_errors_of_any_upstream(self, wrap: Wrap) -> None:
        stream = wrap(pyrs.just("x").map(int)).checkpoint("orders").filter(lambda n: n).checkpoint()
        assert notes_of(error_of(stream))[1:] == [
            f"passed checkpoint 'orders' at {here(-2)}",
            f"passed a checkpoint at {here(-3)}",
        ]

    def test_marks_a_foreign_error(self) -> None:
        source: TestPublisher[int] = TestPublisher()
        subscriber: TestSubscriber[int] = TestSubscriber(1)
        source.stream().checkpoint("orders").subscribe(subscriber)
        source.error(OSError())
        assert notes_of(subscriber.await_error()) == [f"passed checkpoint 'orders' at {here(-2)}"]

    def test_only_what_passed_is_marked(self, wrap: Wrap) -> None:
        stream: pyrs.Stream[Any] = wrap(pyrs.just("x")).checkpoint("before").map(fail).checkpoint("behind")
        assert [note.partition(" at ")[0] for note in notes_of(error_of(stream))] == [
            "in map(fail), assembled",
            "passed checkpoint 'behind'",
        ]

    def test_the_error_that_another_replaced_is_not_marked_behind(self, hidden: Wrap) -> None:
        failure, other = OSError(), KeyError()
        stream = pyrs.error(failure).checkpoint("a").on_error_map(lambda error: other).checkpoint("b")
        assert error_of(stream) is other
        assert [note.partition(" at ")[0] for note in notes_of(failure)] == ["passed checkpoint 'a'"]
        assert [note.partition(" at ")[0] for note in notes_of(other)][-1] == "passed checkpoint 'b'"

    def test_is_out_of_the_way_of_elements(self) -> None:
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
    def test_a_retried_error_has_each_once(self) -> None:
        failure = KeyError("always the same")

        def function(element: object) -> NoReturn:
            raise failure

        notes = notes_of(error_of(pyrs.just(1).map(function).checkpoint("a").retry(20)))
        assert [note.partition(",")[0].partition(" at ")[0] for note in notes] == [
            "in map(function)",
            "passed checkpoint 'a'",
            "after 21 attempts in retry(20)",
        ]

    def test_the_same_error_in_two_streams_has_both(self) -> None:
        failure = KeyError("shared")

        def function(element: object) -> NoReturn:
            raise failure

        error_of(pyrs.just(1).map(function))
        assert notes_of(error_of(pyrs.just(1).filter(function))) == [
            f"in map(function), assembled at {here(-2)}",
            f"in filter(function), assembled at {here(-2)}",
        ]

    def test_one_that_is_kept_for_ever_does_not_grow(self) -> None:
        failure = KeyError("kept")
        for number in range(1_000):
            error_of(pyrs.error(failure).checkpoint(str(number)))
        assert len(notes_of(failure)) == 32

    def test_a_frozen_error(self) -> None:
        @dataclasses.dataclass(frozen=True)
        class Frozen(Exception):
            code: int

        def function(element: int) -> NoReturn:
            raise Frozen(element)

        error = error_of(pyrs.just(7).map(function))
        assert isinstance(error, Frozen)
        assert error.code == 7
        assert notes_of(error) == [f"in map(function), assembled at {here(-3)}"]

    def test_an_error_with_slots_and_one_with_notes_of_its_own(self) -> None:
        class Slots(Exception):
            __slots__ = ("code",)

        class Odd(Exception):
            __notes__ = 3

        class Refuses(Exception):
            @property
            def __notes__(self) -> NoReturn:
                raise RuntimeError("no")

        for kind in (Slots, Odd, Refuses):

            def function(element: int, kind: type[Exception] = kind) -> NoReturn:
                raise kind

            assert isinstance(error_of(pyrs.just(7).map(function)), kind)

    def test_notes_that_were_there_stay(self) -> None:
        error = KeyError("mine")
        add_note(error, "first")
        add_note(error, "second")
        add_note(error, "first")
        assert notes_of(error) == ["first", "second"]

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 keeps notes but does not print them")
    def test_they_are_printed_below_the_traceback(self) -> None:
        lines = "".join(traceback.format_exception(error_of(pyrs.just("x").map(int)))).splitlines()
        assert lines[-2:] == [
            "ValueError: invalid literal for int() with base 10: 'x'",
            f"in map(int), assembled at {here(-3)}",
        ]

    def test_none_is_blamed_on_where_it_came_out(self, wrap: Wrap) -> None:
        error = error_of(wrap(pyrs.just(1)).map(lambda n: None))
        assert isinstance(error, pyrs.NullSignal)
        assert notes_of(error) == [f"in map(<lambda>), assembled at {here(-2)}"]

    def test_a_false_end_is_blamed_too(self) -> None:
        def function(element: int) -> NoReturn:
            raise StopIteration

        error = error_of(pyrs.just(1).map(function).take(5))
        assert isinstance(error, RuntimeError)
        assert notes_of(error) == [f"in map(function), assembled at {here(-2)}"]


class TestSites:
    def test_in_a_loop_a_comprehension_and_a_function_that_builds(self) -> None:
        stream: pyrs.Stream[Any] = pyrs.just("x")
        for function in (str, fail):
            stream = stream.map(function)
        assert notes_of(error_of(stream))[0].endswith(here(-1).rpartition(":")[2])

        (stream,) = [pyrs.just("x").map(function) for function in (fail,)]
        assert notes_of(error_of(stream)) == [f"in map(fail), assembled at {here(-1)}"]

        def build() -> pyrs.Stream[Any]:
            return pyrs.just("x").map(fail)

        assert notes_of(error_of(build())) == [f"in map(fail), assembled at {here(-2)}"]

    def test_in_a_library(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """The line is the one that called the operator, whoever's it is."""
        library = tmp_path / "some_library.py"
        library.write_text("def numbers(stream):\n    return stream.map(int)\n", encoding="utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        import some_library  # type: ignore[import-not-found]

        error = error_of(some_library.numbers(pyrs.just("x")))
        assert notes_of(error) == [f"in map(int), assembled at {library}:2"]

    def test_at_module_level(self, tmp_path: Path) -> None:
        script = tmp_path / "script.py"
        script.write_text("import pyrs\n\npyrs.just('x').map(\n    int\n).collect()\n", encoding="utf-8")
        done = subprocess.run(
            [sys.executable, script], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )  # fmt: skip
        assert "ValueError: invalid literal" in done.stderr
        if sys.version_info >= (3, 11):
            assert f"in map(int), assembled at {script}:3" in done.stderr

    def test_where_there_is_no_user_code(self) -> None:
        assert assembly_site() is not None
        code = compile("site = assembly_site()", pyrs.__file__, "exec")
        names: dict[str, Any] = {"assembly_site": assembly_site}
        exec(code, names)
        assert str(names["site"]) == here(-1)


class TestHooks:
    def test_what_is_dropped_reaches_a_user_who_set_nothing_up(self) -> None:
        """Logging's last resort prints warnings and errors on stderr."""
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
        assert "dropped error (subscribe() was given no on_error): ValueError(" in done.stderr
        assert "dropped 3 element(s) (a full buffer)" in done.stderr
        assert "Traceback (most recent call last):" in done.stderr
        if sys.version_info >= (3, 11):
            assert "in map(int), assembled at <string>:3" in done.stderr

    def test_importing_logging_waits_until_something_is_dropped(self) -> None:
        program = "import sys, pyrs; pyrs.range(3).map(str).collect(); print('logging' in sys.modules)"
        done = subprocess.run(
            [sys.executable, "-S", "-c", program], capture_output=True, text=True, timeout=100, check=False, cwd=ROOT
        )
        assert done.stdout == "False\n"


EXAMPLE = re.compile(r"```python\n(.*?)```\n+```text\n(.*?)```", re.DOTALL)
EXAMPLES = EXAMPLE.findall((ROOT / "docs" / "debugging.md").read_text(encoding="utf-8"))


@pytest.mark.skipif(sys.version_info < (3, 11), reason="3.10 keeps notes but does not print them")
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_the_page_shows_what_is_printed(number: int, tmp_path: Path) -> None:
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


def test_the_page_has_its_examples() -> None:
    assert len(EXAMPLES) == 6


def test_assembly_is_quick() -> None:
    """A look at a few frames, and not at the source: far from what would be felt where streams are built often."""
    steps: list[str] = []

    def follow(frame: object, event: str, argument: object) -> Any:
        steps.append(event)
        return follow

    before = sys.gettrace()
    with uncollected():  # the steps of finalizers are no part of it
        sys.settrace(follow)
        try:
            site = assembly_site()
        finally:
            sys.settrace(before)
    assert str(site) == here(-3)
    assert len(steps) < 20


class TestSourcesThatPassAnErrorOn:
    """It did not arise here, but who reads it wants to know by which stream it came."""

    def test_a_future(self) -> None:
        future: Future[int] = Future()
        future.set_exception(ValueError("planned"))
        (note,) = notes_of(error_of(pyrs.from_future(future)))
        assert note.startswith("in from_future(<Future at ") and note.endswith(f"assembled at {here(-1)}")

    def test_what_create_was_told(self) -> None:
        (note,) = notes_of(error_of(pyrs.create(fail_by)))
        assert note == f"in create(fail_by, overflow='buffer'), assembled at {here(-1)}"

    def test_each_subscriber_finds_one_note(self) -> None:
        error = ValueError("planned")
        stream = pyrs.create(lambda emitter: emitter.error(error))
        assert [len(notes_of(error_of(stream))) for _ in range(3)] == [1, 1, 1]


def fail_by(emitter: pyrs.Emitter[int]) -> None:
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
            (sinks.multicast().stream, "<CallbackSubscriber: <Tap live, demand 3>>"),
            (
                sinks.multicast().stream.map(str).filter(len),
                "<CallbackSubscriber: <map(str).filter(len): live, from <Tap live, demand 3>>>",
            ),
        ],
    )
    def test_a_subscription_says_whether_it_is_live_and_what_is_demanded(
        self, stream: pyrs.Stream[Any], live: str
    ) -> None:
        subscription = stream.subscribe(on_next=lambda n: None, request=3)
        assert repr(subscription) == live
        subscription.request(pyrs.UNBOUNDED)
        assert "demand unbounded" in repr(subscription) or "over" in repr(subscription)
        subscription.cancel()
        assert repr(subscription) == "<CallbackSubscriber: over>"

    def test_a_task_that_was_scheduled(self) -> None:
        task = schedulers.single().schedule(print, 1000)
        assert repr(task) == "<Delayed print>"
        task.cancel()
        assert repr(task) == "<Delayed over>"

    def test_a_stream_whose_init_has_failed_can_be_looked_at(self) -> None:
        assert repr(pyrs.Stream.__new__(pyrs.Stream)).startswith("<pyrs.stream.stream.Stream object at ")
