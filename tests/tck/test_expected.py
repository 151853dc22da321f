"""Compare the port with the methods of the official TCK: no test is missing."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pyrs.tck import (
    IdentityProcessorVerification,
    Kind,
    PublisherVerification,
    SubscriberBlackboxVerification,
    SubscriberWhiteboxVerification,
)
from pyrs.tck.expected import BLACKBOX, PROCESSOR, PUBLISHER, WHITEBOX, kind_of
from pyrs.tck.verification import Verification

# The file lists the methods with @Test in the jar of the official TCK.
LIST = Path(__file__).with_name("tck-1.0.4-tests.txt")

VERIFICATIONS: dict[str, tuple[type[Verification], Mapping[str, Kind], int, dict[str, int]]] = {
    "PublisherVerification": (
        PublisherVerification,
        PUBLISHER,
        38,
        {"required": 22, "optional": 8, "stochastic": 1, "untested": 7},
    ),
    "SubscriberWhiteboxVerification": (SubscriberWhiteboxVerification, WHITEBOX, 27, {"required": 14, "untested": 13}),
    "SubscriberBlackboxVerification": (SubscriberBlackboxVerification, BLACKBOX, 26, {"required": 11, "untested": 15}),
    "IdentityProcessorVerification": (
        IdentityProcessorVerification,
        PROCESSOR,
        68,
        {"required": 39, "optional": 8, "stochastic": 1, "untested": 20},
    ),
}


def listed(verification: str) -> list[str]:
    names: dict[str, list[str]] = {}
    current = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith(" "):
            names[current].append(line.strip())
        else:
            current, count = line.split()
            names[current] = []
            assert count.isdigit()
    return names[verification]


@pytest.mark.parametrize("name", VERIFICATIONS)
def test_the_table_has_the_tests_of_the_official_tck(name: str) -> None:
    _, table, count, kinds = VERIFICATIONS[name]
    assert sorted(table) == sorted(listed(name))
    assert len(table) == len(listed(name)) == count
    for kind in Kind:
        assert sum(each is kind for each in table.values()) == kinds.get(kind.value, 0)


@pytest.mark.parametrize("name", VERIFICATIONS)
def test_the_verification_has_the_tests_of_its_table(name: str) -> None:
    verification, table, _, _ = VERIFICATIONS[name]
    assert verification.expected is table
    names = verification.test_names()
    assert [each for each in names if kind_of(each) is not Kind.BEYOND] == list(table)
    assert len(names) == len(set(names))
    assert verification.problems() == []


@pytest.mark.parametrize("name", VERIFICATIONS)
def test_additional_tests_begin_with_beyond(name: str) -> None:
    verification, table, _, _ = VERIFICATIONS[name]
    prefixes = tuple(f"{kind.value}_" for kind in Kind)
    methods = [each for each in dir(verification) if each.startswith(prefixes)]
    assert {each for each in methods if not each.startswith("beyond_")} <= {*table, "optional_publisher_test"}
    assert len([each for each in methods if each.startswith("beyond_")]) >= 4


def test_every_test_has_a_docstring() -> None:
    for verification, _, _, _ in VERIFICATIONS.values():
        for name in verification.test_names():
            assert getattr(verification, name).__doc__, name


def test_additional_tests_cover_the_rules_without_an_official_test() -> None:
    """Check the MUST rules without an executable test in the official TCK.

    §2.12 applies to the caller and has no test.
    """
    names: list[str] = []
    for verification, _, _, _ in VERIFICATIONS.values():
        names += [name for name in verification.test_names() if name.startswith("beyond_spec")]
    rules = {name.split("_")[1].removeprefix("spec") for name in names}
    assert {"106", "108", "110", "204", "206", "207", "211", "301", "305", "315", "316"} <= rules


def test_a_name_without_a_kind_prefix_means_required() -> None:
    assert kind_of("mustImmediatelyPassOnOnErrorEventsReceivedFromItsUpstreamToItsDownstream") is Kind.REQUIRED


def test_a_missing_test_is_a_problem() -> None:
    class Lost(PublisherVerification[Any]):
        required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates = None  # type: ignore[assignment]  # noqa: N815

    assert Lost.problems() == [
        "required_spec105_mustSignalOnCompleteWhenFiniteStreamTerminates of the official TCK is missing"
    ]


def test_an_overridden_test_is_a_problem() -> None:
    class Rewritten(PublisherVerification[Any]):
        def required_spec303_mustNotAllowUnboundedRecursion(self) -> None:
            pass

    assert Rewritten.problems() == [
        "Rewritten overrides required_spec303_mustNotAllowUnboundedRecursion; "
        "to skip it, add it to skip_tests with a reason"
    ]


def test_a_skip_needs_an_existing_test_and_a_reason() -> None:
    class Skips(PublisherVerification[Any]):
        skip_tests: ClassVar[dict[str, str]] = {
            "required_spec999": "it is not there",
            "required_spec303_mustNotAllowUnboundedRecursion": " ",
        }

    assert Skips.problems() == [
        "skip_tests names required_spec999, which does not exist",
        "skip_tests gives no reason for required_spec303_mustNotAllowUnboundedRecursion",
    ]
