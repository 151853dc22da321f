"""Install missing Debian packages of servers."""

from __future__ import annotations

import os
import shutil
import subprocess

LONGEST_SECONDS = 300


def need(package: str, present: bool) -> None:
    """Install a package unless it is present, as root or by sudo without a password.

    Raises:
        FileNotFoundError: the package cannot be installed; the message names the command.
    """
    if present:
        return
    by_hand = f"Debian's package {package} is missing: install it (as root: apt-get install {package})"
    as_root = [] if os.geteuid() == 0 else ["sudo", "-n"]
    if shutil.which("apt-get") is None or (as_root and shutil.which("sudo") is None):
        raise FileNotFoundError(by_hand)
    print(f"pyrs: installing {package} with apt", flush=True)
    apt = [*as_root, "env", "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1", "apt-get", "-qq"]
    # Old package lists may name versions that the mirrors have removed. Without a network the cache may suffice.
    subprocess.run([*apt, "update"], check=False, capture_output=True, timeout=LONGEST_SECONDS)
    done = subprocess.run(
        [*apt, "install", "-y", "--no-install-recommends", package],
        check=False,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    if done.returncode:
        raise FileNotFoundError(f"{by_hand}; apt-get failed: {(done.stderr or done.stdout)[-2000:].strip()}")
