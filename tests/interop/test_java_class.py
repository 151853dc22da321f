"""``java_class``: constructors, static methods and fields of Java classes, and methods of the results."""

from __future__ import annotations

import copy
import datetime as dt
import pickle
import weakref
from typing import Any

import pytest
from pyspark import cloudpickle

import pyrs
from pyrs.errors import ConversionError, JavaError, LinkClosed
from pyrs.jvm import Bridge, JavaObject
from pyrs.testing import TestSubscriber
from tests.interop.harness import DEADLINE, Java
from tests.waiting import collected

FLUX = "reactor.core.publisher.Flux"


def plain(value: Any) -> tuple[type, Any]:
    return type(value), value


class TestResults:
    def test_plain_values_become_python_values(self, bridge: Bridge) -> None:
        text, number = bridge.java_class("java.lang.String"), bridge.java_class("java.lang.Integer")
        optional = bridge.java_class("java.util.Optional")
        assert plain(text.valueOf(5)) == (str, "5")
        assert plain(number.parseInt("12")) == (int, 12)
        assert plain(bridge.java_class("java.lang.Boolean").parseBoolean("true")) == (bool, True)
        assert plain(bridge.java_class("java.lang.Math").sqrt(2.25)) == (float, 1.5)
        assert plain(text("aé").getBytes("UTF-8")) == (bytes, "aé".encode())
        assert plain(text("x").charAt(0)) == (str, "x")
        assert plain(bridge.java_class("java.math.BigInteger")("2").pow(200)) == (int, 2**200)
        assert optional.of(1).map(bridge.java_class("java.util.function.Function").identity()).get() == 1
        assert bridge.java_class("java.util.HashMap")().get("absent") is None

    def test_other_objects_are_references(self, bridge: Bridge) -> None:
        results = [
            bridge.java_class("java.util.List").of(1, 2),
            bridge.java_class("java.time.Instant").EPOCH,
            bridge.java_class("java.math.BigDecimal")("1.5"),
            bridge.java_class("java.util.concurrent.TimeUnit").SECONDS,
            bridge.java_class("java.nio.ByteBuffer").wrap(b"\x01"),
            bridge.java_class("java.util.concurrent.CompletableFuture")(),
        ]
        assert [isinstance(each, JavaObject) for each in results] == [True] * len(results)
        assert str(results[0]) == "[1, 2]"

    def test_constructors_return_references(self, bridge: Bridge) -> None:
        number = bridge.java_class("java.lang.Integer")(5)
        assert isinstance(number, JavaObject)
        java_list = bridge.java_class("java.util.ArrayList")([number])
        assert java_list.get(0) == 5
        assert bridge.java_class("java.util.Objects").equals(java_list.get(0), number) is False  # a Long is passed
        assert java_list.contains(number)

    def test_python_objects_return_unchanged(self, bridge: Bridge) -> None:
        thing, stream = object(), pyrs.just(1)
        same = bridge.java_class("java.util.Objects").requireNonNull
        assert same(thing) is thing
        assert same(stream) is stream

    def test_result_releases_its_handle_when_it_is_collected(self, bridge: Bridge) -> None:
        class Element:
            pass

        element = Element()
        alive = weakref.ref(element)
        java_list = bridge.java_class("java.util.ArrayList")()
        java_list.add(element)
        del java_list, element

        def released() -> bool:
            bridge.java_class("java.lang.System").gc()
            return alive() is None

        collected(released, "the list still references its element")


class TestArguments:
    def test_containers_are_converted(self, bridge: Bridge) -> None:
        java_list = bridge.java_class("java.util.ArrayList")([1, ("x", None), {"a": [True]}])
        assert str(java_list) == "[1, [x, null], {a=[true]}]"
        assert java_list.get(2).getClass().getName() == "java.util.LinkedHashMap"

    def test_date_arguments_are_converted(self, bridge: Bridge) -> None:
        day = dt.date(2024, 2, 29)
        assert bridge.java_class("java.time.Period").between(day, dt.date(2024, 3, 1)).getDays() == 1

    def test_objects_of_the_gateway_are_passed_unchanged(self, bridge: Bridge, java: Java) -> None:
        point = java.new("interop.Table$Point", 1, 2)
        java_list = bridge.java_class("java.util.ArrayList")()
        java_list.add(point)
        assert java_list.get(0).toString() == java.call(point, "toString")

    def test_class_argument_is_its_class_object(self, bridge: Bridge) -> None:
        text = bridge.java_class("java.lang.String")
        assert text.class_.getName() == "java.lang.String"
        assert bridge.java_class("java.util.Objects").equals(text, text.class_) is True
        found = bridge.java_class("java.lang.invoke.MethodType").methodType(bridge.java_class("int"), text)
        assert str(found) == "(String)int"

    def test_arrays_accept_lists_and_variable_arguments_accept_values(self, bridge: Bridge) -> None:
        text, lists = bridge.java_class("java.lang.String"), bridge.java_class("java.util.List")
        assert text.format("%s-%05d", "a", 7) == "a-00007"
        assert text.format("none") == "none"
        assert text.join("+", ["a", "b"]) == text.join("+", "a", "b") == "a+b"
        assert lists.of([1, 2]).size() == 1  # a list is one argument
        assert bridge.java_class("java.util.Arrays").hashCode([1, 2]) == 994

    def test_int_is_passed_as_int_rather_than_double(self, bridge: Bridge) -> None:
        text = bridge.java_class("java.lang.StringBuilder")()
        assert str(text.append(1).append(2.5).append(True).append("x").append([])) == "12.5truex[]"
        assert bridge.java_class("java.lang.Math").floorMod(-7, 3) == 2
        assert bridge.java_class("java.util.ArrayList")(["a", "b"]).remove(0) == "a"
        java_list = bridge.java_class("java.util.ArrayList")()
        box = bridge.java_class("java.lang.Integer")
        java_list.add(box(7)), java_list.add(box(8))
        assert java_list.remove(box(8)) is True  # an Integer object is an element, not an index, as in Java
        assert java_list.remove(0) == 7
        assert bridge.java_class("java.lang.Math").abs(box(-3)) == 3

    def test_number_never_overflows_to_infinity(self, bridge: Bridge) -> None:
        number = bridge.java_class("java.lang.Float")
        assert number.isInfinite(float("inf")) is True
        with pytest.raises(JavaError, match=r"isInfinite for \(float\)"):
            number.isInfinite(1e300)

    def test_none_selects_the_most_specific_method(self, bridge: Bridge) -> None:
        # Like javac, the bridge prefers String.valueOf(char[]) to valueOf(Object).
        with pytest.raises(JavaError, match="NullPointerException"):
            bridge.java_class("java.lang.String").valueOf(None)

    def test_python_publishers_and_subscribers_are_accepted(self, bridge: Bridge) -> None:
        flux, received = bridge.java_class(FLUX), TestSubscriber(10, timeout=DEADLINE)
        flux.from_(pyrs.from_iterable([3, 1, 2])).sort().subscribe(received)
        assert received.await_complete() == [1, 2, 3]


class TestMethods:
    def test_inherited_default_methods_of_hidden_classes_can_be_called(self, bridge: Bridge) -> None:
        view = bridge.java_class("java.util.Collections").unmodifiableMap({"a": 1})
        assert view.getOrDefault("b", 7) == 7
        comparator = bridge.java_class("java.util.Map$Entry").comparingByKey()
        assert comparator.reversed() is not None

    def test_python_keywords_take_an_underscore(self, bridge: Bridge) -> None:
        instant = bridge.java_class("java.time.Instant").EPOCH
        field = bridge.java_class("java.time.temporal.ChronoField").MILLI_OF_SECOND
        assert str(instant.with_(field, 5)) == "1970-01-01T00:00:00.005Z"

    def test_names_that_begin_with_an_underscore_take_another(self, bridge: Bridge) -> None:
        members = bridge.java_class("interop.Members")
        instance = members()
        assert (instance._kind_(), instance._handle_(), members._name_()) == ("a kind", 7, "a name")
        for name in ("_repr_html_", "_ipython_display_", "__array__", "_kind_of"):
            assert not hasattr(instance, name)

    def test_attributes_of_a_reference_hide_no_method(self, bridge: Bridge) -> None:
        java_list = bridge.java_class("java.util.ArrayList")()
        assert [name for name in dir(java_list) if not name.startswith("_")] == ["java"]

    def test_returned_publishers_can_be_subscribed_to(self, bridge: Bridge) -> None:
        flux = bridge.java_class(FLUX)
        assert bridge.from_jvm(flux.range(1, 5).skip(2)).collect(timeout=DEADLINE) == [3, 4, 5]
        assert bridge.from_jvm(flux.just([1, 2], "x")).collect(timeout=DEADLINE) == [[1, 2], "x"]

    def test_hot_publisher_is_detected(self, bridge: Bridge) -> None:
        publisher = bridge.java_class("java.util.concurrent.SubmissionPublisher")()
        received = TestSubscriber(1, timeout=DEADLINE)
        bridge.from_jvm(publisher).subscribe(received)
        publisher.submit("at once")
        assert received.await_count(1) == ["at once"]
        publisher.close()

    def test_java_exception_is_raised(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError) as caught:
            bridge.java_class("java.util.ArrayList")().get(3)
        assert caught.value.java_class == "java.lang.IndexOutOfBoundsException"
        assert caught.value.java_stack
        with pytest.raises(ValueError, match="many"):
            bridge.java_class("java.lang.Integer").parseInt("many")


class TestClasses:
    def test_nested_primitive_and_array_names_are_accepted(self, bridge: Bridge) -> None:
        names = ["java.util.Map$Entry", "java.util.Map.Entry", "int", "java.lang.String[]", "byte[][]"]
        found = [str(bridge.java_class(name)) for name in names]
        assert found == ["java.util.Map$Entry", "java.util.Map$Entry", "int", "java.lang.String[]", "byte[][]"]

    def test_fields_and_constants_can_be_read(self, bridge: Bridge) -> None:
        assert bridge.java_class("java.lang.Integer").MAX_VALUE == 2**31 - 1
        units = bridge.java_class("java.util.concurrent.TimeUnit")
        assert units.MINUTES.toSeconds(2) == 120
        assert {"MINUTES", "valueOf", "class_"} <= set(dir(units))

    def test_public_members_of_a_class_that_is_not_public_can_be_used(self, bridge: Bridge) -> None:
        assert bridge.java_class("interop.Members").INHERITED == 7
        hidden = bridge.java_class("interop.Members$Hidden")(8)
        assert hidden.get() == hidden.own() == 8

    def test_invalid_class_name_is_rejected(self, bridge: Bridge) -> None:
        for name in (None, 5, int):
            with pytest.raises(TypeError, match="java_class takes the name of a class"):
                bridge.java_class(name)  # type: ignore[arg-type]
        with pytest.raises(JavaError, match=r"class void\[\] is not on the class path"):
            bridge.java_class("void[]")

    def test_pickling_an_object_raises_an_error_with_the_remedy(self, bridge: Bridge) -> None:
        strings = bridge.java_class("java.lang.String")
        future = bridge.from_jvm(bridge.java_class("java.util.concurrent.CompletableFuture")())
        for value in (strings("a"), strings, future):
            for dumps in (pickle.dumps, cloudpickle.dumps):
                with pytest.raises(TypeError, match=r"<JavaObject .*> refers to an object .* cannot be pickled"):
                    dumps(value)

    def test_copy_is_the_same_object(self, bridge: Bridge) -> None:
        list_class = bridge.java_class("java.util.ArrayList")
        java_list = list_class()
        # A handle is released once: a second reference would release the object of the first.
        assert copy.copy(java_list) is java_list
        assert copy.deepcopy([java_list])[0] is java_list
        assert copy.deepcopy(list_class).class_ is list_class.class_

    def test_classes_with_the_same_name_are_equal_and_repr_shows_the_name(self, bridge: Bridge) -> None:
        one, other = (bridge.java_class("java.util.List") for _ in range(2))
        assert one == other
        assert len({one, other}) == 1
        assert one != bridge.java_class("java.util.Set")
        assert repr(one) == "<JavaClass java.util.List>"
        assert repr(one.of) == "<method of of <JavaClass java.util.List>>"
        assert copy.copy(one) == one

    def test_missing_class_raises_java_error_with_advice(self, bridge: Bridge) -> None:
        with pytest.raises(JavaError, match=r"class com\.acme\.Missing is not on .*: add its jar with .*packages="):
            bridge.java_class("com.acme.Missing")

    def test_missing_member_raises_an_error_with_its_name(self, bridge: Bridge) -> None:
        lists = bridge.java_class("java.util.List")
        with pytest.raises(AttributeError, match=r"java\.util\.List has no public static method or field size"):
            lists.size()
        with pytest.raises(JavaError, match="ArrayList has no public method nothing"):
            bridge.java_class("java.util.ArrayList")().nothing()

    @pytest.mark.parametrize(
        ("name", "method"), [("to_string", "toString"), ("country", "getCountry"), ("get_country", "getCountry")]
    )
    def test_error_for_a_missing_method_suggests_the_java_method(self, bridge: Bridge, name: str, method: str) -> None:
        locale = bridge.java_class("java.util.Locale").FRANCE
        with pytest.raises(JavaError, match=rf"Locale has no public method {name}: use {method}\(\)"):
            getattr(locale, name)()

    def test_error_lists_the_overloads(self, bridge: Bridge) -> None:
        java_list = bridge.java_class("java.util.ArrayList")()
        with pytest.raises(JavaError, match=r"no public method get for \(str\); available: \(int\)"):
            java_list.get("x")
        with pytest.raises(JavaError, match=r"no public method get for \(int beyond 32 bits\); available: \(int\)"):
            java_list.get(2**40)
        with pytest.raises(JavaError, match=r"no public method get for \(int beyond 64 bits\); available: \(int\)"):
            java_list.get(2**70)
        with pytest.raises(JavaError, match=r"for \(a Python object\).*to_jvm_callable"):
            java_list.forEach(lambda each: each)
        with pytest.raises(JavaError, match=r"available: \(java.lang.String, java.lang.String...\), \(java.net.URI\)"):
            bridge.java_class("java.nio.file.Paths").get(1)

    def test_error_states_why_a_class_has_no_constructor(self, bridge: Bridge) -> None:
        reasons = {
            "java.util.List": "an interface",
            "java.io.InputStream": "an abstract class",
            "int[]": "an array",
            "int": "a primitive",
        }
        for name, why in reasons.items():
            with pytest.raises(JavaError, match=f"is {why} and has no constructor"):
                bridge.java_class(name)()
        with pytest.raises(JavaError, match="has no public constructor"):
            bridge.java_class("java.lang.Math")()

    def test_argument_without_a_conversion_raises_conversion_error(self, bridge: Bridge) -> None:
        with pytest.raises(ConversionError, match="lone surrogate"):
            bridge.java_class("java.util.List").of("\ud800")
        with pytest.raises(ConversionError, match="key"):
            bridge.java_class("java.util.List").of({(1, 2): 3})

    def test_closed_bridge_raises(self, machine: tuple[Any, Java]) -> None:
        connect, _ = machine
        with connect() as bridge:
            lists = bridge.java_class("java.util.List")
        with pytest.raises(LinkClosed):
            lists.of()
        with pytest.raises(LinkClosed):
            bridge.java_class("java.util.List")


def test_context_class_loader_finds_the_classes_of_the_user(bridge: Bridge) -> None:
    # The new thread inherits the context class loader of the thread that runs the command.
    thread = bridge.java_class("java.lang.Thread")()
    assert thread.getContextClassLoader().loadClass(FLUX).getName() == FLUX
