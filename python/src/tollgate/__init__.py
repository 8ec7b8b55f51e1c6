"""What it costs to cross an execution boundary: measured, explained, swept over designs and fleets."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tollgate import records, riscv
    from tollgate._commands import compare, crossing, exec, fault_kinds, load, ring, run  # noqa: A004
    from tollgate._errors import Error, Failed, MissingPackage, NoProgram, UsageError
    from tollgate._run import Comparison, Run
    from tollgate._space import grid, latin, random
    from tollgate.fleets import fleet
    from tollgate.sweeps import Sweep, SweepWarning, sweep

# Where each name is: importing the package loads none of it.
_PLACES = {
    "_commands": ("compare", "crossing", "exec", "fault_kinds", "load", "ring", "run"),
    "_errors": ("Error", "Failed", "MissingPackage", "NoProgram", "UsageError"),
    "_run": ("Comparison", "Run"),
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
        return getattr(importlib.import_module(f"tollgate.{_WHERE[name]}"), name)
    if name in _PLACES:
        return importlib.import_module(f"tollgate.{name}")
    raise AttributeError(f"module 'tollgate' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
