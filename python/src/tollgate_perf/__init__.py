"""What it costs to cross an execution boundary: measured, explained, swept over designs and fleets.

Measure this host: `run`, `ring`, `crossing`, `fault_kinds`, `exec`. The RISC-V machine, in which every cycle is known:
`riscv.trap`, `riscv.icache`, `riscv.pipeline`. Each gives a `Run` with `frame()`, `phases()`, `host`, `warnings` and `save()`;
in a notebook it shows its report. `load` reads a saved one, `compare` tells two apart.

>>> run = tollgate_perf.run("syscall/getppid", quick=True)
>>> run.results[0].status
'measured'
>>> tollgate_perf.riscv.trap(core="rocket", iterations=20).phases()["evidence"].unique().tolist()
['simulated']

Many designs: `sweep` computes every point of a space once (`grid`, `random`, `latin`), also on a `cluster`. Many
machines: `fleet` measures once on each host of a Dask cluster, and tells which of them differ.

What goes wrong is an `Error` with the program's sentence: a `UsageError` if an argument is wrong, `Failed` (with the run) if rows
failed, `NoProgram` and `MissingPackage` if something is not installed.

>>> tollgate_perf.riscv.trap(core="rockett")
Traceback (most recent call last):
tollgate_perf._errors.UsageError: ...the nearest is 'rocket'...
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tollgate_perf import records, riscv
    from tollgate_perf._cluster import cluster
    from tollgate_perf._commands import compare, crossing, exec, fault_kinds, load, ring, run  # noqa: A004
    from tollgate_perf._errors import Error, MissingPackage, NoProgram, UsageError
    from tollgate_perf._run import Comparison, Failed, Run
    from tollgate_perf._space import grid, latin, random
    from tollgate_perf.fleets import fleet
    from tollgate_perf.sweeps import Sweep, SweepWarning, sweep

# Where each name is: importing the package loads none of it.
_PLACES = {
    "_cluster": ("cluster",),
    "_commands": ("compare", "crossing", "exec", "fault_kinds", "load", "ring", "run"),
    "_errors": ("Error", "MissingPackage", "NoProgram", "UsageError"),
    "_run": ("Comparison", "Failed", "Run"),
    "_space": ("grid", "latin", "random"),
    "fleets": ("fleet",),
    "records": (),
    "riscv": (),
    "sweeps": ("Sweep", "SweepWarning", "sweep"),
}
_WHERE = {name: module for module, names in _PLACES.items() for name in names}

__all__ = [  # noqa: RUF022, in the order in which one meets them
    "run",
    "ring",
    "crossing",
    "fault_kinds",
    "exec",
    "riscv",
    "load",
    "compare",
    "sweep",
    "grid",
    "random",
    "latin",
    "cluster",
    "fleet",
    "Run",
    "Comparison",
    "Sweep",
    "SweepWarning",
    "records",
    "Error",
    "UsageError",
    "Failed",
    "NoProgram",
    "MissingPackage",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(importlib.import_module(f"tollgate_perf.{_WHERE[name]}"), name)
    if name in _PLACES:
        return importlib.import_module(f"tollgate_perf.{name}")
    raise AttributeError(f"module 'tollgate_perf' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
