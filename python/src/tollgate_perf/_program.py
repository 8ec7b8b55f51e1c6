"""The program: where it is, how it is called, and how it ends."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import json
import math
import os
import re
import select
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tollgate_perf._errors import INSTALL, Error, NoProgram, UsageError

Progress = Callable[[float, str], None]
"""Receives the finished share, from 0 to 1, and what is being measured."""

GRACE_S = 3.0
"""How long a child that was asked to end may take before it is killed."""
PROBE_S = 10.0
"""How long a program may take to say which it is."""
LOOK_S = 0.05
"""How often a child is looked at where the kernel does not say that it has ended."""


@dataclass(frozen=True)
class Limits:
    """What a sweep or a fleet asks of the calls that it makes."""

    timeout: float | None = None
    """How long a call may take, in seconds."""
    keep_open: tuple[int, ...] = ()
    """Descriptors that the child holds, too."""
    is_beside_others: bool = False
    """Whether other points are computed on this host at the same time, so that nothing here may measure it."""
    owner: str = ""
    """The sweep or the measurement of a fleet that it is for."""


NONE = Limits()
LIMITS: contextvars.ContextVar[Limits] = contextvars.ContextVar("limits", default=NONE)

MEASURES_HOST = ("run", "ring", "crossing", "fault", "exec")
"""The commands whose figures are those of this host."""

PARENT = "TOLLGATE_PARENT"
"""Names the process with which the program ends: a Python that is killed cannot end it."""

_LIVE: dict[subprocess.Popen[bytes], str] = {}
"""Each child with its owner."""
_STOPPED: set[str] = set()
"""Owners for which nothing more is started."""

_BAR = re.compile(r"(\d+) %\s*(.*)")
_SPINNER = re.compile(r"^[\u2800-\u28ff]\s+(.*)")
"""What the program does where it does not know how long that takes."""
_ESCAPE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@functools.cache
def path() -> str:
    """The program that belongs to this package."""
    given = os.environ.get("TOLLGATE_PROGRAM")
    if given:
        return given
    schemes = [None, f"{os.name}_user"]
    folders = [sysconfig.get_path("scripts", scheme) if scheme else sysconfig.get_path("scripts") for scheme in schemes]
    # `pip install --target` puts programs beside packages.
    folders.append(str(Path(__file__).resolve().parent.parent / "bin"))
    for folder in folders:
        program = Path(folder) / "tollgate"
        if program.is_file():
            check_ours(str(program))
            return str(program)
    raise NoProgram(f"the program 'tollgate' is not in {folders[0]}; {INSTALL}")


@functools.cache
def check_ours(program: str) -> None:
    """Raises if a program is another project's: the package of this name on PyPI installs the same names."""
    try:
        asked = subprocess.run([program, "protocol"], stdin=subprocess.DEVNULL, capture_output=True, timeout=PROBE_S)
        said = json.loads(asked.stdout)
    except (OSError, subprocess.TimeoutExpired, ValueError):
        said = None
    if not isinstance(said, dict) or not {"protocol", "commit", "probes"} <= said.keys():
        raise NoProgram(f"{program} is another project's program; 'pip uninstall tollgate' removes it; then {INSTALL}")


@functools.cache
def version() -> str:
    """What the program says of itself."""
    return call(["--version"], progress=False).stdout.decode().strip()


@dataclass(frozen=True)
class Answer:
    """What a child printed, and its exit status."""

    stdout: bytes
    stderr: str
    status: int

    def sentence(self) -> str:
        """Why it failed, as the program says it."""
        lines = [line.strip() for line in self.stderr.splitlines() if line.strip()]
        for start in ("error: ", "tollgate: "):
            found = [line.removeprefix(start) for line in lines if line.startswith(start)]
            if found:
                tips = [line for line in lines if line.startswith("tip: ")] if start == "error: " else []
                return "; ".join(found + tips)
        if self.status < 0:
            return f"the program was ended by signal {-self.status}"
        return lines[-1] if lines else f"the program ended with status {self.status} and no message"

    def check(self) -> Answer:
        """Raises unless the program did what it was asked for."""
        if self.status != 0:
            check_ours(path())
        if self.status == 2:
            raise UsageError(self.sentence())
        if self.status != 0:
            raise Error(self.sentence())
        return self


def call(
    args: Sequence[str],
    *,
    progress: bool | Progress | None = None,
    output: bool = True,
) -> Answer:
    """Runs the program to its end. However this function is left, no process stays behind.

    Without `output` its standard output is that of this process.
    """
    limits = LIMITS.get()
    if limits.is_beside_others and args[0] in MEASURES_HOST:
        raise UsageError(f"'tollgate {args[0]}' measures the host while other points run on it: give the sweep on_host=True")
    show = shown(progress)
    reading, writing = os.openpty() if show else os.pipe()
    heard = Heard(show)
    environment = {**os.environ, PARENT: str(os.getpid()), **({"TERM": "xterm"} if show else {})}
    try:
        with _start(args, writing, limits.keep_open, output, environment) as child:
            _LIVE[child] = limits.owner
            try:
                os.close(writing)
                writing = -1
                if is_stopped(limits.owner):
                    raise Error("it was interrupted")
                stdout = _read(child, reading, heard, limits.timeout)
            except subprocess.TimeoutExpired:
                _end(child)
                raise Error(f"it did not end within {limits.timeout:g} s and was stopped") from None
            except BaseException:
                _end(child)
                raise
            finally:
                del _LIVE[child]
    finally:
        if writing >= 0:
            os.close(writing)
        os.close(reading)
        if show:
            show(1.0, "")
    return Answer(stdout, heard.text(), child.returncode)


def _start(
    args: Sequence[str], stderr: int, keep_open: Sequence[int], output: bool, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    try:
        return subprocess.Popen(
            [path(), *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if output else None,
            stderr=stderr,
            pass_fds=tuple(keep_open),
            env=environment,
            # Ctrl-C in a terminal reaches this process only, which then ends the child itself.
            start_new_session=output,
        )
    except OSError as error:
        raise NoProgram(f"cannot start {path()}: {error.strerror}") from error


def _read(child: subprocess.Popen[bytes], stderr: int, heard: Heard, timeout: float | None) -> bytes:
    """Reads what the child prints, and waits for it. All in one thread: to start another one takes as long as a short call."""
    limit = None if timeout is None else time.monotonic() + timeout
    stdout = child.stdout.fileno() if child.stdout else -1
    try:
        ended = os.pidfd_open(child.pid)
    except (AttributeError, OSError):  # Linux before 5.3.
        ended = -1
    poll = select.poll()
    waits = {it for it in (stdout, ended) if it >= 0}
    for it in (*waits, stderr):
        poll.register(it, select.POLLIN)
    said: list[bytes] = []
    try:
        # A process that outlives the program may hold standard error open.
        while waits or child.poll() is None:
            left = math.inf if limit is None else limit - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(child.args, timeout or 0.0)
            for it, _ in poll.poll(_milliseconds(left if ended >= 0 else min(left, LOOK_S))):
                if it == ended:
                    poll.unregister(it)
                    waits.discard(it)
                    child.wait()
                    continue
                some = _some(it)
                if it == stdout:
                    said.append(some)
                else:
                    heard.hear(some)
                if not some:
                    poll.unregister(it)
                    waits.discard(it)
    finally:
        if ended >= 0:
            os.close(ended)
    grace = time.monotonic() + GRACE_S
    drain = select.poll()
    drain.register(stderr, select.POLLIN)
    while drain.poll(_milliseconds(max(0.0, grace - time.monotonic()))) and (some := _some(stderr)):
        heard.hear(some)
    return b"".join(said)


def _milliseconds(seconds: float) -> float | None:
    """A time as `poll` takes it."""
    return None if seconds == math.inf else 1000 * seconds


def _some(descriptor: int) -> bytes:
    """What there is to read; nothing at the end."""
    try:
        return os.read(descriptor, 65536)
    except OSError:  # How the end of a terminal reads.
        return b""


def _end(child: subprocess.Popen[bytes]) -> None:
    """The first signal stops it after the batch in hand, the second at once, and both take its own children along."""
    for ask in (child.terminate, child.terminate, child.kill):
        ask()
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(GRACE_S if ask == child.kill else GRACE_S / 10)
            return


def stop(owner: str) -> None:
    """Ends what other threads have started for an owner: their calls return with an error, as do all later ones."""
    _STOPPED.add(owner)
    for child in [it for it, whose in list(_LIVE.items()) if whose == owner]:
        _end(child)


def is_stopped(owner: str) -> bool:
    """Whether nothing more is started for an owner."""
    return owner in _STOPPED


class Heard:
    """Standard error of a child: the bar goes to `show`, everything else is kept."""

    def __init__(self, show: Progress | None) -> None:
        """Nothing yet."""
        self._show = show
        self._kept: list[bytes] = []
        self._rest = b""
        self._share = 0.0

    def hear(self, some: bytes) -> None:
        """Takes what was read."""
        if not self._show:
            self._kept.append(some)
            return
        *lines, self._rest = re.split(rb"[\r\n]+", self._rest + some)
        for line in lines:
            plain = _ESCAPE.sub("", line.decode(errors="replace"))
            bar, spinner = _BAR.search(plain), _SPINNER.match(plain)
            if bar:
                self._share = int(bar[1]) / 100
                self._show(self._share, bar[2].strip())
            elif spinner:
                self._show(self._share, spinner[1].strip())
            else:
                self._kept.append(line + b"\n")

    def text(self) -> str:
        """What was kept, without the colors of a terminal."""
        return _ESCAPE.sub("", (b"".join(self._kept) + self._rest).decode(errors="replace"))


def shown(progress: bool | Progress | None) -> Progress | None:
    """What receives progress: by default a line, in terminals and notebooks."""
    if callable(progress):
        return progress
    if progress is None:
        progress = sys.stderr.isatty() or "ipykernel" in sys.modules
    return _line() if progress else None


def _line() -> Progress:
    """One line that is written over: a terminal and a notebook both understand that."""
    width = 0

    def show(share: float, what: str) -> None:
        nonlocal width
        text = f"{share:4.0%} {what}" if share < 1 else ""
        sys.stderr.write("\r" + text.ljust(width) + ("\r" if not text else ""))
        sys.stderr.flush()
        width = len(text)

    return show
