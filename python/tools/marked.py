"""Processes that are found by a word in their environment, which children inherit."""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path

NAME = "TOLLGATE_MARK"


def mark() -> str:
    """A word that no other process has."""
    return uuid.uuid4().hex


def processes(word: str) -> list[str]:
    """The command lines of the processes that have it."""
    found = []
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"{NAME}={word}".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
    return found
