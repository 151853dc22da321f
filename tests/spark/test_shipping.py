"""Import pyrs in a driver from a zip file, such as the one that Spark ships."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pyrs

DRIVER = """
import os, sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").config("spark.log.level", "OFF")
    .getOrCreate()
)
spark.sparkContext.addPyFile(sys.argv[1])
import pyrs
from pyrs import spark as ps
from pyrs.jvm.gateways.jars import packaged_jars

print(".zip" in pyrs.__file__, ps.supports(spark)["attach"])
bridge = ps.attach(spark)
print(bridge.from_jvm(bridge.to_jvm(pyrs.just(1, 2))).collect(timeout=60))
bridge.close()
folder = packaged_jars().pyrs.parent
print(oct(folder.stat().st_mode & 0o777))
print(folder)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = Path(pyrs.__file__).parent
    copy = tmp_path / "copy" / "pyrs"
    shutil.copytree(root, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def run(archive: str, folder: Path) -> list[str]:
    """Run the driver, which adds ``archive`` to Spark's path; return its output."""
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, "-c", DRIVER, archive],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=250,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("\n")[:-1]


@pytest.mark.timeout(300)
def test_attach_works_in_a_driver_that_imports_from_the_zip_file(package: Path, tmp_path: Path) -> None:
    archive = shutil.make_archive(str(tmp_path / "pyrs"), "zip", package.parent, "pyrs")
    inside, result, mode, folder = run(archive, tmp_path)
    assert inside == "True ok"
    assert result == "[1, 2]"
    assert mode == "0o700", "other users can read the folder"
    assert not Path(folder).exists(), "the folder was not removed at exit"


FORKED = """
import os, sys
from pyrs.spark.executors.shipping import _archive

path = _archive()
if not os.fork():
    sys.exit()
os.wait()
print(path, os.path.exists(path))
"""


def test_the_exit_of_a_forked_child_does_not_remove_the_zip_file_of_its_parent() -> None:
    """Executors that start later read the file."""
    done = subprocess.run([sys.executable, "-c", FORKED], stdout=subprocess.PIPE, text=True, timeout=60, check=True)
    path, exists = done.stdout.split()
    assert exists == "True"
    assert not Path(path).parent.exists(), "the folder was not removed at exit"


def test_a_zip_file_without_the_jars_is_reported(package: Path, tmp_path: Path) -> None:
    import zipfile

    from pyrs.errors import JvmUnavailable
    from pyrs.jvm.gateways.jars import packaged_jars

    archive = tmp_path / "pyrs.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("jars/other", "")
    with zipfile.ZipFile(archive) as file, pytest.raises(JvmUnavailable, match=r"pyrs\.jar is missing"):
        packaged_jars(zipfile.Path(file, "jars/"))
