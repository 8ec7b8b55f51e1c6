"""Finished points of sweeps, each in a file named after everything that decides its answer."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import json
import os
import tempfile
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tollgate import _program
from tollgate._errors import UsageError

Rows = list[dict[str, Any]]


class Store:
    """A folder of finished points."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Makes the folder, and checks that it can be written."""
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=self.folder):
                pass
        except OSError as error:
            raise UsageError(f"the store {self.folder} cannot be written: {error.strerror}; name another one") from error
        # Several sweeps may write the same point at once. This is cheaper than a random name for each point.
        self._mark = uuid.uuid4().hex
        self.damaged: list[str] = []
        """Entries that were found damaged, and are computed again."""

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.json"

    def get(self, key: str) -> bytes | None:
        """The rows of a finished point, as [`text`] made them."""
        path = self._path(key)
        try:
            text = path.read_bytes()
        except OSError:
            return None
        digest, _, body = text.partition(b"\n")
        if hashlib.sha256(body).hexdigest().encode() != digest:
            self.damaged.append(str(path))
            return None
        return body

    def put(self, key: str, body: bytes) -> None:
        """Keeps the rows, whole or not at all."""
        path = self._path(key)
        unfinished = path.with_name(f"{path.name}.{self._mark}")
        entry = hashlib.sha256(body).hexdigest().encode() + b"\n" + body
        try:
            try:
                unfinished.write_bytes(entry)
            except FileNotFoundError:
                path.parent.mkdir(exist_ok=True)
                unfinished.write_bytes(entry)
            os.replace(unfinished, path)
        except OSError as error:
            with contextlib.suppress(OSError):
                unfinished.unlink()
            raise UsageError(f"the store {self.folder} cannot be written: {error.strerror}") from error


def text(rows: Rows) -> bytes:
    """Rows as the store keeps them."""
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":")).encode()


def canonical(value: object) -> bytes:
    """One text for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode()


def key(call: Callable[..., Any], arguments: Mapping[str, Any], host: str | None) -> str:
    """The name of a point: its function, its arguments with the bytes of files, the program, and the host if it matters."""
    what = [identity(call), {name: _content(value) for name, value in arguments.items()}, tool(), host]
    return hashlib.sha256(canonical(what)).hexdigest()


@functools.cache
def identity(call: Callable[..., Any]) -> str:
    """A function by its name, and one of the user's by its source too."""
    name = f"{call.__module__}.{call.__qualname__}"
    if call.__module__.partition(".")[0] == "tollgate":
        return name
    try:
        return name + " " + hashlib.sha256(inspect.getsource(call).encode()).hexdigest()
    except (OSError, TypeError):
        code = getattr(call, "__code__", None)
        return name + " " + hashlib.sha256(repr(code and (code.co_code, code.co_consts)).encode()).hexdigest()


@functools.cache
def tool() -> tuple[str, str]:
    """The version and the commit of the program."""
    args = ["riscv", "pipeline", "--count", "2", "--json", "--no-save"]
    said = json.loads(_program.call(args, progress=False).check().stdout)["tool"]
    return said["version"], said["commit"]


def _content(value: Any) -> Any:
    """A file by its bytes, everything else by its value."""
    if isinstance(value, Mapping):
        return {name: _content(it) for name, it in value.items()}
    if isinstance(value, str | os.PathLike):
        path = str(value)
        if ("/" in path or path.endswith((".toml", ".c", ".elf"))) and Path(path).is_file():
            stat = os.stat(path)
            return ["file", _digest(path, stat.st_mtime_ns, stat.st_size)]
        return path
    return value


@functools.lru_cache(maxsize=4096)
def _digest(path: str, _modified: int, _size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
