"""The arguments that ``connect`` accepts, and its errors for the others."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from pyrs.errors import JvmUnavailable
from pyrs.jvm.gateways import gateway_for
from pyrs.jvm.gateways.connect_arguments import py4j_gateway_of


def fake(class_name: str, **attributes: Any) -> Any:
    module, _, name = class_name.rpartition(".")
    return type(name, (), {"__module__": module, **attributes})()


def raising(error: Exception) -> property:
    def get(_: object) -> None:
        raise error

    return property(get)


GATEWAY = fake("py4j.java_gateway.JavaGateway")


@pytest.mark.parametrize(
    "source",
    [
        GATEWAY,
        fake("pyspark.context.SparkContext", _gateway=GATEWAY),
        fake("pyspark.core.context.SparkContext", _gateway=GATEWAY),
        fake("pyspark.sql.session.SparkSession", sparkContext=fake("pyspark.context.SparkContext", _gateway=GATEWAY)),
    ],
    ids=["gateway", "context-3", "context-4", "session"],
)
def test_the_gateway_is_found(source: Any) -> None:
    assert py4j_gateway_of(source) is GATEWAY


def test_a_subclass_of_the_session_is_a_session() -> None:
    base = type(fake("pyspark.sql.session.SparkSession"))
    mine = type("Mine", (base,), {"sparkContext": fake("pyspark.context.SparkContext", _gateway=GATEWAY)})()
    assert py4j_gateway_of(mine) is GATEWAY


def test_spark_connect_has_no_driver_jvm() -> None:
    with pytest.raises(JvmUnavailable, match=r"Spark Connect session: it has no driver JVM\. .*classic session"):
        gateway_for(fake("pyspark.sql.connect.session.SparkSession"))


def test_a_session_whose_jvm_attribute_raises_is_reported() -> None:
    error = RuntimeError("[JVM_ATTRIBUTE_NOT_SUPPORTED] no\nmore")
    with pytest.raises(JvmUnavailable, match=r"JVM_ATTRIBUTE_NOT_SUPPORTED\] no\)") as caught:
        gateway_for(fake("pyspark.sql.session.SparkSession", sparkContext=raising(error)))
    assert caught.value.__cause__ is error


def test_context_without_a_gateway_is_unavailable() -> None:
    with pytest.raises(JvmUnavailable, match="no gateway to a driver JVM"):
        gateway_for(fake("pyspark.context.SparkContext", _gateway=None))


class LiesAboutAttributes:
    """Has every attribute, like a Py4J object."""

    def __getattr__(self, name: str) -> object:
        return self


@pytest.mark.parametrize("source", ["spark", 1, object(), LiesAboutAttributes(), [GATEWAY]])
def test_another_source_is_a_type_error_that_lists_the_accepted_types(source: object) -> None:
    with pytest.raises(
        TypeError, match=r"a SparkSession, a SparkContext, a py4j JavaGateway or ClientServer, or nothing"
    ):
        gateway_for(source)


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_no_gateway_library_is_imported_before_it_is_needed() -> None:
    program = "import sys, pyrs.jvm.gateways; print({'py4j', 'jpype', 'pyspark'} & set(sys.modules))"
    assert run(program) == "set()\n"


@pytest.mark.parametrize(("package", "extra", "source"), [("jpype", "jpype", "None"), ("py4j", "spark", "gateway")])
def test_error_for_a_missing_gateway_library_names_the_package(package: str, extra: str, source: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from pyrs.jvm.gateways import gateway_for\n"
        "gateway = type('JavaGateway', (), {'__module__': 'py4j.java_gateway'})()\n"
        f"try: gateway_for({source})\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    output = run(program)
    assert output.startswith(f"JvmUnavailable the Python package {package} cannot be imported")
    assert f"pip install 'pyrs-streams[{extra}]'" in output


def test_a_missing_jvm_in_this_process_is_reported() -> None:
    pytest.importorskip("jpype")
    program = (
        "from pyrs.jvm.gateways import gateway_for\n"
        "try: gateway_for()\n"
        "except Exception as error: print(type(error).__name__, error)\n"
    )
    assert run(program).startswith("JvmUnavailable no JVM runs in this process: give connect a SparkSession")
