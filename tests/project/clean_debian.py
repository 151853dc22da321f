"""Run the examples on a clean Debian that has the wheel and no checkout: ``make test-clean``.

``python -m tests.project.clean_debian WHEEL`` creates a Debian 12 with Python and a JRE in a temporary folder
(debootstrap, as root), installs the wheel there, and runs five recipes and the blocks of README and of the quick start.
It compares their output with the pages.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.interop.systems.debian import need
from tests.interop.systems.recipes import RECIPES, code_of, output_of
from tests.project import wheel_examples

ROOT = Path(__file__).resolve().parents[2]
MIRROR = "http://deb.debian.org/debian"
PACKAGES = "ca-certificates,python3,python3-venv,default-jre-headless"
CERTIFICATES = Path("/usr/local/share/ca-certificates")
HOME = "/root"
FOLDER = f"{HOME}/pasted"
"""The folder of the examples, in which they run."""
KEPT = ("PIP_", "http_proxy", "https_proxy", "no_proxy", "PYRS_MAVEN_REPOSITORY")
"""The prefixes of the environment variables that describe the network."""


@contextmanager
def clean_debian() -> Iterator[Path]:
    """Create a Debian that has Python and a JRE, yield its root, and remove it at the end."""
    need("debootstrap", shutil.which("debootstrap") is not None)
    root = Path(tempfile.mkdtemp(prefix="clean-debian-"))
    mounted: list[Path] = []
    try:
        quietly("debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root), MIRROR)
        for name in ("resolv.conf", "hosts"):
            shutil.copy(f"/etc/{name}", root / "etc" / name)
        for certificate in CERTIFICATES.glob("*.crt"):  # of a proxy in the network
            shutil.copy(certificate, root / CERTIFICATES.relative_to("/"))
        for name in ("proc", "dev"):
            quietly("mount", "--rbind", f"/{name}", str(root / name))
            quietly("mount", "--make-rslave", str(root / name))
            mounted.append(root / name)
        inside(root, "update-ca-certificates")
        yield root
    finally:
        for place in reversed(mounted):
            quietly("umount", "--recursive", "--lazy", str(place))
        shutil.rmtree(root)


def quietly(*command: str) -> None:
    """Run a command, and show its output if it fails."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stdout[-4000:]}")


def inside(root: Path, *command: str) -> str:
    """Run a command in the Debian, in the folder of the examples; return its output."""
    kept = [f"{name}={value}" for name, value in os.environ.items() if name.startswith(KEPT)]
    fresh = ["env", "-i", f"HOME={HOME}", "LANG=C.UTF-8", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", *kept]
    in_folder = ["sh", "-c", f'mkdir -p {FOLDER} && cd {FOLDER} && exec "$@"', "sh", *command]
    done = subprocess.run(
        ["chroot", str(root), *fresh, *in_folder],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed in the clean Debian:\n{done.stdout[-4000:]}")
    return done.stdout


def installed(root: Path, wheel: Path, extra: str) -> str:
    """Install the wheel with an extra in a separate virtual environment; return its Python."""
    shutil.copy(wheel, root / FOLDER[1:])
    inside(root, "python3", "-m", "venv", extra)
    inside(root, f"{extra}/bin/python", "-m", "pip", "install", "--quiet", f"./{wheel.name}[{extra}]")
    print(inside(root, f"{extra}/bin/pyrs", "doctor"))
    return f"{extra}/bin/python"


def main(wheel: str) -> int:
    """Run every block; return 1 if the output of one differs from its page."""
    wrong: list[str] = []
    with clean_debian() as root:
        folder = root / FOLDER[1:]
        python = installed(root, Path(wheel), "jpype")
        examples = wheel_examples.pasted_examples()
        shutil.copy(ROOT / "tests" / "project" / "examples.py", folder)
        (folder / "examples.json").write_text(json.dumps(examples), encoding="utf-8")
        (folder / "paste.py").write_text(wheel_examples.PASTE, encoding="utf-8")
        last = inside(root, python, "paste.py").splitlines()[-1]
        wrong += json.loads(last)
        print(f"{len(examples)} blocks of {' and '.join(wheel_examples.PAGES)}: {len(wrong)} differences")
        for name in wheel_examples.RECIPES:
            (folder / f"{name}.py").write_text(code_of(RECIPES / f"{name}.md", program=True), encoding="utf-8")
            printed, expected = inside(root, python, f"{name}.py"), output_of(RECIPES / f"{name}.md") or ""
            right = printed.endswith(expected)
            wrong += [] if right else [f"{name} printed {printed[-1000:]}"]
            print(f"recipe {name}: {'as shown' if right else 'differs'}")
        python = installed(root, Path(wheel), "spark")
        for number, (code, shown) in enumerate(wheel_examples.driver_examples()):
            (folder / f"driver_{number}.py").write_text(code, encoding="utf-8")
            printed_lines = inside(root, python, f"driver_{number}.py").splitlines()
            right = [line for line in printed_lines if line in shown] == shown
            wrong += [] if right else [f"driver example {number} printed {printed_lines[-20:]}"]
            print(f"driver example {number}: {'as shown' if right else 'differs'}")
    print(*wrong, sep="\n")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
