"""The jars of the official TCK: downloaded once and verified by SHA-256."""

from __future__ import annotations

from pathlib import Path

from pyrs.jvm import downloads
from pyrs.jvm.downloads import Jar

JARS = (
    Jar(
        "org/reactivestreams/reactive-streams/1.0.4/reactive-streams-1.0.4.jar",
        "f75ca597789b3dac58f61857b9ac2e1034a68fa672db35055a8fb4509e325f28",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-tck/1.0.4/reactive-streams-tck-1.0.4.jar",
        "8423b5062b3f3c5600a85cfad5a6ccbda88129a822be82b2e364d737d53c9836",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-tck-flow/1.0.4/reactive-streams-tck-flow-1.0.4.jar",
        "be680de3061b218da6e1c90b9cb55a89f4e1c4ea32bfddd91329b2a1441901d1",
    ),
    Jar(
        "org/reactivestreams/reactive-streams-examples/1.0.4/reactive-streams-examples-1.0.4.jar",
        "95f5f682e67fe791c6ff47a96281c22521961d317550c7110cd0b0e11dc4d9c2",
    ),
    Jar("org/testng/testng/7.3.0/testng-7.3.0.jar", "63727488f9717d57f0d0a0fee5a1fc10a2be9cfcff2ec3a7187656d663c0774e"),
    Jar(
        "com/beust/jcommander/1.78/jcommander-1.78.jar",
        "7891debb84b5f83e9bd57593ebece3399abbe0fd938cf306b3534c57913b9615",
    ),
)


def cache_folder() -> Path:
    """Return the folder ``pyrs/tck-1.0.4`` of the user's cache."""
    return downloads.cache_folder() / "tck-1.0.4"


def tck_jars(folder: Path | None = None) -> list[Path]:
    """Return the jars of the official TCK; download those that are not in the cache.

    ``PYRS_MAVEN_REPOSITORY`` replaces Maven Central.

    Raises:
        JvmUnavailable: a jar is not in the cache and cannot be downloaded, or its SHA-256 is wrong.
    """
    folder = cache_folder() if folder is None else folder
    return [downloads.cached_jar(jar, folder, "the official TCK") for jar in JARS]
