"""Build the jar before a wheel, and derive the long description and the URLs from README.md and the repository."""

from __future__ import annotations

import re
import shutil
import subprocess
import zipfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

JAR = Path("pyrs/jvm/jars/pyrs.jar")
GRADLE = ["gradle", "--console=plain", "--no-daemon", "-q", "-p", "jvm", "assemble"]
PICTURE = re.compile(r"!\[([^\]\[]+)\]\((?!https?://)([^)\s]+)\)(\n*)")
LINK = re.compile(r"\[([^\]\[]+)\]\((?!https?://|#)([^)\s]+)\)")


def jar_version(jar: Path) -> str | None:
    """Return the version in the manifest of a jar, or None if there is no readable jar."""
    try:
        with zipfile.ZipFile(jar) as packed:
            manifest = packed.read("META-INF/MANIFEST.MF").decode()
    except (OSError, KeyError, zipfile.BadZipFile):
        return None
    found = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    return found and found[1]


def ensure_jar(root: Path, version: str) -> None:
    """Build the jar if it is missing or has another version.

    Raises:
        RuntimeError: The jar cannot be built; the message says what to install.
    """
    found = jar_version(root / JAR)
    if found == version:
        return
    reason = f"{JAR} is {'missing' if found is None else f'of version {found}, not {version}'}"
    advice = "Run `make wheel` in a checkout, or install Gradle and a JDK of 17 or later, and repeat the installation."
    if shutil.which("gradle") is None or shutil.which("javac") is None:
        raise RuntimeError(f"{reason}, and Gradle or the JDK to build it is not installed. {advice}")
    done = subprocess.run(GRADLE, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode or jar_version(root / JAR) != version:
        raise RuntimeError(f"{reason}, and Gradle cannot build it. {advice}\n{done.stdout}{done.stderr}")


def long_description(readme: str, base: str) -> str:
    """Return README.md with absolute links below ``base``, the address of a version's files on GitHub.

    Without a base, relative links become plain text, and relative images are removed.
    """
    raw = base.replace("/blob/", "/raw/")
    readme = PICTURE.sub(lambda found: f"![{found[1]}]({raw}/{found[2]}){found[3]}" if base else "", readme)
    return LINK.sub(lambda link: f"[{link[1]}]({base}/{link[2]})" if base else link[1], readme)


class JarHook(BuildHookInterface):  # type: ignore[type-arg]
    """Build the jar before a wheel, if it is missing or has another version."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":  # `make setup` installs the checkout first, and builds the jar afterwards
            ensure_jar(Path(self.root), self.metadata.version)


class DescriptionHook(MetadataHookInterface):
    """Set ``readme`` and ``urls``. A package index does not resolve relative links."""

    def update(self, metadata: dict[str, Any]) -> None:
        repository = str(self.config.get("repository", "")).rstrip("/")
        base = f"{repository}/blob/v{metadata['version']}" if repository else ""
        readme = (Path(self.root) / "README.md").read_text(encoding="utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": long_description(readme, base)}
        if repository:
            metadata["urls"] = {
                "Documentation": f"{base}/docs/index.md",
                "Source": repository,
                "Issues": f"{repository}/issues",
                "Changelog": f"{base}/CHANGELOG.md",
            }
