"""Check what the bridge needs on this machine: ``python -m pyrs doctor``."""

from __future__ import annotations

import json
import os
import platform
import re
import shutil
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib import import_module, metadata, resources, util
from typing import NamedTuple

from pyrs import __version__

OK, NOTE, PROBLEM = "ok", "note", "problem"
_INSTALL_JAVA = "install a JDK or JRE of version 17 or later (Debian: apt install default-jre-headless)"
_TIMEOUT_SECONDS = 20.0
_UNKNOWN = "unknown version"


class Finding(NamedTuple):
    """The result of one check. ``fix`` says what to do about a note or a problem."""

    subject: str
    status: str
    found: str
    fix: str = ""


def run(as_json: bool) -> int:
    """Print every finding; return 1 if one of them is a problem, otherwise 0."""
    found = [
        finding
        for check in (_python, _packages, _java, _jvm_library, _spark, _jar, _loopback, _cache)
        for finding in check()
    ]
    healthy = all(finding.status != PROBLEM for finding in found)
    if as_json:
        findings = [finding._asdict() for finding in found]
        print(json.dumps({"pyrs": __version__, "ok": healthy, "findings": findings}, indent=2))
    else:
        for finding in found:
            print(f"{finding.status:8} {finding.subject:10} {finding.found}")
            if finding.fix:
                print(f"{'':19} -> {finding.fix}")
        broken = "The core works. The bridge cannot be used before the problems are fixed."
        print("The bridge can be used." if healthy else broken)
    return int(not healthy)


def _python() -> Iterator[Finding]:
    found = f"{platform.python_implementation()} {platform.python_version()} on {platform.system()}, {sys.executable}"
    free_threaded = not getattr(sys, "_is_gil_enabled", lambda: True)()
    untested = sys.implementation.name != "cpython" or sys.platform != "linux" or free_threaded
    tested = "pyrs is tested on Linux, with CPython and its GIL"
    yield Finding("Python", NOTE if untested else OK, found, tested if untested else "")


def _packages() -> Iterator[Finding]:
    needed = {"msgpack": "the bridge", "py4j": "the JVM of a Spark driver", "jpype1": "a JVM in the Python process"}
    versions = {package: _version_of(package) for package in needed}
    for package, purpose in needed.items():
        missing = PROBLEM if package == "msgpack" or not (versions["py4j"] or versions["jpype1"]) else NOTE
        if versions[package]:
            broken = _import_error(package)
            found = f"{versions[package]}, which cannot be imported: {broken}" if broken else versions[package]
            fix = f"pip install --force-reinstall {package}" if broken else ""
            yield Finding(package, missing if broken else OK, found, fix)
        else:
            extra = "jpype" if package == "jpype1" else "spark"
            yield Finding(package, missing, f"not installed; for {purpose}", f"pip install 'pyrs-streams[{extra}]'")


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        # The copies that spark-submit puts on the path are not installed as packages.
        name = _module_of(package)
        try:
            return str(getattr(import_module(name), "__version__", _UNKNOWN)) if util.find_spec(name) else ""
        except Exception:  # _import_error describes it
            return _UNKNOWN


def _module_of(package: str) -> str:
    return "jpype" if package == "jpype1" else package


def _import_error(package: str) -> str:
    """Return why a package cannot be imported, or an empty string."""
    try:
        import_module(_module_of(package))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _java() -> Iterator[Finding]:
    home = os.environ.get("JAVA_HOME", "")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else shutil.which("java")
    if home and java is None:
        yield Finding(
            "JAVA_HOME", PROBLEM, f"{home} has no bin/java", "set JAVA_HOME to the home of a JDK, or unset it"
        )
    else:
        yield Finding("JAVA_HOME", OK, home or "not set: java is searched on PATH")
    if java is None:
        if not home:
            yield Finding("Java", PROBLEM, "no java on PATH", f"{_INSTALL_JAVA}, or set JAVA_HOME")
        return
    try:
        done = subprocess.run(
            [java, "-version"], capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        yield Finding("Java", PROBLEM, f"{java} cannot be run: {error}", _INSTALL_JAVA)
        return
    printed = done.stderr + done.stdout
    version = re.search(r'version "(?:1\.)?(\d+)[^"]*"', printed)
    if version is None:
        yield Finding("Java", PROBLEM, f"{java} -version printed {printed.strip()!r}", _INSTALL_JAVA)
        return
    needed = 17 if re.match(r"[4-9]\.", _version_of("pyspark")) else 11
    old = int(version[1]) < needed
    reason = f"{'PySpark 4' if needed == 17 else 'the jar'} needs Java {needed}: {_INSTALL_JAVA}"
    yield Finding("Java", PROBLEM if old else OK, f"{version[0]}, {java}", reason if old else "")


def _jvm_library() -> Iterator[Finding]:
    """Find the JVM that JPype would load. JPype does not search PATH."""
    if not _version_of("jpype1"):
        return
    try:
        from pyrs.jvm.gateways import default_java_home
    except Exception:  # msgpack cannot be imported, which _packages reports
        return
    home = default_java_home()
    if home:
        yield Finding("libjvm", OK, f"JPype loads the libjvm of {home}")
    else:
        missing = NOTE if _version_of("py4j") else PROBLEM
        found = "JPype finds no JVM; it searches JAVA_HOME and the usual folders, not PATH"
        yield Finding("libjvm", missing, found, "set JAVA_HOME to the home of a JDK or JRE")


def _spark() -> Iterator[Finding]:
    version = _version_of("pyspark")
    if not version:
        return
    if version == _UNKNOWN and (broken := _import_error("pyspark")):
        fix = "put both folders of Spark on PYTHONPATH, python and python/lib/py4j-*-src.zip, or pip install pyspark"
        yield Finding("Spark", NOTE, f"PySpark cannot be imported: {broken}", fix)
        return
    remote = next((name for name in ("SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED") if os.environ.get(name)), None)
    if remote:
        fix = (
            "pyrs.spark.supports(spark) lists the functions that work. The bridge needs a JVM on this side: unset "
            f"{remote} for a classic session, or use jvm.launch()"
        )
        yield Finding("Spark", NOTE, f"PySpark {version}, with Spark Connect sessions ({remote} is set)", fix)
    else:
        yield Finding("Spark", OK, f"PySpark {version}, with classic sessions unless the builder has remote()")
    home = os.environ.get("SPARK_HOME")
    if home and not os.path.isfile(os.path.join(home, "bin", "spark-submit")):
        yield Finding("SPARK_HOME", NOTE, f"{home} has no bin/spark-submit", "unset SPARK_HOME, or Spark cannot start")
    elif home:
        yield Finding("SPARK_HOME", NOTE, home, f"Spark starts from this folder, whose version must be {version}")
    try:
        socket.gethostbyname(os.environ.get("SPARK_LOCAL_IP") or socket.gethostname())
    except (OSError, UnicodeError) as error:  # UnicodeError: a name of more than 63 characters
        yield Finding("host name", NOTE, f"cannot be resolved: {error}", "set SPARK_LOCAL_IP=127.0.0.1 for Spark")


def _jar() -> Iterator[Finding]:
    fix = "in a checkout run `make setup`; elsewhere pip install --force-reinstall pyrs-streams"
    jar = resources.files("pyrs") / "jvm" / "jars" / "pyrs.jar"
    try:
        with jar.open("rb") as file, zipfile.ZipFile(file) as packed:
            manifest = packed.read("META-INF/MANIFEST.MF").decode()
    except (OSError, KeyError, zipfile.BadZipFile) as error:
        yield Finding("jar", PROBLEM, f"{jar} cannot be read: {error}", fix)
        return
    version = re.search(r"^Implementation-Version: (\S+)", manifest, re.MULTILINE)
    same = version is not None and version[1] == __version__
    found = f"version {version[1] if version else 'unknown'} for pyrs {__version__}, {jar}"
    yield Finding("jar", OK if same else PROBLEM, found, "" if same else fix)


def _loopback() -> Iterator[Finding]:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
            with socket.create_connection(("127.0.0.1", port), _TIMEOUT_SECONDS):
                yield Finding("loopback", OK, f"127.0.0.1 accepts connections (port {port} was tried)")
    except OSError as error:
        fix = "allow TCP connections within 127.0.0.1 in the firewall or the container, for the link"
        yield Finding("loopback", PROBLEM, f"no connection within 127.0.0.1: {error}", fix)


def _cache() -> Iterator[Finding]:
    try:
        from pyrs.jvm.downloads import cache_folder, repository
    except Exception:  # msgpack cannot be imported, which _packages reports
        return
    folder = cache_folder()
    # os.path.exists, because Path.exists raises for a folder in a home that this user cannot read.
    existing = next(parent for parent in (folder, *folder.absolute().parents) if os.path.exists(parent))
    writable = os.path.isdir(existing) and os.access(existing, os.W_OK | os.X_OK)
    jars = sum(1 for _ in folder.glob("**/*.jar")) if writable else 0
    found = f"{folder} with {jars} jars, filled from {repository()}"
    if writable:
        yield Finding("cache", OK, found)
    else:
        fix = "packages=[...] and the Java TCK need it: set XDG_CACHE_HOME to a folder that this user can write"
        yield Finding("cache", NOTE, f"{folder} cannot be used: {existing} is not a writable folder", fix)
