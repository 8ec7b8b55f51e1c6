"""`python -m tollgate_perf sweep spec.toml`: a sweep without code; every other command is the program's."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from typing import Any

from tollgate_perf import _program, _space
from tollgate_perf._errors import Error, UsageError

KEYS: dict[str, tuple[Any, str]] = {
    "run": (str, "the name of a function"),
    "space": (dict, "a table of axes"),
    "points": (list, "an array of tables"),
    "method": (str, "grid, random or latin"),
    "count": (int, "a whole number"),
    "seed": (int, "a whole number"),
    "store": (str, "a folder"),
    "timeout": ((int, float), "seconds"),
}
"""What a sweep's file may say: each key with its type, and with that in words."""


def spec(path: str) -> dict[str, Any]:
    """What a sweep's file says."""
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        with open(path, "rb") as file:
            found: dict[str, Any] = tomllib.load(file)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path}: {error}") from error
    unknown = sorted(found.keys() - KEYS.keys())
    if unknown:
        raise UsageError(f"{path}: unknown key '{unknown[0]}' (there are: {', '.join(sorted(KEYS))})")
    for key, it in found.items():
        kind, words = KEYS[key]
        if not isinstance(it, kind) or isinstance(it, bool):
            raise UsageError(f"{path}: '{key}' takes {words}, not {it!r}")
    if ("space" in found) == ("points" in found):
        raise UsageError(f"{path}: give either 'space' or 'points'")
    return found


def space(found: dict[str, Any]) -> _space.Space:
    """The space of a sweep's file."""
    if "points" in found:
        return _space.points(found["points"])
    axes = {key: _axis(it) for key, it in _flat(found["space"], "").items()}
    method = found.get("method", "grid")
    if method == "grid":
        return _space.grid(axes)
    methods = {"random": _space.random, "latin": _space.latin}
    if method not in methods or "count" not in found:
        raise UsageError("'method' is grid, random or latin; the last two need 'count', and take 'seed'")
    return methods[method](axes, found["count"], found.get("seed", 1))


def _flat(table: dict[str, Any], above: str) -> dict[str, Any]:
    """Tables within tables as keys with dots, as `core.memory.latency`; a range has `low` and `high`."""
    out: dict[str, Any] = {}
    for key, it in table.items():
        if isinstance(it, dict) and set(it) != {"low", "high"}:
            out |= _flat(it, f"{above}{key}.")
        else:
            # TOML cannot give `core` a name and tables at once: its name is `core.base`.
            out["core" if f"{above}{key}" == "core.base" else f"{above}{key}"] = it
    return out


def _axis(values: Any) -> Any:
    return (values["low"], values["high"]) if isinstance(values, dict) else values


def sweep(args: argparse.Namespace) -> int:
    """Computes the sweep, and writes its frame."""
    from tollgate_perf import sweeps

    found = spec(args.spec)
    sweeps.check_target(args.out)
    done = sweeps.sweep(
        space(found),
        found.get("run", "riscv.trap"),
        args.scheduler,
        store=args.store or found.get("store"),
        jobs=args.jobs,
        timeout=found.get("timeout", sweeps.TIMEOUT_S),
        yes=args.yes,
    )
    done.save(args.out)
    failed = done.failures
    print(f"{done.summary()}: {args.out}")
    if failed:
        print(f"tollgate: {failed[0][0]}: {failed[0][1]}", file=sys.stderr)
    return 1 if failed else 0


def main() -> int:
    """Parses the command line and does what it says."""
    if sys.argv[1:2] != ["sweep"]:
        os.execv(_program.path(), [_program.path(), *sys.argv[1:]])
    parser = argparse.ArgumentParser(prog="python -m tollgate_perf sweep", description="Compute the points of a design space")
    parser.add_argument("spec", help="the file that says which, as docs/howto/sweep.md")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="a Dask scheduler [default: processes of this machine]")
    parser.add_argument("--store", metavar="DIR", help="where finished points are kept")
    parser.add_argument("--jobs", metavar="N", type=int, help="points at once without a scheduler [default: all CPUs]")
    parser.add_argument("--out", metavar="FILE", default="sweep.parquet", help="the frame, .parquet or .csv")
    parser.add_argument("--yes", action="store_true", help="compute more than 100,000 points")
    warnings.formatwarning = lambda message, *_, **__: f"tollgate: {message}\n"
    try:
        return sweep(parser.parse_args(sys.argv[2:]))
    except UsageError as error:
        print(f"tollgate: {error}", file=sys.stderr)
        return 2
    except Error as error:
        print(f"tollgate: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tollgate: interrupted; what was finished is in the store", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
