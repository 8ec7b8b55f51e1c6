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
from collections.abc import Callable, Iterator
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
        from tollgate_perf import _store

        found["tool"] = list(_store.tool())
    except ImportError:
        found["reason"] = "the package tollgate-perf is not installed there: run 'pip install tollgate-perf'"
    except (Exception, subprocess.SubprocessError) as error:
        found["reason"] = str(error)
    return found


SHARED = "/run/lock/tollgate"
"""A folder that root may make: then all users of the host measure one after another, and else only those of one user."""
TELL_S = 3.0
"""How long a measurement waits for another one before it says so."""


@contextlib.contextmanager
def alone(host: str, patience: float, tell: Callable[[str], None] | None = None) -> Iterator[int]:
    """Holds this host's lock, and gives its descriptor. It ends with the last process that has it open.

    `tell` receives who holds it, once it is waited for; by default standard error does.
    """
    # The folder itself is locked. No file is opened whose name another user could take first.
    descriptor = _folder("".join(it if it.isalnum() else "-" for it in host))
    try:
        begun, told = time.monotonic(), False
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                waited = time.monotonic() - begun
            if waited > patience:
                raise TimeoutError(f"another measurement ran on this host for {patience:g} s: {holder(descriptor)}")
            if waited > TELL_S and not told:
                told = True
                (tell or _say)(f"tollgate: waiting up to {patience:g} s for {holder(descriptor)}")
            time.sleep(0.02)
        yield descriptor
    finally:
        os.close(descriptor)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _folder(name: str) -> int:
    """The folder that is locked: root's for all users, or one of this user's own for this host."""
    from tollgate_perf import _trust

    # A host with a given name is one of several on this machine.
    shared = None if "TOLLGATE_HOST" in os.environ else _trust.root_folder(SHARED)
    if shared is not None:
        return shared
    own = f"tollgate-{os.geteuid()}"
    for session in (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.geteuid()}"):
        if os.path.isabs(session):
            with contextlib.suppress(OSError):
                found = os.stat(session)
                if found.st_uid == os.geteuid() and not found.st_mode & 0o077:
                    os.close(_trust.own_folder(os.path.join(session, own)))
                    return _trust.own_folder(os.path.join(session, own, name))
    # Where several hosts share a temporary folder, the name of this one keeps their locks apart.
    above = os.path.join(os.path.realpath(tempfile.gettempdir()), own)
    os.close(_trust.own_folder(above))
    return _trust.own_folder(os.path.join(above, name))


def holder(descriptor: int) -> str:
    """Who holds the lock of this folder, as far as the kernel tells."""
    from tollgate_perf import _trust

    inode = os.fstat(descriptor).st_ino
    unknown = "a process that cannot be seen from here"
    try:
        with open("/proc/locks") as file:
            # 1: FLOCK ADVISORY WRITE 708 00:13:512 0 EOF
            held = [it.split() for it in file]
        pid = next(it[4] for it in held if it[1] == "FLOCK" and it[5].rpartition(":")[2] == str(inode))
        owner = _trust.user(os.stat(f"/proc/{pid}").st_uid)
        with open(f"/proc/{pid}/comm") as file:
            return f"process {pid} ('{file.read().strip()}') of user {owner}"
    except (OSError, StopIteration, IndexError):
        return unknown
