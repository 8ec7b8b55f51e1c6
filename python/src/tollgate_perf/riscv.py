"""The RISC-V machine in which every instruction is seen: exact figures, the same on every host."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from tollgate_perf._commands import Show, measure
from tollgate_perf._run import Run

MEMORY = "/dev/shm"
"""A folder in memory. On a disk, the file that each design makes and removes takes up to a millisecond."""

Core = str | os.PathLike[str] | Mapping[str, object]
"""A preset, a file that ends in .toml, or the tables of such a file with `base` for the preset that they change."""


def trap(
    *,
    core: Core | None = None,
    kernel: str | None = None,
    calls: str | int | Sequence[str | int] | None = None,
    iterations: int | None = None,
    engine: str | None = None,
    workload: str | os.PathLike[str] | None = None,
    every: int | Sequence[int] | None = None,
    set: int | Sequence[int] | None = None,  # noqa: A002, what the program calls it
    kernel_touch: int | Sequence[int] | None = None,
    traps: int | None = None,
    vlen: int | None = None,
    feature: str | Sequence[str] | None = None,
    progress: Show = None,
) -> Run:
    """The bill of a trap: what a system call costs, and where.

    `core` is a preset, a file, or a preset with changed keys. Without it the figure is in instructions.
    `vlen` is the length of a vector register in bits, for the kernels with vectors. `feature` compares what switching
    a feature costs by design: "all", or names of some.

    >>> slow = tollgate_perf.riscv.trap(core={"base": "rocket", "memory": {"latency": 300}}, iterations=20)
    >>> sorted(set(slow.phases()["asked.caches"]))
    ['cold', 'warm']
    """
    options = {
        **{"kernel": kernel, "calls": calls, "iterations": iterations, "engine": engine, "workload": workload},
        **{"every": every, "set": set, "kernel-touch": kernel_touch, "traps": traps, "vlen": vlen},
        **{"feature": feature},
    }
    return _on(core, ["riscv", "trap"], options, (), progress)


def icache(
    *programs: str | os.PathLike[str],
    isa: str | Sequence[str] | None = None,
    icache: str | Sequence[str] | None = None,
    policy: str | None = None,
    seed: int | None = None,
    count: Literal["fetch", "cycle"] | None = None,
    miss_latency: int | None = None,
    sweep: bool = False,
    alignments: bool = False,
    opt_level: Literal["0", "1", "2", "3", "s"] | None = None,
    max_instructions: int | None = None,
    pk: str | os.PathLike[str] | None = None,
    arg: str | Sequence[str] | None = None,
    progress: Show = None,
) -> Run:
    """What the C extension does for the instruction cache, on any program and cache.

    With `pk`, a riscv-pk, programs are static ones for Linux, with the arguments `arg`.

    >>> shapes = tollgate_perf.riscv.icache(icache=["16:1:32", "64:2:32"])
    >>> shapes.frame()[["asked.isa", "estimate"]]  # doctest: +SKIP
    """
    options = {
        **{"isa": isa, "icache": icache, "policy": policy, "seed": seed, "count": count, "sweep": sweep},
        **{"miss-latency": miss_latency, "alignments": alignments, "opt-level": opt_level},
        **{"max-instructions": max_instructions, "pk": pk},
    }
    # A comma is a part of an argument.
    given = [f"--arg={it}" for it in ([arg] if isinstance(arg, str) else arg or [])]
    return measure(["riscv", "icache", *given], options, [str(it) for it in programs], progress)


def pipeline(
    elf: str | os.PathLike[str] | None = None,
    *,
    core: Core | None = None,
    kernel: str | os.PathLike[str] | None = None,
    from_: str | None = None,
    around: Literal["trap", "interrupt", "branch"] | None = None,
    nth: int | None = None,
    count: int | None = None,
    isa: str | None = None,
    machine: str | None = None,
    pk: str | os.PathLike[str] | None = None,
    max_instructions: int | None = None,
    progress: Show = None,
) -> Run:
    """The stage diagram of a stretch of a run: hazards, traps, interrupts.

    >>> print(tollgate_perf.riscv.pipeline(around="trap", count=8).text())  # doctest: +SKIP
    """
    options = {
        **{"kernel": kernel, "from": from_, "around": around, "nth": nth, "count": count, "isa": isa},
        **{"pk": pk, "machine": machine, "max-instructions": max_instructions},
    }
    return _on(core, ["riscv", "pipeline"], options, [] if elf is None else [str(elf)], progress)


def core_toml(tables: Mapping[str, object]) -> str:
    """The text of a core's file."""
    return "".join(_lines(tables, ()))


def _lines(table: Mapping[str, object], above: tuple[str, ...]) -> list[str]:
    plain = {key: it for key, it in table.items() if not isinstance(it, Mapping)}
    lines = [f"[{'.'.join(above)}]\n"] if above and plain else []
    lines += [f"{key} = {_value(it)}\n" for key, it in plain.items()]
    for key, it in table.items():
        if isinstance(it, Mapping):
            lines += _lines(it, (*above, key))
    return lines


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    text = str(value)
    if not text.isprintable() or "'" in text:
        raise ValueError(f"a core's file cannot hold {text!r}")
    return f"'{text}'"


def _on(core: Core | None, command: Sequence[str], options: Mapping[str, object], values: Sequence[str], progress: Show) -> Run:
    if not isinstance(core, Mapping):
        return measure(command, {**options, "core": core}, values, progress)
    with tempfile.TemporaryDirectory(prefix="tollgate-", dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as folder:
        # The program's errors contain the file's name.
        path = Path(folder) / "core.toml"
        path.write_text(core_toml(core))
        return measure(command, {**options, "core": path}, values, progress)
