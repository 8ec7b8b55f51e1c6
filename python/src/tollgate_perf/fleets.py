"""Fleets: the same measurement once on each host of a cluster, one at a time on a host."""

from __future__ import annotations

import collections
import contextlib
import functools
import html
import json
import tempfile
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tollgate_perf import _commands, _host, _program
from tollgate_perf._errors import Error, MissingPackage, UsageError
from tollgate_perf._run import Run, frame, framed, read
from tollgate_perf._work import PATIENCE_S

if TYPE_CHECKING:
    import distributed
    import pandas

GONE_S = 15.0
"""How long a host may be without a worker."""

_ASKING = threading.Lock()


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


@dataclass(frozen=True, repr=False)
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
        """Writes each host's record into a folder, which `tollgate fleet` reads.

        There a host is identified by its name, so hosts that share a name get a part of their machine id added to it.
        """
        target = Path(folder)
        try:
            target.mkdir(parents=True, exist_ok=True)
            for name, it in zip(self._names(), self.hosts, strict=True):
                if it.run is not None:
                    host = {**it.run.document["host"], "name": name}
                    document = {**it.run.document, "host": host, "checksum": None}
                    Run(document).save(target / f"{it.run.id}.json")
        except OSError as error:
            raise UsageError(f"the folder {target} cannot be written: {error.strerror}; name another one") from error
        return target

    def differences(self) -> pandas.DataFrame:
        """One row a host and probe in which the host differs from its like, with the corrected chance."""
        rows = []
        for it in self.comparison["differences"]:
            low, high = it["interval"]
            plain = {key: value for key, value in it.items() if key not in ("params", "interval")}
            rows.append(plain | {"low": low, "high": high})
        return frame(rows)

    def companions(self) -> pandas.DataFrame:
        """One row a probe and fact: what the hosts that differ in the probe share, and how sure that is."""
        rows = []
        for it in self.comparison["companions"]:
            about = {key: it[key] for key in ("group", "probe", "slower", "ratio")} | {"hosts": len(it["hosts"])}
            rows += [about | fact for fact in it["facts"]]
        return frame(rows)

    @functools.cached_property
    def comparison(self) -> dict[str, Any]:
        """What `tollgate fleet --json` says of these records."""
        return read(self._compared("--json")[0])

    def page(self) -> str:
        """The page of `tollgate fleet`: one HTML page that needs nothing else."""
        return self._compared()[1]

    def write_page(self, path: str | Path) -> Path:
        """Writes the page to a file."""
        target = Path(path)
        target.write_text(self.page())
        return target

    def __repr__(self) -> str:
        """The table that the program prints, and who was not measured."""
        failed = "".join(f"{name} was not measured: {why}\n" for name, why in self.failures.items())
        return (self._compared()[0].decode() if self.runs else "") + failed

    def _repr_html_(self) -> str:
        return framed(self.page()) if self.runs else f"<pre>{html.escape(repr(self))}</pre>"

    def _names(self) -> list[str]:
        """A name of its own for each host."""
        named = collections.Counter(it.host.name for it in self.hosts)
        return [it.host.name if named[it.host.name] == 1 else f"{it.host.name}-{it.host.id[:8]}" for it in self.hosts]

    def _compared(self, *options: str) -> tuple[bytes, str]:
        """What `tollgate fleet` prints, and its page."""
        with tempfile.TemporaryDirectory(prefix="tollgate-") as folder:
            page = Path(folder) / "page.html"
            args = ["fleet", str(self.save(Path(folder) / "records")), "--out", str(page), *options]
            return _program.call(args, progress=False).check().stdout, page.read_text()


class FleetClient:
    """A cluster whose hosts are measured."""

    def __init__(self, client: distributed.Client, *, allow_skew: bool = False) -> None:
        """Finds the hosts. Different programs are an error unless that is allowed."""
        self.client = client
        self.hosts = hosts(client)
        self.allow_skew = allow_skew

    def run(
        self,
        *patterns: str,
        call: Callable[..., Run] = _commands.run,
        timeout: float = 3600.0,
        progress: _commands.Show = None,
        **options: Any,
    ) -> Fleet:
        """Measures on every host, all hosts at once: `call(*patterns, **options)`.

        A host whose measurement takes longer than `timeout` seconds is one of the failures. When this is interrupted, the
        measurements end.

        >>> fleet.run("syscall/*", quick=True).differences()  # doctest: +SKIP
        """
        usable = [it for it in self.hosts if it.reason is None]
        check_skew(usable, self.allow_skew)
        owner, show = uuid.uuid4().hex, _program.shown(progress)
        futures = {
            it.id: self.client.submit(
                _measure, call, patterns, options, it.id, timeout, owner, pure=False, workers=it.workers, retries=1
            )
            for it in usable
        }

        def tell() -> None:
            done = sum(it.done() for it in futures.values())
            if show:
                show(done / max(1, len(futures)), f"{done} of {len(futures)} hosts")

        try:
            return Fleet([self._one(it, futures.get(it.id), timeout, tell) for it in self.hosts])
        except BaseException:
            for future in futures.values():
                future.cancel()
            stop(self.client, owner)
            raise
        finally:
            if show:
                show(1.0, "")

    def _one(self, host: Host, future: Any, timeout: float, tell: Callable[[], None]) -> Measured:
        if future is None:
            return Measured(host, None, host.reason)
        end, gone = time.monotonic() + PATIENCE_S + timeout, 0.0
        while not future.done() and time.monotonic() < end:
            tell()
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


def fleet(client: distributed.Client | str, *, allow_skew: bool = False) -> FleetClient:
    """The hosts of a cluster, by its client or by the address of its scheduler: several workers of one host count once.

    >>> fleet = tollgate_perf.fleet("tcp://scheduler-host:8786")  # doctest: +SKIP
    >>> [host.name for host in fleet.hosts]  # doctest: +SKIP
    ['north', 'south', 'west']
    """
    return FleetClient(connect(client) if isinstance(client, str) else client, allow_skew=allow_skew)


def connect(address: str) -> distributed.Client:
    """A client of the scheduler at this address."""
    try:
        import distributed
        from distributed.comm.addressing import resolve_address
    except ImportError as error:
        raise MissingPackage("distributed", "dask") from error
    try:
        # A client of an address without a port tries for 20 s to end itself.
        resolve_address(address)
        return distributed.Client(address, timeout=10, set_as_default=False)
    except (OSError, TimeoutError, ValueError) as error:
        why = str(error).partition("\n")[0]
        raise UsageError(f"there is no scheduler at {address}: {why}; start one with 'dask scheduler'") from error


def stop(client: distributed.Client, owner: str) -> None:
    """Ends what workers do for an owner: a task that has begun is not ended by being canceled."""
    if client.status == "running":
        with contextlib.suppress(Exception):
            client.run(_program.stop, owner, on_error="ignore")


def hosts(client: distributed.Client) -> list[Host]:
    """The hosts of a cluster, by machine and boot."""
    try:
        import cloudpickle
    except ImportError as error:
        raise MissingPackage("distributed", "dask") from error
    # A worker without the package gets the function itself. Which modules are sent so is a setting of the whole process.
    with _ASKING:
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


def _warn(text: str) -> None:
    """Tells the client of a worker, too, that it waits."""
    import distributed

    distributed.warn(text)


def _measure(
    call: Callable[..., Run], patterns: tuple[str, ...], options: dict[str, Any], host: str, timeout: float, owner: str
) -> dict[str, Any]:
    """Runs on a worker: measures alone on its host."""
    begun = ended = 0.0
    try:
        with _host.alone(host, PATIENCE_S, _warn) as descriptor:
            _program.LIMITS.set(_program.Limits(timeout, (descriptor,), owner=owner))
            begun = time.time()
            try:
                document, reason = call(*patterns, **options).to_json(), None
            finally:
                ended = time.time()
                _program.LIMITS.set(_program.NONE)
    except (Error, OSError) as error:
        document, reason = None, str(error)
    return {"document": document, "reason": reason, "begun": begun, "ended": ended}
