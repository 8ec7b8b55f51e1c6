"""Fleets: the same measurement once on each host of a cluster, one at a time on a host."""

from __future__ import annotations

import collections
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tollgate import _commands, _host, _program
from tollgate._errors import Error, MissingPackage
from tollgate._run import Run, frame
from tollgate._work import PATIENCE_S

if TYPE_CHECKING:
    import distributed
    import pandas

GONE_S = 15.0
"""How long a host may be without a worker."""


@dataclass(frozen=True)
class Host:
    """A host of a cluster."""

    id: str
    """Its machine and its boot."""
    name: str
    workers: list[str]
    tool: tuple[str, str] | None
    """The version and the commit of its program."""
    reason: str | None
    """Why nothing can be measured there."""


@dataclass(frozen=True)
class Measured:
    """What became of a host."""

    host: Host
    run: Run | None
    reason: str | None
    begun: float = 0.0
    """When the measurement held the host, in seconds since 1970."""
    ended: float = 0.0


@dataclass(frozen=True)
class Fleet:
    """The runs of all hosts."""

    hosts: list[Measured] = field(default_factory=list)

    @property
    def runs(self) -> list[Run]:
        """The runs of the hosts that were measured."""
        return [it.run for it in self.hosts if it.run is not None]

    @property
    def failures(self) -> dict[str, str]:
        """The hosts that were not measured, with the reason."""
        return {it.host.name: it.reason for it in self.hosts if it.reason is not None}

    def table(self) -> pandas.DataFrame:
        """One row a host: what it is, and what became of it."""
        rows = []
        for it in self.hosts:
            row: dict[str, Any] = {"host": it.host.name, "workers": len(it.host.workers), "reason": it.reason}
            if it.run is not None:
                facts = it.run.host
                row |= {"cpu": facts.cpu.model, "kernel": facts.kernel.release, "run": it.run.id}
            rows.append(row)
        return frame(rows)

    def frame(self) -> pandas.DataFrame:
        """One row a probe and host."""
        return frame([{"host": it.host.name, **row} for it in self.hosts if it.run for row in it.run.rows()])

    def save(self, folder: str | Path) -> Path:
        """Writes each host's record into a folder, which `tollgate fleet` reads."""
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        for run in self.runs:
            run.save(target / f"{run.id}.json")
        return target


class FleetClient:
    """A cluster whose hosts are measured."""

    def __init__(self, client: distributed.Client, *, allow_skew: bool = False) -> None:
        """Finds the hosts. Different programs are an error unless that is allowed."""
        self.client = client
        self.hosts = hosts(client)
        self.allow_skew = allow_skew

    def run(self, *patterns: str, call: Callable[..., Run] = _commands.run, timeout: float = 3600.0, **options: Any) -> Fleet:
        """Measures on every host, all hosts at once: `call(*patterns, **options)`."""
        usable = [it for it in self.hosts if it.reason is None]
        check_skew(usable, self.allow_skew)
        futures = {
            it.id: self.client.submit(
                _measure, call, patterns, options, it.id, timeout, pure=False, workers=it.workers, retries=1
            )
            for it in usable
        }
        return Fleet([self._one(it, futures.get(it.id), timeout) for it in self.hosts])

    def _one(self, host: Host, future: Any, timeout: float) -> Measured:
        if future is None:
            return Measured(host, None, host.reason)
        end, gone = time.monotonic() + PATIENCE_S + timeout, 0.0
        while not future.done() and time.monotonic() < end:
            if set(self.client.scheduler_info(n_workers=-1)["workers"]) & set(host.workers):
                gone = 0.0
            elif not gone:
                gone = time.monotonic()
            elif time.monotonic() - gone > GONE_S:
                future.cancel()
                return Measured(host, None, f"the host vanished: {', '.join(host.workers)} left the cluster")
            time.sleep(0.1)
        if not future.done():
            future.cancel()
            return Measured(host, None, "the measurement did not end")
        try:
            found = future.result()
        except Exception as error:
            return Measured(host, None, f"{type(error).__name__}: {error}".partition("\n")[0])
        run = Run(json.loads(found["document"])) if found["document"] else None
        return Measured(host, run, found["reason"], found["begun"], found["ended"])


def fleet(client: distributed.Client, *, allow_skew: bool = False) -> FleetClient:
    """The hosts of a cluster: several workers of one host count once."""
    return FleetClient(client, allow_skew=allow_skew)


def hosts(client: distributed.Client) -> list[Host]:
    """The hosts of a cluster, by machine and boot."""
    try:
        import cloudpickle
    except ImportError as error:
        raise MissingPackage("distributed", "dask") from error
    # A worker without the package gets the function itself.
    cloudpickle.register_pickle_by_value(_host)
    try:
        answers = client.run(_host.facts, on_error="return")
    finally:
        cloudpickle.unregister_pickle_by_value(_host)
    if not answers:
        raise Error("the cluster has no workers: start one with 'dask worker ADDRESS'")
    by_host: dict[str, list[tuple[str, dict[str, Any]]]] = collections.defaultdict(list)
    for address, answer in sorted(answers.items()):
        found = {"host": address, "name": address, "tool": None, "reason": str(answer)}
        found = answer if isinstance(answer, dict) else found
        by_host[str(found["host"])].append((address, found))
    return [_host_of(identity, workers) for identity, workers in by_host.items()]


def check(found: list[Host]) -> None:
    """Raises unless every host can take part, with the same program."""
    for it in found:
        if it.reason is not None:
            raise Error(f"{it.name}: {it.reason}")
    check_skew(found, False)


def check_skew(found: list[Host], allowed: bool) -> None:
    """Raises if programs differ."""
    tools: dict[tuple[str, str] | None, list[str]] = collections.defaultdict(list)
    for it in found:
        tools[it.tool].append(it.name)
    if len(tools) > 1 and not allowed:
        text = "; ".join(f"{'-'.join(tool or ())} on {', '.join(names[:3])}" for tool, names in tools.items())
        raise Error(f"the hosts have different programs: {text}. Install one version, or pass allow_skew=True")


def _host_of(identity: str, workers: list[tuple[str, dict[str, Any]]]) -> Host:
    first = next((it for _, it in workers if it["reason"] is None), workers[0][1])
    able = [address for address, it in workers if it["reason"] is None or first["reason"] is not None]
    tool = tuple(first["tool"]) if first["tool"] else None
    return Host(identity, str(first["name"]), able, tool, first["reason"])


def _measure(
    call: Callable[..., Run], patterns: tuple[str, ...], options: dict[str, Any], host: str, timeout: float
) -> dict[str, Any]:
    """Runs on a worker: measures alone on its host."""
    begun = ended = 0.0
    try:
        with _host.alone(host, PATIENCE_S) as descriptor:
            _program.LIMITS.set((timeout, (descriptor,)))
            begun = time.time()
            try:
                document, reason = call(*patterns, **options).to_json(), None
            finally:
                ended = time.time()
                _program.LIMITS.set((None, ()))
    except (Error, OSError) as error:
        document, reason = None, str(error)
    return {"document": document, "reason": reason, "begun": begun, "ended": ended}
