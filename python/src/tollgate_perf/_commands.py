"""The program's commands as functions. A test compares the keywords with the program's own help."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from tollgate_perf import _program
from tollgate_perf._errors import Error, UsageError
from tollgate_perf._program import Progress
from tollgate_perf._run import Comparison, Failed, Run, read_run

Clock = Literal["auto", "tsc", "os"]
Show = bool | Progress | None
"""Whether progress is shown, or what receives it; by default in terminals and notebooks."""


def run(
    *patterns: str,
    quick: bool = False,
    thorough: bool = False,
    cpu: int | None = None,
    peer_cpu: int | None = None,
    seed: int | None = None,
    clock: Clock | None = None,
    progress: Show = None,
) -> Run:
    """Measures the probes of these names, families or patterns; the whole ladder when none is given.

    `quick` takes seconds instead of a minute, `thorough` minutes. `cpu` is the measured CPU, `peer_cpu` that of the other side.
    `seed` decides the order of the batches. `tollgate list` on the command line names all probes.

    >>> run = tollgate_perf.run("syscall/getppid", "syscall/read", quick=True)
    >>> list(run.frame()["probe"])
    ['syscall/getppid', 'syscall/read']
    """
    options = {"quick": quick, "thorough": thorough, "cpu": cpu, "peer-cpu": peer_cpu, "seed": seed, "clock": clock}
    return measure(["run"], options, patterns, progress)


def ring(
    *,
    procs: int | Sequence[int] | None = None,
    size: int | str | Sequence[int | str] | None = None,
    medium: Literal["pipe", "futex", "eventfd", "socketpair"] | None = None,
    tasks: Literal["process", "thread"] | None = None,
    placement: Literal["one-cpu", "siblings", "spread"] | None = None,
    walk: Literal["sum", "random", "write"] | None = None,
    pages: Literal["4k", "huge", "random"] | None = None,
    watchdog: int | None = None,
    quick: bool = False,
    thorough: bool = False,
    cpu: int | None = None,
    peer_cpu: int | None = None,
    seed: int | None = None,
    clock: Clock | None = None,
    progress: Show = None,
) -> Run:
    """Context switches around a ring of tasks, over sizes and numbers of tasks, each taken apart.

    A size is what each task touches, in bytes or as text (`"64k"`). Lists give a table of all combinations.

    >>> run = tollgate_perf.ring(procs=[2, 4], size=0, quick=True)
    >>> list(run.frame()["asked.procs"])
    [2, 4]
    """
    options = {
        **{"procs": procs, "size": size, "medium": medium, "tasks": tasks, "placement": placement, "walk": walk},
        **{"pages": pages, "watchdog": watchdog, "quick": quick, "thorough": thorough, "cpu": cpu},
        **{"peer-cpu": peer_cpu, "seed": seed, "clock": clock},
    }
    return measure(["ring"], options, (), progress)


def crossing(
    *,
    no_guest: bool = False,
    quick: bool = False,
    thorough: bool = False,
    cpu: int | None = None,
    peer_cpu: int | None = None,
    seed: int | None = None,
    clock: Clock | None = None,
    progress: Show = None,
) -> Run:
    """The crossing between user and kernel, taken apart: system call, page fault, signal.

    `no_guest` leaves out the guest that separates the hardware's part.

    >>> bill = tollgate_perf.crossing(quick=True)
    >>> bill.phases()[["probe", "phase", "ns"]]  # doctest: +SKIP
    """
    options = {"no-guest": no_guest, "quick": quick, "thorough": thorough, "cpu": cpu, "peer-cpu": peer_cpu}
    return measure(["crossing"], options | {"seed": seed, "clock": clock}, (), progress)


def fault_kinds(
    *,
    quick: bool = False,
    thorough: bool = False,
    cpu: int | None = None,
    peer_cpu: int | None = None,
    seed: int | None = None,
    clock: Clock | None = None,
    progress: Show = None,
) -> Run:
    """What each kind of page fault costs, with its proof, and the bill of a major one.

    >>> kinds = tollgate_perf.fault_kinds(quick=True)
    >>> kinds.frame()[["probe", "estimate", "low", "high"]]  # doctest: +SKIP
    """
    options = {"quick": quick, "thorough": thorough, "cpu": cpu, "peer-cpu": peer_cpu, "seed": seed, "clock": clock}
    return measure(["fault", "kinds"], options, (), progress)


def exec(  # noqa: A001, what the program calls it
    command: Sequence[str],
    *,
    count: Literal["auto", "bpf", "perf", "ptrace", "none"] | None = None,
    price: Literal["now", "saved", "none"] | None = None,
    pid: int | None = None,
    for_: str | None = None,
    repeat: int | None = None,
    stacks: bool = False,
) -> Run:
    """What a program pays at boundaries, as one bill. Its output goes where that of this process goes.

    A status of the program other than 0 raises nothing; it is in the record.

    >>> bill = tollgate_perf.exec(["true"], count="none", price="none")
    >>> bill.results[0].probe
    'exec/total'
    """
    options = {"count": count, "price": price, "pid": pid, "for": for_, "repeat": repeat, "stacks": stacks}
    with tempfile.TemporaryDirectory(prefix="tollgate-") as folder:
        out = Path(folder) / "run.json"
        args = ["exec", *flags(options), "--json", "--no-save", "--out", str(out)]
        answer = _program.call([*args, *(["--", *command] if command else [])], progress=False, output=False)
        if not out.exists() or not out.stat().st_size:
            raise (UsageError if answer.status == 2 else Error)(answer.sentence())
        return read_run(out.read_bytes())


def load(path: str | os.PathLike[str]) -> Run:
    """A saved run: the path of a record, an id or the beginning of one, or `latest`.

    >>> path = tollgate_perf.riscv.trap(core="rocket", iterations=20).save("trap.json")
    >>> tollgate_perf.load("trap.json")
    <tollgate_perf.Run 'riscv trap --iterations=20 --core=rocket ...: 2 rows>
    """
    return read_run(_program.call(["show", str(path), "--json"], progress=False).check().stdout)


Runs = Run | str | os.PathLike[str] | Sequence["Run | str | os.PathLike[str]"]
"""A run, the name of a saved one, or several of them."""


def compare(a: Runs, b: Runs, *, by_time: bool = False) -> Comparison:
    """Compares b with a, either of which may be several runs: better, worse, same, or too noisy to tell.

    >>> before, after = (tollgate_perf.riscv.trap(core=core, iterations=20) for core in ("rocket", "cva6"))
    >>> tollgate_perf.compare(before, after).frame()[["probe", "verdict", "ratio"]]  # doctest: +SKIP
    """
    with tempfile.TemporaryDirectory(prefix="tollgate-") as folder:

        def names(side: str, runs: Runs) -> list[str]:
            several = [runs] if isinstance(runs, Run | str | os.PathLike) else list(runs)
            return [
                str(it.save(Path(folder) / f"{side}{number}.json")) if isinstance(it, Run) else str(it)
                for number, it in enumerate(several)
            ]

        args = ["compare", *names("a", a), "--with", *names("b", b), *flags({"by-time": by_time})]
        document = _program.call([*args, "--json"], progress=False).check().stdout
        text = _program.call(args, progress=False).check().stdout
    return Comparison(json.loads(document), text.decode())


def flags(options: Mapping[str, object]) -> list[str]:
    """The options that were given, as words of a command line."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        words.append(f"--{name}")
        if value is True:
            continue
        several = not isinstance(value, str) and isinstance(value, Sequence)
        words[-1] += "=" + (",".join(map(str, value)) if several else str(value))  # type: ignore[call-overload]
    return words


UNFINISHED = (1, 129, 130, 143)
"""Statuses with a record: something failed, or SIGHUP, SIGINT or SIGTERM ended it."""


def measure(
    command: Sequence[str],
    options: Mapping[str, object],
    values: Sequence[str] = (),
    progress: Show = None,
    **how: Any,
) -> Run:
    """Runs a command that measures, and reads its record."""
    after = ["--", *values] if values else []
    answer = _program.call([*command, *flags(options), "--json", "--no-save", *after], progress=progress, **how)
    if answer.status in UNFINISHED and answer.stdout:
        raise Failed(answer.sentence(), read_run(answer.stdout))
    return read_run(answer.check().stdout)
