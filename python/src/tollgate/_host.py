"""Which host this is, and the lock by which one measurement at a time runs on it.

Nothing of the package is imported here: a worker that does not have it answers, too.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any


def facts() -> dict[str, Any]:
    """The identity of this host, and the versions of what is installed on it."""

    def read(path: str) -> str:
        try:
            with open(path) as file:
                return file.read().strip()
        except OSError:
            return ""

    given = os.environ.get("TOLLGATE_HOST")
    machine = given or read("/etc/machine-id") or read("/var/lib/dbus/machine-id")
    boot = given or read("/proc/sys/kernel/random/boot_id")
    found: dict[str, Any] = {"host": f"{machine or socket.gethostname()}/{boot}", "name": given or socket.gethostname()}
    found |= {"python": sys.version.split()[0], "pid": os.getpid(), "tool": None, "reason": None}
    try:
        from tollgate import _store

        found["tool"] = list(_store.tool())
    except ImportError:
        found["reason"] = "the package tollgate is not installed there: pip install tollgate"
    except (Exception, subprocess.SubprocessError) as error:
        found["reason"] = str(error)
    return found


@contextlib.contextmanager
def alone(host: str, patience: float) -> Iterator[int]:
    """Holds this host's lock, and gives its descriptor. It ends with the last process that has it open."""
    name = "".join(it if it.isalnum() else "-" for it in host)
    # Every user of the host takes the same file. In a folder that all may write, a file of another user may be opened
    # and not created anew.
    path = os.path.join(tempfile.gettempdir(), f"tollgate-{name}.lock")
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        with contextlib.suppress(OSError):
            os.fchmod(descriptor, 0o666)
        end = time.monotonic() + patience
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise TimeoutError(f"another measurement ran on this host for {patience:g} s") from None
                time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)
