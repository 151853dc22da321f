"""The Py4J gateway of real drivers: loading of the jar, and calls that survive a Ctrl-C."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyspark
import pytest
from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
from py4j.java_gateway import JavaGateway

from pyrs import jvm
from pyrs.errors import ConversionError, JavaError
from pyrs.jvm.gateways import Gateway, gateway_for
from pyrs.jvm.gateways.jars import packaged_jars
from tests.gateways.repository import publish

SECONDS = 300
"""Several drivers may start at the same time, and then each of them takes longer."""

pytestmark = pytest.mark.timeout(SECONDS + 60)
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def plain() -> Iterator[JavaGateway]:
    """Start a JVM with only Py4J: without Spark, and with an application class loader."""
    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("py4j-*.jar")
    gateway = JavaGateway.launch_gateway(jarpath=str(jar), die_on_exit=True, enable_auth=True)
    process = gateway.java_process
    yield gateway
    gateway.shutdown()
    process.stdin.close()
    process.wait(SECONDS)
    process.stdout.close()


@pytest.fixture(scope="module")
def client_server(plain: JavaGateway) -> Iterator[ClientServer]:
    """Start a ClientServer, which has a connection for each thread, in the same JVM."""
    builder = getattr(plain.jvm.py4j, "ClientServer$ClientServerBuilder")()
    token = plain.gateway_parameters.auth_token
    server = builder.javaPort(0).authToken(token).build()
    server.startServer()
    port = server.getJavaServer().getListeningPort()
    client = ClientServer(JavaParameters(port=port, auth_token=token), PythonParameters(port=0, eager_load=False))
    yield client
    client.shutdown()


@pytest.fixture(params=["JavaGateway", "ClientServer"])
def java(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue({"JavaGateway": "plain", "ClientServer": "client_server"}[request.param])


def run_in_process(program: str, *, pinned: bool = True, stdin: str = "") -> str:
    environment = {**os.environ, "PYSPARK_PIN_THREAD": str(pinned).lower(), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        input=stdin,
        env=environment,
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


def test_gateway_opens_a_bridge_in_a_jvm_without_spark(java: JavaGateway) -> None:
    gateway = gateway_for(java)
    control = gateway.open(
        os.urandom(32), {"max_prefetch": 256, "call_timeout_ms": 30_000, "name": "it", "absent": None}
    )
    try:
        subject = java.jvm.java.util.ArrayList()
        assert gateway.is_java_object(subject)
        assert control.port() > 0
        assert control.is_open()
        assert control.kind(subject) == 0
        handle = control.export(subject)
        assert control.resolve(handle).equals(subject)
        assert control.unwrap(subject) == 0
        assert isinstance(control.stats(), dict)
    finally:
        control.close()
    assert not control.is_open()
    assert java.get_callback_server() is None


def test_a_mirror_implements_both_families(java: JavaGateway) -> None:
    gateway = gateway_for(java)
    control = gateway.open(os.urandom(32), {})
    try:
        mirror = control.mirror(1, 77, {})
        assert control.kind(mirror) == 1
        assert control.unwrap(mirror) == 77
        flow = java.jvm.java.lang.Class.forName("java.util.concurrent.Flow$Publisher")
        assert flow.isInstance(mirror)
    finally:
        control.close()


def test_methods_that_py4j_cannot_call_are_called(java: JavaGateway) -> None:
    with jvm.connect(java) as bridge:
        maps, dates = bridge.java_class("java.util.HashMap"), bridge.java_class("java.util.Date")
        view = bridge.java_class("java.util.Collections").unmodifiableMap(maps())  # of a private class
        assert view.getOrDefault("key", "absent") == "absent"
        assert view.size() == 0
        date = dates(0)
        date.setTime(bridge.java_class("java.lang.Integer")(1))  # an Integer to a long parameter
        assert date.getTime() == 1


def test_a_throwable_is_raised_as_java_error(java: JavaGateway) -> None:
    with pytest.raises(JavaError) as caught:
        gateway_for(java)._java.call(java.jvm.java.util.ArrayList(), "get", 3)
    error: BaseException | None = caught.value
    classes = []
    while isinstance(error, JavaError):
        classes.append(error.java_class)
        innermost = error
        error = error.__cause__
    assert "java.lang.IndexOutOfBoundsException" in classes
    assert innermost.java_message == "Index 3 out of bounds for length 0"
    assert ("java.util.ArrayList", "get") in {frame[:2] for frame in innermost.java_stack}


def test_an_exception_of_py4j_is_translated(java: JavaGateway) -> None:
    gateway = gateway_for(java)
    with pytest.raises(Exception) as caught:
        java.jvm.java.lang.Integer.parseInt("many")
    translated = gateway._java.translate(caught.value)
    assert isinstance(translated, JavaError)
    assert translated.java_class == "java.lang.NumberFormatException"
    assert translated.java_message == 'For input string: "many"'


def test_two_bridges_and_two_processes_share_one_copy_of_the_jar(plain: JavaGateway) -> None:
    ours = gateway_for(plain).open(os.urandom(32), {})
    parameters = plain.gateway_parameters
    program = """
        import os, sys
        from py4j.java_gateway import GatewayParameters, JavaGateway
        from pyrs.jvm.gateways import gateway_for
        port, token = sys.stdin.read().split()
        java = JavaGateway(gateway_parameters=GatewayParameters(port=int(port), auth_token=token))
        control = gateway_for(java).open(os.urandom(32), {})
        other = gateway_for(java).open(os.urandom(32), {})
        other.close()
        assert control.is_open() and not other.is_open()
        mirror = control.mirror(1, 5, {})
        print(control.port(), mirror.getClass().hashCode())
        control.close()
    """
    try:
        port, class_identity = run_in_process(program, stdin=f"{parameters.port} {parameters.auth_token}").split()
        assert int(port) != ours.port()
        assert ours.is_open()
        assert ours.mirror(1, 5, {}).getClass().hashCode() == int(class_identity)
    finally:
        ours.close()


CLIENTS = {
    "JavaGateway": "JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))",
    "ClientServer": "ClientServer(JavaParameters(port=port, auth_token=token), PythonParameters(0, eager_load=False))",
}
"""Expressions that create the client that a driver has: with unpinned threads, and with pinned threads."""


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_gateway_to_a_port_without_a_jvm_is_unavailable(client: str) -> None:
    # In a separate process, because Py4J leaves the unconnected socket to the garbage collector.
    program = f"""
        from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
        from py4j.java_gateway import GatewayParameters, JavaGateway
        from pyrs.jvm.gateways import gateway_for
        port, token = 1, None
        unavailable = gateway_for({client})
        try:
            unavailable.open(bytes(32), {{}})
        except Exception as error:
            print(type(error).__name__, error)
    """
    output = run_in_process(program)
    assert output.startswith("JvmUnavailable no JVM answers at 127.0.0.1:1 (")
    assert output.rstrip().endswith("Start it again and connect again")


@pytest.mark.parametrize("client", CLIENTS.values(), ids=CLIENTS)
def test_a_killed_jvm_is_unavailable(client: str) -> None:
    program = f"""
        import glob, logging, os
        from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
        from py4j.java_gateway import GatewayParameters, JavaGateway
        import pyspark
        from pyrs.jvm.gateways import gateway_for
        logging.disable(logging.CRITICAL)
        (jar,) = glob.glob(os.path.dirname(pyspark.__file__) + "/jars/py4j-*.jar")
        java = JavaGateway.launch_gateway(jarpath=jar, die_on_exit=True, enable_auth=True)
        port, token = java.gateway_parameters.port, java.gateway_parameters.auth_token
        control = gateway_for({client}).open(bytes(32), {{}})
        java.java_process.kill()
        java.java_process.wait(30)
        for _ in range(2):
            try:
                control.port()
            except Exception as error:
                print(type(error).__name__, error)
    """
    lines = run_in_process(program).splitlines()
    assert len(lines) == 2
    assert all(line.startswith("JvmUnavailable no JVM answers at 127.0.0.1:") for line in lines)


def test_an_argument_that_would_break_the_connection_is_refused(java: JavaGateway) -> None:
    control = gateway_for(java).open(os.urandom(32), {})
    try:
        for value in (2**63, "\ud800"):
            with pytest.raises(ConversionError):
                control.mirror(1, 77, {"element_type": value})
        assert control.is_open()
    finally:
        control.close()


# Starts a driver without the pyrs jar, and with or without a copy of org.reactivestreams of the user.
DRIVER = """
    import os, sys, threading
    from pyspark.sql import SparkSession
    from pyrs.jvm.gateways import gateway_for

    key, value, user_jar, pinned = sys.stdin.read().split("\\n")
    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
    if key:
        builder = builder.config(key, value)
    if key == "spark.jars.packages":
        builder = builder.config("spark.jars.ivy", user_jar)
        builder = builder.config("spark.jars.ivySettings", f"{user_jar}/settings.xml")
    spark = builder.getOrCreate()
    java = spark.sparkContext._gateway
    assert type(java).__name__ == ("ClientServer" if pinned == "True" else "JavaGateway")

    gateway = gateway_for(spark)
    control = gateway.open(b"t" * 32, {})
    mirror = control.mirror(1, 9, {})
    loader = mirror.getClass().getClassLoader()
    publisher = loader.loadClass("org.reactivestreams.Publisher")
    assert publisher.isInstance(mirror)
    print(publisher.getProtectionDomain().getCodeSource().getLocation().getPath())

    # Any thread may open a bridge, from each kind of source that connect accepts.
    def use():
        for source in (spark, spark.sparkContext, java):
            other = gateway_for(source).open(os.urandom(32), {})
            assert other.mirror(2, 4, {}).getClass().getClassLoader().equals(loader)
            other.close()
    threads = [threading.Thread(target=use) for _ in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join(120)
    assert not any(thread.is_alive() for thread in threads)
    assert control.is_open()
    assert java.get_callback_server() is None, "a callback server was started"

    # PySpark converts Java exceptions to its own.
    for run, java_class in (
        (lambda: spark.sql("select * from nothing").collect(), "org.apache.spark.sql.AnalysisException"),
        (lambda: spark._jvm.java.util.Optional.empty().get(), "java.util.NoSuchElementException"),
        (lambda: spark._jvm.java.lang.Integer.parseInt("many"), "java.lang.NumberFormatException"),
    ):
        try:
            run()
        except Exception as error:
            translated = gateway._java.translate(error)
            assert translated.java_class.endswith(java_class.rpartition(".")[2]), (translated.java_class, type(error))
            assert translated.java_stack and translated.java_message, repr(translated)

    spark.stop()
    assert control.kind(mirror) == 1, "spark.stop() closed the gateway"
    control.close()
    print("done")
"""


def separate_ivy(folder: Path) -> Path:
    """Create an empty Ivy cache, with settings that use only a repository in a folder and no network."""
    maven = folder / "maven"
    publish(maven, "org.reactivestreams:reactive-streams:1.0.4")
    (jar,) = maven.rglob("*.jar")
    shutil.copy(packaged_jars().reactive_streams, jar)
    cache = folder / "ivy"
    cache.mkdir()
    (cache / "settings.xml").write_text(
        '<ivysettings><settings defaultResolver="folder"/><resolvers>'
        f'<ibiblio name="folder" m2compatible="true" root="{maven.as_uri()}/"/>'
        "</resolvers></ivysettings>"
    )
    return cache


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "pinned"),
    [
        ("none", True),
        ("spark.jars", False),
        pytest.param("none", False, marks=pytest.mark.campaign),
        pytest.param("spark.jars", True, marks=pytest.mark.campaign),
        pytest.param("spark.driver.extraClassPath", True, marks=pytest.mark.campaign),
        pytest.param("spark.jars.packages", True, marks=pytest.mark.campaign),
    ],
)
def test_jar_is_loaded_into_a_running_driver(way: str, pinned: bool, tmp_path: Path) -> None:
    user_jar = tmp_path / "the-users-own.jar"
    shutil.copy(packaged_jars().reactive_streams, user_jar)
    key, value, expected = {
        "none": ("", "", packaged_jars().reactive_streams.name),
        "spark.jars": (way, str(user_jar), user_jar.name),
        "spark.driver.extraClassPath": (way, str(user_jar), user_jar.name),
        "spark.jars.packages": (
            way,
            "org.reactivestreams:reactive-streams:1.0.4",
            "org.reactivestreams_reactive-streams-1.0.4.jar",
        ),
    }[way]
    extra = str(separate_ivy(tmp_path) if way == "spark.jars.packages" else user_jar)
    *_, location, done = run_in_process(DRIVER, pinned=pinned, stdin=f"{key}\n{value}\n{extra}\n{pinned}").split()
    assert done == "done"
    assert Path(location).name == expected


INTERRUPTED = """
    import contextlib, logging, os, signal, sys, threading
    from py4j.clientserver import ClientServer, JavaParameters, PythonParameters
    from pyrs import jvm
    port, token = sys.stdin.read().split()
    java = ClientServer(JavaParameters(port=int(port), auth_token=token), PythonParameters(port=0, eager_load=False))
    logging.disable(logging.CRITICAL)  # Py4J reports each interrupt
    bridge = jvm.connect(java)
    semaphore = bridge.java_class("java.util.concurrent.Semaphore")
    counters = [semaphore(0) for _ in range(4)]
    calls, stop, failures = [0] * 4, threading.Event(), []

    def count(index):
        try:
            while calls[index] < 20 or not stop.is_set():
                counters[index].release()
                calls[index] += 1
        except BaseException as error:
            failures.append(repr(error))

    interrupts = 0

    def interrupt(*_):
        global interrupts
        interrupts += 1  # counted here: a finalizer that is interrupted swallows the exception
        raise KeyboardInterrupt

    signal.signal(signal.SIGALRM, interrupt)
    sleeper = java.jvm.java.lang.Thread
    threads = [threading.Thread(target=count, args=(index,)) for index in range(4)]
    for thread in threads: thread.start()
    for number in range(60):
        with contextlib.suppress(KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            while interrupts == number:  # an interrupt of this call makes Py4J reset all connections
                with contextlib.suppress(Exception):
                    sleeper.sleep(1000)
    stop.set()
    for thread in threads: thread.join()
    assert not failures, failures
    counted = [counter.availablePermits() for counter in counters]
    assert counted == calls, (counted, calls)
    bridge.close()
"""


@pytest.mark.slow
def test_interrupted_call_of_the_user_loses_no_other_call(client_server: ClientServer) -> None:
    parameters = client_server.java_parameters
    run_in_process(INTERRUPTED, stdin=f"{parameters.port} {parameters.auth_token}")


def test_the_gateway_implements_the_protocol(plain: JavaGateway) -> None:
    gateway: Gateway = gateway_for(plain)
    assert gateway.describe() in repr(gateway)
    gateway.detach_thread()
    seen: list[Any] = []
    assert gateway.shield(lambda: seen.append(1)) is None
    assert seen == [1]
