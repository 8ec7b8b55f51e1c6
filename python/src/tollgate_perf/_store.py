"""Finished points of sweeps, each under a hash of everything that decides its answer."""

from __future__ import annotations

import fcntl
import functools
import hashlib
import inspect
import json
import os
import sqlite3
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tollgate_perf import _program, _trust
from tollgate_perf._errors import UsageError

Rows = list[dict[str, Any]]

NAME = "points.sqlite"
"""The file of a store."""
COLUMNS = "key TEXT PRIMARY KEY, digest BLOB, body BLOB, finished_ns INTEGER"
"""Of a point: its key, the SHA-256 of the body, its rows, and when it was kept, in nanoseconds since 1970."""


class Store:
    """A folder with a database of finished points: to create a file for each takes longer than to compute some of them."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Makes the folder and the database, and checks that they can be written."""
        self.folder = Path(folder)
        self.damaged: list[str] = []
        """What was found damaged, and is computed again."""
        try:
            self.folder.mkdir(0o700, parents=True, exist_ok=True)
            # Rows that another user could write would be believed.
            self.folder = Path(_trust.check(self.folder))
            if (self.folder / NAME).exists():
                _trust.check(self.folder / NAME)
            self._points = database(self.folder)
        except _trust.Untrusted as error:
            raise UsageError(f"the store {folder} is not safe: {error}") from error
        except (OSError, sqlite3.OperationalError) as error:
            why = error.strerror if isinstance(error, OSError) else error
            raise UsageError(f"the store {folder} cannot be written: {why}; name another one") from error
        except sqlite3.DatabaseError:
            self._begin_anew()

    def close(self) -> None:
        """Leaves the database to others."""
        self._points.close()

    def _begin_anew(self) -> None:
        """Puts a damaged database aside."""
        file, aside = self.folder / NAME, self.folder / f"{NAME}.damaged"
        os.replace(file, aside)
        for behind in ("-wal", "-shm"):
            (self.folder / (NAME + behind)).unlink(missing_ok=True)
        self.damaged.append(str(aside))
        self._points = database(self.folder)

    def get(self, key: str) -> bytes | None:
        """The rows of a finished point, as [`text`] made them."""
        try:
            found = self._points.execute("SELECT digest, body FROM points WHERE key = ?", (key,)).fetchone()
        except sqlite3.OperationalError as error:
            raise UsageError(f"the store {self.folder} cannot be read: {error}") from error
        except sqlite3.DatabaseError:
            self._points.close()
            self._begin_anew()
            return None
        if found is None:
            return None
        digest, body = found
        if not isinstance(body, bytes) or hashlib.sha256(body).digest() != digest:
            self.damaged.append(key)
            return None
        return body

    def put(self, key: str, body: bytes) -> None:
        """Keeps the rows, whole or not at all."""
        entry = (key, hashlib.sha256(body).digest(), body, time.time_ns())
        try:
            self._points.execute("INSERT OR REPLACE INTO points VALUES (?, ?, ?, ?)", entry)
        except sqlite3.DatabaseError as error:
            raise UsageError(f"the store {self.folder} cannot be written: {error}") from error


def database(folder: Path) -> sqlite3.Connection:
    """The points that are in a folder, which several sweeps may use at once."""
    # Two that begin the log at once do not wait for each other: SQLite says that the database is locked.
    with open(folder / "points.lock", "ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        # Each statement is a transaction. It is appended to the log: a process that is killed loses nothing that it has kept.
        points = sqlite3.connect(folder / NAME, timeout=60, isolation_level=None, check_same_thread=False)
        try:
            points.execute("PRAGMA journal_mode = WAL")
            points.execute("PRAGMA synchronous = NORMAL")
            points.execute(f"CREATE TABLE IF NOT EXISTS points ({COLUMNS}) WITHOUT ROWID")
        except sqlite3.DatabaseError:
            points.close()
            raise
    return points


def text(rows: Rows) -> bytes:
    """Rows as the store keeps them."""
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"), default=plain).encode()


def canonical(value: object) -> bytes:
    """One text for equal values."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=plain).encode()


def plain(value: Any) -> Any:
    """A number of numpy as one of Python, a path as text."""
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if callable(getattr(value, "item", None)) and getattr(value, "shape", None) == ():
        return value.item()
    raise TypeError(f"{value!r} is neither a number, nor text, nor a list or mapping of these")


def key(function: str, arguments: Mapping[str, Any], host: str | None) -> str:
    """The name of a point: its function, its arguments with the bytes of files, the program, and the host if it matters."""
    given = {name: _content(value) for name, value in arguments.items()}
    return hashlib.sha256(canonical([function, given, tool(), _digest(_program.path()), host])).hexdigest()


def identity(call: Callable[..., Any]) -> str:
    """What decides a function's answers: its name; of the user's own the source, and the values and functions that it uses."""
    return _identity(call, set())


def _identity(call: Any, seen: set[int]) -> str:
    if isinstance(call, functools.partial):
        return f"{_identity(call.func, seen)} {[_used(it, seen) for it in (*call.args, *call.keywords.items())]}"
    name = f"{getattr(call, '__module__', '')}.{getattr(call, '__qualname__', '')}"
    if name.partition(".")[0] == "tollgate_perf" or inspect.isbuiltin(call) or id(call) in seen:
        return name
    seen.add(id(call))
    if not inspect.isfunction(call):
        # An object that can be called, or a method: what it holds decides, too.
        function, holder = (call.__func__, call.__self__) if inspect.ismethod(call) else (type(call).__call__, call)
        return f"{_identity(function, seen)} {[_used(it, seen) for it in sorted(getattr(holder, '__dict__', {}).items())]}"
    try:
        source = inspect.getsource(call)
    except (OSError, TypeError):
        source = repr((call.__code__.co_code, call.__code__.co_consts))
    names = inspect.getclosurevars(call)
    used = {name: _used(it, seen) for name, it in {**names.globals, **names.nonlocals}.items()}
    given = [_used(it, seen) for it in (*(call.__defaults__ or ()), *sorted((call.__kwdefaults__ or {}).items()))]
    return f"{name} {hashlib.sha256(canonical([source, used, given])).hexdigest()}"


def _used(value: Any, seen: set[int]) -> str:
    """A value that a function uses: a function by what decides its answers, a module or class by its name."""
    if inspect.isroutine(value) or isinstance(value, functools.partial):
        return _identity(value, seen)
    if inspect.ismodule(value) or inspect.isclass(value):
        return str(value.__name__)
    try:
        return canonical(_content(value)).decode()
    except (TypeError, ValueError):
        return type(value).__qualname__


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
    if isinstance(value, list | tuple):
        return [_content(it) for it in value]
    if isinstance(value, str | os.PathLike):
        # The name stays, for a word that happens to be that of a file too, as `kernel="full"`.
        path = str(value)
        return ["file", path, _digest(path)] if os.path.isfile(path) else path
    return value


def _digest(path: str) -> str:
    stat = os.stat(path)
    return _digest_of(path, stat.st_mtime_ns, stat.st_size)


@functools.lru_cache(maxsize=4096)
def _digest_of(path: str, _modified: int, _size: int) -> str:
    return hashlib.sha256(Path(path).read_bytes()).hexdigest()
