"""Sweeps: every point of a design space, computed once, on this machine or on a cluster."""

from __future__ import annotations

import collections
import concurrent.futures
import contextlib
import html
import importlib.util
import json
import os
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tollgate_perf import _commands, _host, _program, _space, _store, _work, fleets, riscv
from tollgate_perf._errors import MissingPackage, UsageError
from tollgate_perf._run import data_folder, frame
from tollgate_perf._space import Point, Space
from tollgate_perf._work import Lane, Work

if TYPE_CHECKING:
    import distributed
    import matplotlib.axes
    import pandas

TIMEOUT_S = 600.0
"""How long a point may take."""

ON_HOST = (_commands.run, _commands.ring, _commands.crossing, _commands.fault_kinds, _commands.exec)
"""Functions that measure the host: one at a time on each."""
BY_NAME: dict[str, Callable[..., Any]] = {
    **{it.__name__: it for it in ON_HOST},
    **{f"riscv.{it.__name__}": it for it in (riscv.trap, riscv.icache, riscv.pipeline)},
}


class SweepWarning(UserWarning):
    """Something about a sweep that its frame does not show."""


@dataclass(frozen=True, repr=False)
class Sweep:
    """The points of a sweep, and what became of each. In a notebook it shows its frame."""

    points: list[Point]
    outcomes: list[tuple[bytes | None, str | None]]
    """For each point its rows as JSON, or why it has none."""
    computed: int
    """How many points were computed now; the others were in the store."""
    busy_s: float
    """How long the workers computed, together."""

    @property
    def failures(self) -> list[tuple[Point, str]]:
        """Points without a result, with the reason."""
        return [(it, why) for it, (_, why) in zip(self.points, self.outcomes, strict=True) if why is not None]

    def frame(self) -> pandas.DataFrame:
        """One row for each result of a point: the point's keys, then the figure and its phases. A failed point is a row, too."""
        rows = []
        for point, (found, why) in zip(self.points, self.outcomes, strict=True):
            for row in json.loads(found) if found is not None else [{"status": "failed", "reason": why}]:
                rows.append(point | row)
        return frame(rows)

    def __repr__(self) -> str:
        """How many points there are, and what became of them."""
        return f"<tollgate_perf.Sweep: {self.summary()}>"

    def _repr_html_(self) -> str:
        try:
            table = str(self.frame()._repr_html_())  # type: ignore[operator]
        except MissingPackage:
            table = ""
        reasons = collections.Counter(why for _, why in self.failures)
        lines = [self.summary(), *(f"{count:,} failed: {why}" for why, count in reasons.most_common(5))]
        return "".join(f"<p>{html.escape(it)}</p>" for it in lines) + table

    def summary(self) -> str:
        """How many points were computed, taken from the store, and failed."""
        total, failed = len(self.points), len(self.failures)
        kept = total - self.computed - failed
        noun = "point" if total == 1 else "points"
        return f"{total:,} {noun}: {self.computed:,} computed, {kept:,} from the store, {failed:,} failed"

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Writes the frame: as Parquet, or as CSV if the name ends so.

        >>> tollgate_perf.sweep({"core": "rocket", "iterations": [20, 40]}, store="designs").save("designs.parquet")
        PosixPath('designs.parquet')
        """
        target = Path(path)
        if target.suffix == ".csv":
            self.frame().to_csv(target, index=False)
        else:
            made = self.frame()
            for name in made.columns:
                if made[name].dropna().map(type).nunique() > 1:
                    made[name] = made[name].map(lambda it: it if it is None else str(it))
            made.to_parquet(target, index=False)
        return target

    def main_effects(self, y: str = "estimate", *, where: Mapping[str, Any] | None = None) -> matplotlib.axes.Axes:
        """For each axis the mean of `y` over its values.

        `where` chooses rows by their columns: a bill has a warm and a cold one, whose mean says little.

        >>> sweep.main_effects(where={"asked.caches": "cold"}).figure.savefig("effects.svg")  # doctest: +SKIP
        """
        from tollgate_perf import _plots

        return _plots.main_effects(_plots.chosen(self.frame(), where), list(self.points[0]), y)

    def heat_map(self, x: str, y: str, z: str = "estimate", *, where: Mapping[str, Any] | None = None) -> matplotlib.axes.Axes:
        """The mean of `z` over two axes, of the rows that `where` chooses.

        >>> sweep.heat_map("core.memory.latency", "core.l1i.geometry")  # doctest: +SKIP
        """
        from tollgate_perf import _plots

        return _plots.heat_map(_plots.chosen(self.frame(), where), x, y, z)

    def pareto(self, x: str, y: str, *, where: Mapping[str, Any] | None = None) -> matplotlib.axes.Axes:
        """All points that `where` chooses, and those that no other one undercuts in both `x` and `y`.

        >>> sweep.pareto("core.memory.latency", "estimate")  # doctest: +SKIP
        """
        from tollgate_perf import _plots

        return _plots.pareto(_plots.chosen(self.frame(), where), x, y)


def sweep(
    space: Space | _space.Axes | Iterable[Mapping[str, Any]],
    run: Callable[..., Any] | str = riscv.trap,
    client: distributed.Client | str | None = None,
    *,
    store: str | os.PathLike[str] | None = None,
    jobs: int | None = None,
    timeout: float = TIMEOUT_S,
    on_host: bool | None = None,
    yes: bool = False,
    progress: bool | None = None,
) -> Sweep:
    """Computes `run` at every point of the space that the store does not have.

    A mapping is a grid; `tollgate_perf.random` and `tollgate_perf.latin` draw points; a list is its points. `run` is a function
    of this package, or one that takes the keys of a point and returns a `Run`, a mapping or a number. What a function takes as
    `*programs` is the key `programs`, with a list for several at once. `client` is that of a Dask cluster, or the address of
    its scheduler. `timeout` is that of one point in seconds.

    Functions that measure the host run one at a time, with a client once on each of its hosts; all others side by side.
    `on_host=True` says that a function of yours measures the host.

    >>> space = {"core": "rocket", "core.memory.latency": [20, 60, 150], "iterations": 20}
    >>> sweep = tollgate_perf.sweep(space, store="designs")
    >>> sweep
    <tollgate_perf.Sweep: 3 points: 3 computed, 0 from the store, 0 failed>
    >>> sweep.frame().groupby("core.memory.latency")["estimate"].max().is_monotonic_increasing
    True
    """
    call = BY_NAME.get(run) if isinstance(run, str) else run
    if not callable(call):
        raise UsageError(f"there is no function {run!r} (there are: {', '.join(BY_NAME)})")
    if jobs is not None and jobs < 1:
        raise UsageError(f"{jobs} points at once compute nothing: give at least 1, or leave it out for all CPUs")
    if not timeout > 0:
        raise UsageError(f"a point cannot end in {timeout} s: give a time above 0")
    asked = _space.of(space)
    if len(asked) > _space.MANY and not yes:
        raise UsageError(f"the space has {len(asked):,} points: confirm with yes=True (--yes on the command line)")
    known = _space.keywords(call)
    if known is not None:
        _space.check(asked, known)
    points = list(asked)
    measures = call in ON_HOST if on_host is None else on_host
    with contextlib.ExitStack() as stack:
        kept = stack.enter_context(contextlib.closing(_store.Store(store if store is not None else default_store())))
        connected = stack.enter_context(fleets.connect(client)) if isinstance(client, str) else client
        lanes = _local(jobs, measures) if connected is None else _cluster(connected, measures)
        for lane in lanes:
            stack.callback(lane.close)
        if len(lanes) > 1 or (lanes and lanes[0].host):
            points = [{"host": lane.name, **point} for lane in lanes for point in points]
        work = Work(call, points, kept, lanes, timeout)

        def stop() -> None:
            _program.stop(work.owner)
            if connected is not None:
                fleets.stop(connected, work.owner)

        try:
            work.run(_program.shown(progress), lambda: _wrong(connected), stop)
        finally:
            if kept.damaged:
                text = f"damaged entries of the store were computed again ({len(kept.damaged):,}), as {kept.damaged[0]}"
                warnings.warn(text, SweepWarning, stacklevel=2)
    return Sweep(points, [work.outcomes[number] for number in range(len(points))], work.computed, work.busy_s)


def _wrong(client: distributed.Client | None) -> str | None:
    """Why nothing can be computed at present."""
    if client is None:
        return None
    if client.status != "running":
        return _work.GONE
    try:
        return None if client.scheduler_info(n_workers=1)["workers"] else _work.DESERTED
    except (OSError, TimeoutError):
        return _work.GONE


def check_target(path: str | os.PathLike[str]) -> None:
    """Refuses a file that `Sweep.save` could not write, before hours are spent on it."""
    target = Path(path)
    if target.suffix not in (".csv", ".parquet"):
        raise UsageError(f"{target} is neither Parquet nor CSV: let its name end in .parquet or .csv")
    if target.is_dir() or not os.access(target if target.exists() else target.parent, os.W_OK):
        raise UsageError(f"{target} cannot be written: name a file in a folder of yours")
    frame([])
    if target.suffix == ".parquet" and not importlib.util.find_spec("pyarrow"):
        raise MissingPackage("pyarrow", "pandas")


def default_store() -> Path:
    """The store that is used if none is named."""
    return data_folder() / "sweeps"


def _local(jobs: int | None, measures: bool) -> list[Lane]:
    host = str(_host.facts()["host"]) if measures else None
    width = 1 if host else jobs or len(os.sched_getaffinity(0))
    pool = concurrent.futures.ThreadPoolExecutor(width)
    name = os.uname().nodename if host else ""
    return [Lane(pool.submit, width, name, host, lambda: pool.shutdown(cancel_futures=True))]


def _cluster(client: distributed.Client, measures: bool) -> list[Lane]:
    import distributed

    hosts = fleets.hosts(client)
    fleets.check(hosts)
    if not measures:
        width = 2 * sum(client.nthreads().values())

        def submit(*args: Any) -> Any:
            return client.submit(*args, pure=False, retries=3)

        return [Lane(submit, width, release=distributed.Future.release)]

    def on(addresses: list[str]) -> Callable[..., Any]:
        return lambda *args: client.submit(*args, pure=False, workers=addresses, retries=1)

    return [Lane(on(it.workers), 1, it.name, it.id, release=distributed.Future.release) for it in hosts]
