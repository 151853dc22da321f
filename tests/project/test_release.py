"""``make release``: the points that prevent a release, and the files that it builds."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hatchling.builders.sdist import SdistBuilder

from tests.project.scripts import script

ROOT = Path(__file__).resolve().parents[2]
ENDS = ("-py3-none-any.whl", ".tar.gz", ".cdx.json", "-conformance.md", "-benchmarks.json")
README = "[one](docs/one.md), [two](https://example.org/two), [three](#three), [CHANGELOG](CHANGELOG.md)"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    return script("release")


@pytest.fixture(scope="module")
def hooks() -> ModuleType:
    return script("hatch_hooks")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text('repository = "https://example.org/pyrs"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 - 2026-01-31\n")
    return tmp_path


def test_complete_tree_has_no_open_points(release: ModuleType, tree: Path) -> None:
    assert release.open_points(tree, "1.2.3", "1.2.3", "") == []


def test_each_open_point_is_reported(release: ModuleType, tree: Path) -> None:
    assert "uncommitted" in release.open_points(tree, "1.2.3", "1.2.3", " M README.md\n")[0]
    assert "the jar has version 1.2.2" in release.open_points(tree, "1.2.3", "1.2.2", "")[0]
    assert "no section for 1.2.4" in release.open_points(tree, "1.2.4", "1.2.4", "")[0]
    (tree / "CHANGELOG.md").write_text("## 1.2.3 - unreleased\n")
    assert "has no date: unreleased" in release.open_points(tree, "1.2.3", "1.2.3", "")[0]
    (tree / "pyproject.toml").write_text('repository = ""\n')
    assert "names no public repository" in release.open_points(tree, "1.2.3", "1.2.3", "")[0]


@pytest.fixture
def measured(release: ModuleType, tmp_path: Path) -> Path:
    """Create a repository whose conformance and figures were measured at its last commit."""
    (tmp_path / "pyrs" / "_core").mkdir(parents=True)
    (tmp_path / "pyrs" / "spark").mkdir()
    (tmp_path / "docs" / "benchmarks").mkdir(parents=True)
    (tmp_path / "pyrs" / "_core" / "drain.py").write_text("x = 1\n")
    for command in ("init -q", "add .", "-c user.name=n -c user.email=e commit -qm one"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, check=True)
    commit = release.git(tmp_path, "rev-parse", "HEAD").strip()
    (tmp_path / release.CONFORMANCE).write_text(f"measured at commit `{commit[:7]}` by")
    (tmp_path / release.FIGURES).write_text(json.dumps({"commit": commit}))
    return tmp_path


def test_measurements_of_the_same_code_are_current(release: ModuleType, measured: Path) -> None:
    (measured / "pyrs" / "_core" / "drain.py").write_text('"""Documented since then."""\n\nx = 1  \n')
    (measured / "pyrs" / "_top.py").write_text("nothing_measured = True\n")
    assert list(release.outdated(measured)) == []


def test_measurements_of_other_code_are_reported(release: ModuleType, measured: Path) -> None:
    (measured / "pyrs" / "_core" / "drain.py").write_text("x = 2\n")
    page, figures = release.outdated(measured)
    assert re.match(
        r"docs/conformance.md was measured at commit \w{7}, and pyrs/_core/drain.py changed since then: "
        "run `make conformance`",
        page,
    )
    assert re.match(r"docs/benchmarks/latest.json .*drain.py changed since then: run `make bench`", figures)


def test_other_changed_files_are_counted(release: ModuleType, measured: Path) -> None:
    (measured / "pyrs" / "_core" / "drain.py").write_text("x = 2\n")
    for number, others in enumerate(("1 other", "2 others")):
        (measured / "pyrs" / "_core" / f"more_{number}.py").write_text("x = 1\n")
        subprocess.run(["git", "add", "."], cwd=measured, check=True)
        assert f"drain.py and {others} changed since then" in next(iter(release.outdated(measured)))


def test_a_new_file_in_pyrs_spark_outdates_the_page_once(release: ModuleType, measured: Path) -> None:
    (measured / "pyrs" / "spark" / "more.py").write_text("x = 1\n")
    subprocess.run(["git", "add", "."], cwd=measured, check=True)
    assert [point.partition(" ")[0] for point in release.outdated(measured)] == [release.CONFORMANCE, release.FIGURES]


def test_changed_limits_of_the_bridge_outdate_the_page_and_the_figures(release: ModuleType, measured: Path) -> None:
    (measured / "pyrs" / "jvm").mkdir()
    (measured / "pyrs" / "jvm" / "limits.properties").write_text("window.initial = 32\n")
    subprocess.run(["git", "add", "."], cwd=measured, check=True)
    assert [point.partition(" ")[0] for point in release.outdated(measured)] == [release.CONFORMANCE, release.FIGURES]


def test_measurements_of_an_unknown_commit_are_reported(release: ModuleType, measured: Path) -> None:
    (measured / release.CONFORMANCE).write_text("measured at commit `1234567-dirty` by")
    (point,) = release.outdated(measured)
    assert "commit 1234567-di, which is not in this clone" in point


def test_all_addresses_come_from_one_line_of_pyproject(
    release: ModuleType, hooks: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The addresses are the URLs and links of the package, the edit links of the site, and what a release checks."""
    marbles, address = script("marbles"), "https://example.org/owner/name"
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    line = re.compile(r'^repository = ".*"$', re.MULTILINE)
    assert len(line.findall(pyproject)) == 1
    (tmp_path / "pyproject.toml").write_text(line.sub(f'repository = "{address}"', pyproject), encoding="utf-8")
    (tmp_path / "README.md").write_text(README, encoding="utf-8")
    (tmp_path / "CHANGELOG.md").write_text("## 1.2.3 - 2026-01-31\n", encoding="utf-8")
    metadata: dict[str, Any] = {"version": "1.2.3"}
    hooks.DescriptionHook(str(tmp_path), {"repository": address}).update(metadata)
    assert metadata["urls"]["Source"] == address
    assert all(url.startswith(address) for url in metadata["urls"].values())
    assert f"[one]({address}/blob/v1.2.3/docs/one.md)" in metadata["readme"]["text"]
    monkeypatch.setattr(marbles, "ROOT", tmp_path)
    site = marbles.on_config(SimpleNamespace(repo_url=None, edit_uri=None))
    assert (site.repo_url, site.edit_uri) == (address, "edit/main/docs/")
    assert release.open_points(tmp_path, "1.2.3", "1.2.3", "") == []


def test_version_is_that_of_the_package(release: ModuleType) -> None:
    import pyrs

    assert release.version_of() == pyrs.__version__


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_install_lines_name_the_wheel_of_this_version(release: ModuleType, page: str) -> None:
    named = re.findall(r"pyrs_streams-(\S+?)-py3", (ROOT / page).read_text(encoding="utf-8"))
    assert named == [release.version_of()]


def test_sbom_lists_the_java_libraries_in_the_jars(release: ModuleType) -> None:
    found = release.bundled((ROOT / "jvm" / "build.gradle").read_text())
    assert [component["name"] for component in found] == ["reactive-streams", "msgpack-core"]
    assert found[0]["purl"] == "pkg:maven/org.reactivestreams/reactive-streams@1.0.4"


def test_links_of_the_long_description_are_absolute(hooks: ModuleType) -> None:
    base = "https://example.org/pyrs/blob/v1"
    assert hooks.long_description(README, base) == (
        f"[one]({base}/docs/one.md), [two](https://example.org/two), [three](#three), [CHANGELOG]({base}/CHANGELOG.md)"
    )


def test_long_description_without_a_repository_has_no_relative_links(hooks: ModuleType) -> None:
    assert hooks.long_description(README, "") == "one, [two](https://example.org/two), [three](#three), CHANGELOG"


def test_pictures_of_the_long_description_are_files_of_the_repository(hooks: ModuleType) -> None:
    readme = "# one\n\n![two](docs/two.svg)\n\nthree"
    base = "https://example.org/pyrs/blob/v1"
    expected = "# one\n\n![two](https://example.org/pyrs/raw/v1/docs/two.svg)\n\nthree"
    assert hooks.long_description(readme, base) == expected
    assert hooks.long_description(readme, "") == "# one\n\nthree"


def test_the_long_description_has_no_relative_link(hooks: ModuleType) -> None:
    text = hooks.long_description((ROOT / "README.md").read_text(encoding="utf-8"), "https://example.org/pyrs")
    assert [target for target in re.findall(r"\]\(([^)]*)\)", text) if not re.match("https://|#", target)] == []


def test_the_folders_of_gradle_are_not_in_the_sdist_and_make_clean_removes_them() -> None:
    removed = subprocess.run(["make", "-n", "clean"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    sdist = SdistBuilder(str(ROOT)).config
    ignored = [file for file in ROOT.glob("tests/**/.gitignore") if "/lib/" in file.read_text(encoding="utf-8")]
    assert len(ignored) > 2
    for file in ignored:
        for line in file.read_text(encoding="utf-8").split():
            folder = (file.parent / line.strip("/")).relative_to(ROOT).as_posix()
            assert sdist.path_is_excluded(f"{folder}/name")
            assert folder in removed.split()


def test_every_tracked_file_of_the_listed_folders_is_in_the_sdist() -> None:
    sdist = SdistBuilder(str(ROOT)).config
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert [name for name in tracked.splitlines() if sdist.path_is_excluded(name)] == []


@pytest.mark.campaign
@pytest.mark.timeout(600)
def test_draft_has_all_files(release: ModuleType) -> None:
    """This test needs the tools of the extra ``release``."""
    pytest.importorskip("twine")
    pytest.importorskip("cyclonedx_py")
    subprocess.run([sys.executable, ".ci/release.py", "--draft"], cwd=ROOT, check=True, timeout=500)
    version = release.version_of()
    dist = ROOT / "dist"
    names = {f"pyrs_streams-{version}{end}" for end in ENDS}
    assert {file.name for file in dist.iterdir()} == {*names, "SHA256SUMS"}
    sums = dict(reversed(line.split()) for line in (dist / "SHA256SUMS").read_text().splitlines())
    assert sums == {name: hashlib.sha256((dist / name).read_bytes()).hexdigest() for name in names}
    components = json.loads((dist / f"pyrs_streams-{version}.cdx.json").read_text())["components"]
    assert {"pyrs-streams", "msgpack-core", "reactive-streams"} <= {component["name"] for component in components}
    with tarfile.open(dist / f"pyrs_streams-{version}.tar.gz") as source:
        jars = [name for name in source.getnames() if name.endswith(".jar")]
    assert jars and all("/pyrs/jvm/jars/" in name for name in jars)
