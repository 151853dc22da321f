"""A Maven repository in a folder, so that packages can be resolved without a network."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path


def publish(
    root: Path, coordinate: str, needs: Sequence[str] = (), *, files: Sequence[str] = ("",), text: str = "first"
) -> None:
    """Add a package: its POM, and a jar with one text file for each classifier."""
    group, artifact, version = coordinate.split(":")
    folder = root / group.replace(".", "/") / artifact / version
    folder.mkdir(parents=True, exist_ok=True)
    dependencies = "".join(
        "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>".format(
            *need.split(":")
        )
        for need in needs
    )
    (folder / f"{artifact}-{version}.pom").write_text(
        f"<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId><artifactId>{artifact}</artifactId>"
        f"<version>{version}</version><dependencies>{dependencies}</dependencies></project>"
    )
    for classifier in files:
        name = f"{artifact}-{version}" + (f"-{classifier}" if classifier else "")
        with zipfile.ZipFile(folder / f"{name}.jar", "w") as jar:
            jar.writestr(f"{name}.txt", text)
