"""The JPype gateway: a JVM in this process. Tests that start a JVM differently run in separate processes."""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import jpype
import pytest

from pyrs import jvm
from pyrs.errors import ConversionError, JavaError, JvmError, JvmUnavailable
from pyrs.jvm.gateways import Gateway, gateway_for, launch_gateway
from pyrs.jvm.gateways.jars import packaged_jars
from tests.waiting import eventually

SECONDS = 100
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def gateway() -> Gateway:
    return launch_gateway()


def run_in_process(program: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip()


def test_gateway_opens_and_closes_a_bridge(gateway: Gateway) -> None:
    control = gateway.open(b"1" * 32, {"max_prefetch": 256, "call_timeout_ms": 30_000, "name": "test", "absent": None})
    try:
        subject = jpype.JClass("java.util.ArrayList")()
        assert gateway.is_java_object(subject)
        assert not gateway.is_java_object("subject")
        assert control.port() > 0
        assert control.is_open()
        assert control.kind(subject) == 0
        handle = control.export(subject)
        assert control.resolve(handle) is not None
        mirror: Any = control.mirror(1, 77, {})
        assert isinstance(mirror, jpype.JClass("org.reactivestreams.Publisher"))
        assert isinstance(mirror, jpype.JClass("java.util.concurrent.Flow").Publisher)
        assert (control.kind(mirror), control.unwrap(mirror), control.unwrap(subject)) == (1, 77, 0)
        assert isinstance(control.stats(), dict)
    finally:
        control.close()
    assert not control.is_open()


def test_calls_return_python_values(gateway: Gateway) -> None:
    collections, text = jpype.JClass("java.util.Collections"), jpype.JClass("java.lang.StringBuilder")
    call, java_map = gateway._java.call, jpype.JClass("java.util.HashMap")()
    with jvm.connect() as bridge:
        view = bridge.java_class("java.util.Collections").unmodifiableMap(java_map)  # an object of a private class
        answers = [
            view.getOrDefault("key", "absent"),
            view.size(),
            view.isEmpty(),
            view.get("key"),
            call(collections.emptyMap(), "size"),
            call(text("x\N{PILE OF POO}"), "toString"),
        ]
    assert answers == ["absent", 0, True, None, 0, "x\N{PILE OF POO}"]
    assert [type(answer) for answer in answers] == [str, int, bool, type(None), int, str]


def test_a_throwable_is_raised_as_java_error(gateway: Gateway) -> None:
    with pytest.raises(Exception) as caught:
        jpype.JClass("java.lang.Integer").parseInt("many")
    error = gateway._java.translate(caught.value)
    assert isinstance(error, JavaError)
    assert (error.java_class, error.java_message) == ("java.lang.NumberFormatException", 'For input string: "many"')
    assert ("java.lang.Integer", "parseInt") in {frame[:2] for frame in error.java_stack}


def test_causes_are_kept(gateway: Gateway) -> None:
    inner = jpype.JClass("java.io.IOException")("why")
    with pytest.raises(Exception) as caught:
        raise jpype.JClass("java.lang.IllegalStateException")("what", inner)
    error = gateway._java.translate(caught.value)
    assert isinstance(error.__cause__, JavaError)
    assert error.__cause__.java_message == "why"


@pytest.mark.parametrize("value", [2**63, "\ud800", object(), [1]])
def test_an_unconvertible_value_is_refused(gateway: Gateway, value: object) -> None:
    control = gateway.open(os.urandom(32), {})
    try:
        with pytest.raises(ConversionError):
            control.mirror(1, 77, {"element_type": value})
    finally:
        control.close()


def test_a_second_launch_attaches(gateway: Gateway) -> None:
    assert launch_gateway().describe() == gateway.describe()
    assert gateway_for().describe() == gateway.describe()


def test_a_second_launch_refuses_other_options(gateway: Gateway) -> None:
    with pytest.raises(JvmUnavailable, match=r"a JVM runs in this process already, without -Xmx77m"):
        launch_gateway(jvm_options=["-Xmx77m"])


def test_a_second_launch_adds_to_the_class_path(gateway: Gateway, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    jar = shutil.copy(packaged_jars().reactive_streams, folder / "added.jar")
    for _ in range(2):
        launch_gateway(classpath=[str(folder / "*")])
    loader = jpype.JClass("org.jpype.JPypeContext").getInstance().getClassLoader()
    assert [str(url).rpartition("/")[2] for url in loader.getURLs()].count(Path(jar).name) == 1


def test_a_missing_class_path_entry_is_reported(gateway: Gateway, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.jar is on the class path but does not exist"):
        launch_gateway(classpath=[tmp_path / "absent.jar"])


def test_detached_threads_leave_no_java_thread(gateway: Gateway) -> None:
    threads_of_java = jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean()
    control = gateway.open(b"3" * 32, {})

    def use() -> None:
        try:
            control.port()
        finally:
            gateway.detach_thread()

    before = threads_of_java.getThreadCount()
    for _ in range(30):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(SECONDS)
        gateway.shield(control.port)
    control.close()
    eventually(lambda: threads_of_java.getThreadCount() <= before + 5, "Java threads of ended Python threads are left")


def test_thread_that_drops_a_java_object_leaves_no_java_thread(gateway: Gateway) -> None:
    """JPype attaches the thread that deallocates a Java object."""
    threads_of_java = jpype.JClass("java.lang.management.ManagementFactory").getThreadMXBean()

    def use() -> None:
        created = gateway.with_java(lambda java: java.new("java.lang.Object"))
        del created

    before = threads_of_java.getThreadCount()
    for _ in range(30):
        thread = threading.Thread(target=use)
        thread.start()
        thread.join(SECONDS)
    eventually(lambda: threads_of_java.getThreadCount() <= before + 5, "Java threads of ended Python threads are left")


def test_end_of_a_gateway_detaches_no_live_thread(gateway: Gateway) -> None:
    def use() -> None:
        java_thread = jpype.JClass("java.lang.Thread")
        java_thread.attach()
        attached.append(java_thread.isAttached())
        another = gateway_for(None)
        another.is_java_object(jpype.JClass("java.lang.Object")())
        del another
        gc.collect()
        attached.append(java_thread.isAttached())

    attached: list[bool] = []
    thread = threading.Thread(target=use)
    thread.start()
    thread.join(SECONDS)
    assert attached == [True, True]


def test_a_missing_method_raises_jvm_error(gateway: Gateway) -> None:
    with pytest.raises(JvmError):
        gateway._java.call(jpype.JClass("java.lang.Object")(), "nothingOfTheKind")


# Connects to a JVM that the user has started, with reactive-streams on the class path, added later, or without it.
USER_JVM = """
    import sys
    import jpype
    from pyrs.jvm.gateways import gateway_for
    way, jar = sys.argv[1:]
    jpype.startJVM(classpath=[jar] if way == "class path" else [], convertStrings=way == "none")
    if way == "added":
        jpype.addClassPath(jar)
    control = gateway_for(None).open(b"t" * 32, {"name": "theirs"})
    mirror = control.mirror(1, 9, {})
    loader = mirror.getClass().getClassLoader()
    publisher = loader.loadClass("org.reactivestreams.Publisher")
    assert publisher.isInstance(mirror)
    other = gateway_for().open(b"u" * 32, {})
    assert other.mirror(2, 4, {}).getClass().getClassLoader().equals(loader)
    other.close()
    assert control.is_open()
    control.close()
    print(str(loader.getResource("org/reactivestreams/Publisher.class")).partition("!")[0])
"""


@pytest.mark.parametrize("way", ["class path", "added", "none"])
def test_connect_uses_the_reactive_streams_of_a_jvm_that_the_user_started(way: str, tmp_path: Path) -> None:
    own = Path(shutil.copy(packaged_jars().reactive_streams, tmp_path / "the-users-own.jar"))
    expected = packaged_jars().reactive_streams if way == "none" else own
    assert Path(run_in_process(USER_JVM, way, str(own))).name == expected.name


def test_the_users_class_path_comes_first(tmp_path: Path) -> None:
    own = shutil.copy(packaged_jars().reactive_streams, tmp_path / "the-users-own.jar")
    program = """
        import sys
        from pyrs.jvm.gateways import launch_gateway
        gateway = launch_gateway(classpath=[sys.argv[1]], jvm_options=["-Xmx200m", "-Dmine=1"])
        launch_gateway(jvm_options=["-Dmine=1"])
        import jpype
        print(jpype.JClass("org.reactivestreams.Publisher").class_.getProtectionDomain().getCodeSource().getLocation())
    """
    assert run_in_process(program, str(own)).endswith("the-users-own.jar")


def test_the_bridge_sees_jars_that_a_later_launch_adds(tmp_path: Path) -> None:
    own = shutil.copy(packaged_jars().pyrs, tmp_path / "later.jar")  # any jar with a class that is nowhere else
    program = """
        import sys
        from pyrs.jvm.gateways import launch_gateway
        control = launch_gateway().open(b"1" * 32, {})
        mirror = control.mirror(1, 3, {})
        launch_gateway(classpath=[sys.argv[1]])
        loader = mirror.getClass().getClassLoader().getParent()
        print(loader.loadClass("io.pyrs.bridge.Entry").getName())
        control.close()
    """
    assert run_in_process(program, str(own)) == "io.pyrs.bridge.Entry"


def test_jvm_of_the_parent_is_refused_in_a_forked_child() -> None:
    """Most calls of a JVM whose threads are in another process never return."""
    program = """
        import os
        from pyrs import jvm
        jvm.launch()
        reader, writer = os.pipe()
        if os.fork() == 0:
            answers = []
            for open_bridge in (jvm.connect, jvm.launch):
                try: open_bridge()
                except Exception as error: answers.append(f"{type(error).__name__}: {error}")
            os.write(writer, "|".join(answers).encode())
            os._exit(0)
        os.close(writer)
        print(os.read(reader, 1_000).decode())
    """
    answers = run_in_process(program).split("|")
    assert [answer.partition(",")[0] for answer in answers] == [
        "JvmUnavailable: this process was forked while a JVM ran in its parent"
    ] * 2


def test_a_missing_jvm_is_reported() -> None:
    program = """
        import jpype
        def absent(): raise jpype.JVMNotFoundException("No JVM shared library file (libjvm.so) found.")
        jpype.getDefaultJVMPath = absent
        from pyrs.jvm.gateways import launch_gateway
        try: launch_gateway()
        except Exception as error: print(type(error).__name__, error)
    """
    assert run_in_process(program).startswith("JvmUnavailable no JVM was found (No JVM shared library file")


def test_a_jvm_that_does_not_start_is_reported(tmp_path: Path) -> None:
    program = """
        import sys
        import jpype
        jpype.getDefaultJVMPath = lambda: sys.argv[1]
        from pyrs.jvm.gateways import launch_gateway
        try: launch_gateway()
        except Exception as error: print(type(error).__name__, error)
    """
    assert run_in_process(program, str(tmp_path / "libjvm.so")).startswith("JvmUnavailable the JVM ")


def test_ctrl_c_is_handled_by_python_and_ends_a_wait_immediately() -> None:
    program = """
        import os, signal, threading
        from pyrs.jvm.gateways import launch_gateway
        struck = threading.Event()
        def strike(number, frame):
            # Raise once: signals that arrive later would interrupt the code after the wait.
            if not struck.is_set():
                struck.set()
                raise KeyboardInterrupt
        signal.signal(signal.SIGINT, strike)
        gateway = launch_gateway()
        control = gateway.open(b"1" * 32, {})
        started = threading.Event()
        def interrupt():
            started.wait(30)
            # Send several signals: CPython misses one that arrives in the moment in which a wait begins.
            while not struck.wait(0.2):
                os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt).start()
        release, finished = threading.Event(), threading.Event()
        def task():
            started.set()
            release.wait(30)
            finished.set()
        try:
            gateway.shield(task)
        except KeyboardInterrupt:
            print("interrupted", finished.is_set(), control.is_open())
        release.set()
        control.close()
    """
    assert run_in_process(program) == "interrupted False True"


def test_booleans_of_jpype_stay_booleans() -> None:
    with jvm.launch() as bridge:
        array_list = bridge.java_class("java.util.ArrayList")
        boxed = jpype.JClass("java.util.List").of(True).get(0)  # in JPype an instance of int
        assert str(array_list([boxed, jpype.JBoolean(False), {"a": boxed}])) == "[true, false, {a=true}]"
