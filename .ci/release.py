"""Build the files of a release into dist/: sdist, wheel, SBOM, measurements and checksums. ``make release`` runs it.

It refuses if there is an open point: for example, the code has changed since the conformance page or the benchmark
figures were measured. It publishes nothing. ``--draft`` prints the open points as warnings, and builds all files.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.conformance.sources_hash import PACKAGES, SOURCES, SPARK, code_of  # noqa: E402

DIST = ROOT / "dist"
CONFORMANCE = "docs/conformance.md"
FIGURES = "docs/benchmarks/latest.json"
MEASURED = (*(f"pyrs/{name}" for name in PACKAGES if name != "tck"), "pyrs/spark", "jvm/src/main", "benchmarks")
"""The code that the figures depend on."""


def run(*command: str | Path) -> str:
    """Run a command in the checkout and return its output."""
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"pyrs: {' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def hooks() -> Any:
    """Return the module of the build hooks."""
    spec = importlib.util.spec_from_file_location("hatch_hooks", ROOT / ".ci" / "hatch_hooks.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version_of(root: Path = ROOT) -> str:
    """Return the version of the package, from its source."""
    found = re.search(r'^__version__.* = "(.+)"', (root / "pyrs" / "__init__.py").read_text(), re.MULTILINE)
    assert found, "pyrs/__init__.py defines no __version__"
    return found[1]


def open_points(root: Path, version: str, jar: str | None, status: str) -> list[str]:
    """Return the reasons why the version, changelog, repository or work tree cannot be released."""
    points = []
    if not re.search(r'^repository = "https://.+"$', (root / "pyproject.toml").read_text(), re.MULTILINE):
        points.append(
            "pyproject.toml names no public repository, so the package has no URLs: set `repository` in "
            "[tool.hatch.metadata.hooks.custom] to an address such as https://github.com/owner/name"
        )
    if jar != version:
        points.append(f"the jar has version {jar}, but the package has {version}: run `make setup`")
    heading = re.search(rf"^## {re.escape(version)} - (.+)$", (root / "CHANGELOG.md").read_text(), re.MULTILINE)
    if heading is None:
        points.append(f"CHANGELOG.md has no section for {version}")
    elif not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[1]):
        points.append(f"CHANGELOG.md: the section for {version} has no date: {heading[1]}")
    if status.strip():
        points.append("the work tree has uncommitted changes")
    return points


def git(root: Path, *arguments: str) -> str | None:
    """Return the output of git, or None if it fails."""
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else None


def changed_code(root: Path, commit: str, paths: Sequence[str]) -> list[str] | None:
    """Return the files with changed code below ``paths``; None if git does not know the commit.

    Comment lines and docstrings of Python files do not count.
    """
    listed = git(root, "diff", "--name-only", "--no-renames", commit, "--", *paths)
    if listed is None:
        return None
    changed = []
    for name in listed.splitlines():
        if name.endswith((".py", ".java", ".properties")):
            now = (root / name).read_text(encoding="utf-8") if (root / name).exists() else None
            texts = [git(root, "show", f"{commit}:{name}"), now]
            codes = [code_of(text) if text is not None and name.endswith(".py") else text for text in texts]
            if codes[0] != codes[1]:
                changed.append(name)
    return changed


def outdated(root: Path) -> Iterator[str]:
    """Yield a reason against a release for the conformance page, and for the figures, if code has changed since."""
    page = re.search(r"measured at commit `([^`]+)`", (root / CONFORMANCE).read_text(encoding="utf-8"))
    of_page = page[1].split(" and ") if page else ["unknown"]  # the second commit is that of the rows for Spark
    of_figures = json.loads((root / FIGURES).read_text(encoding="utf-8"))["commit"]
    measured = {
        (CONFORMANCE, of_page[0], "make conformance"): SOURCES,
        (CONFORMANCE, of_page[-1], "make conformance"): (*SOURCES, *SPARK),
        (FIGURES, of_figures, "make bench"): MEASURED,
    }
    reported = set()
    for (file, commit, command), paths in measured.items():
        changed = changed_code(root, commit, paths)
        if changed is None:
            reason = f"commit {commit[:10]}, which is not in this clone"
        elif changed:
            more = len(changed) - 1
            others = f" and {more} other{'s' if more > 1 else ''}" if more else ""
            reason = f"commit {commit[:10]}, and {changed[0]}{others} changed since then"
        else:
            continue
        if file not in reported:
            yield f"{file} was measured at {reason}: run `{command}` on a quiet machine and commit its files"
        reported.add(file)


def bundled(gradle: str) -> list[dict[str, str]]:
    """Return the Java libraries in the wheel as components of CycloneDX."""
    found = re.findall(r"^ +(?:bundled|relocated) '([\w.]+):([\w-]+):([\w.]+)'", gradle, re.MULTILINE)
    return [
        {
            "type": "library",
            "group": group,
            "name": name,
            "version": version,
            "purl": f"pkg:maven/{group}/{name}@{version}",
        }
        for group, name, version in found
    ]


def write_sbom(wheel: Path, version: str) -> None:
    """Write the SBOM of the wheel without extras: the package, and the Java libraries in its jars."""
    environment = ROOT / "build" / "sbom"
    shutil.rmtree(environment, ignore_errors=True)
    run(sys.executable, "-m", "venv", "--without-pip", environment)
    python = environment / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    sbom = DIST / f"pyrs_streams-{version}.cdx.json"
    run(sys.executable, "-m", "cyclonedx_py", "environment", "--output-file", sbom, python)
    content = json.loads(sbom.read_text())
    content["components"] += bundled((ROOT / "jvm" / "build.gradle").read_text())
    sbom.write_text(json.dumps(content, indent=2) + "\n")


def main() -> int:
    """Check, build and describe the release; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draft", action="store_true", help="build in spite of open points")
    draft = parser.parse_args().draft
    version = version_of()
    jar = hooks().jar_version(ROOT / hooks().JAR)
    points = [*open_points(ROOT, version, jar, run("git", "status", "--porcelain")), *outdated(ROOT)]
    for point in points:
        print(f"pyrs: {point}", file=sys.stderr)
    if points and not draft:
        print(
            "pyrs: nothing was built; `make release DRAFT=1` builds all files in spite of these points", file=sys.stderr
        )
        return 1
    shutil.rmtree(DIST, ignore_errors=True)
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT)
    built = sorted(DIST.iterdir())
    run(sys.executable, "-m", "twine", "check", "--strict", *built)
    write_sbom(next(file for file in built if file.suffix == ".whl"), version)
    for measured, name in ((CONFORMANCE, "conformance.md"), (FIGURES, "benchmarks.json")):
        shutil.copy(ROOT / measured, DIST / f"pyrs_streams-{version}-{name}")
    files = sorted(DIST.iterdir())
    digests = "".join(f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files)
    (DIST / "SHA256SUMS").write_text(digests)
    print(digests, end="")
    print(f"pyrs {version} of commit {run('git', 'rev-parse', '--short', 'HEAD').strip()} is in dist/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
