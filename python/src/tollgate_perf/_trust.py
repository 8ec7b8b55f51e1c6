"""Which folders and files are safe from other users. The program has the same rule: crates/record/src/trust.rs."""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import stat
from pathlib import Path

FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
"""How a folder is opened, and nothing that a link leads to."""


class Untrusted(OSError):
    """Another user could change a path that is to be believed."""


def check(path: str | os.PathLike[str], *, is_above: bool = False) -> str:
    """The path without links, if this user or root owns it and every folder above it, and nobody else may write there.

    As sshd does with StrictModes: others may write to a folder above it only if it is sticky, because its entries are then
    safe. A link on the way must belong to this user or root, too. `is_above` says that the path itself is such a folder.
    """
    at, left, links = "/", _parts(os.path.abspath(path)), 0
    _look(at, is_above or bool(left))
    while left:
        name = left.pop(0)
        if name == "..":
            at = os.path.dirname(at)
            continue
        here = os.path.join(at, name)
        target = _look(here, is_above or bool(left))
        if target is None:
            at = here
            continue
        links += 1
        if links > 40:
            raise Untrusted(f"'{path}' has too many symbolic links")
        at = "/" if target.startswith("/") else at
        left = _parts(target) + left
    return at


def check_open(descriptor: int, path: str) -> None:
    """Raises if others may change the open file or folder. Nobody can replace it between this check and its use."""
    _judge(os.fstat(descriptor), path, False)


def own_folder(path: str) -> int:
    """Opens a folder that only this user can use, and makes it if it is missing. The folder above it must be safe."""
    check(os.path.dirname(path), is_above=True)
    with contextlib.suppress(FileExistsError):
        os.mkdir(path, 0o700)
    try:
        descriptor = os.open(path, FOLDER)
    except NotADirectoryError:
        owner = user(os.lstat(path).st_uid)
        raise Untrusted(f"'{path}' is not a folder but a file or a link of user {owner}: remove it") from None
    try:
        check_open(descriptor, path)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def root_folder(path: str) -> int | None:
    """Opens a folder that root made for all users; `None` if there is none, or if it is not root's."""
    try:
        descriptor = os.open(path, FOLDER)
    except OSError:
        return None
    found = os.fstat(descriptor)
    if found.st_uid == 0 and (not found.st_mode & 0o022 or found.st_mode & stat.S_ISVTX):
        return descriptor
    os.close(descriptor)
    return None


def _parts(path: str) -> list[str]:
    return [it for it in path.split("/") if it not in ("", ".")]


def _look(path: str, is_above: bool) -> str | None:
    """Checks one step of a path; the target if it is a link."""
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        _judge_owner(found, path, False)
        return os.readlink(path)
    _judge(found, path, is_above)
    return None


def _judge(found: os.stat_result, path: str, is_above: bool) -> None:
    _judge_owner(found, path, is_above)
    if not found.st_mode & 0o022 or (is_above and found.st_mode & stat.S_ISVTX):
        return
    if found.st_mode & 0o002 or not _is_private_group(found.st_gid):
        who = "every user" if found.st_mode & 0o002 else f"group {found.st_gid}"
        raise Untrusted(f"{who} may write to '{path}': run 'chmod go-w {path}' if nobody has changed it, or name another place")


def _judge_owner(found: os.stat_result, path: str, is_above: bool) -> None:
    if found.st_uid in (0, os.geteuid()) or (is_above and found.st_uid == _unmapped_user()):
        return
    raise Untrusted(f"'{path}' belongs to user {user(found.st_uid)}: name a place that belongs to user {user(os.geteuid())}")


def _unmapped_user() -> int | None:
    """The owner that a user namespace shows for those outside of it, of which root is one."""
    try:
        overflow = int(Path("/proc/sys/kernel/overflowuid").read_text())
        lines = [[int(it) for it in line.split()] for line in Path("/proc/self/uid_map").read_text().splitlines()]
    except (OSError, ValueError):
        return None
    return None if any(first <= overflow < first + count for first, _, count in lines) else overflow


def _is_private_group(group: int) -> bool:
    """Whether the group is this user's own, which no other user is in: where the umask is 002 it may write to all his files."""
    me = os.geteuid()
    try:
        mine = pwd.getpwuid(me)
        users = [it.pw_name for it in pwd.getpwall() if it.pw_gid == group]
        members = grp.getgrgid(group).gr_mem
    except KeyError:
        return False
    return me != 0 and mine.pw_gid == group and {*users, *members} == {mine.pw_name}


def user(number: int) -> str:
    """A user by name and number, as far as known."""
    try:
        return f"{pwd.getpwuid(number).pw_name} ({number})"
    except KeyError:
        return str(number)
