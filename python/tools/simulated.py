"""A fleet of simulated hosts: workers in this process, each with an identity of its own, and records with planted changes.

It proves what happens from the identities of hosts to the table of a fleet: which workers are asked, the lock of each host,
the records' way through the scheduler, the statistics and the page. It does not prove anything about networks.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
from collections.abc import Iterator
from typing import Any
from unittest import mock

import dask
import distributed

import tollgate_perf
from tollgate_perf import _host

# What every worker does many times a second is too much for hundreds in one process.
QUIET: dict[str, Any] = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "1h",
    "distributed.admin.tick.interval": "1s",
    "distributed.worker.http.routes": [],
    "distributed.scheduler.http.routes": [],
    **{f"distributed.worker.memory.{name}": False for name in ("target", "spill", "pause", "terminate")},
}

BASE = ("syscall/getppid", "syscall/read", "syscall/clock_gettime")
"""What a real run measures, whose record each simulated host changes."""
TOOL = ["1.0", "simulated"]


def names(hosts: int) -> list[str]:
    """The names of so many hosts."""
    return [f"host-{number:03}" for number in range(hosts)]


def slow(hosts: int) -> set[str]:
    """The hosts whose first probe is slower by 5 %: one in twenty."""
    return set(names(hosts)[5::20])


def record(document: str, host: str, is_slow: bool) -> tollgate_perf.Run:
    """The record of a host: its processes vary by 1 %, hosts by 0.5 %."""
    chance = random.Random(host)
    run = json.loads(document)
    run |= {"id": f"of-{host}", "checksum": None, "host": {**run["host"], "name": host}, "yardsticks": []}
    run["host"]["cpu"]["microcode"] = "0x2" if is_slow else "0x1"
    for place, row in enumerate(run["results"]):
        of_host = chance.gauss(0, 0.005) + (0.05 if is_slow and place == 0 else 0)
        row["epochs"] = [{"ns": 100 * math.exp(of_host + chance.gauss(0, 0.01)), "core_hz": 3e9} for _ in range(12)]
        estimate = 100 * math.exp(of_host)
        row["ns"] = {**row["ns"], "estimate": estimate, "ci": [estimate - 1, estimate + 1]}
    return tollgate_perf.Run(run)


def measure(*, base: str, slow: list[str]) -> tollgate_perf.Run:
    """Runs on a worker, and gives the record of its host."""
    host = str(distributed.get_worker().name).partition("/")[0]
    return record(base, host, host in slow)


def facts(dask_worker: distributed.Worker) -> dict[str, Any]:
    """The identity of a simulated host, in place of that of this one: the worker's name up to the slash."""
    name = str(dask_worker.name).partition("/")[0]
    return {"host": f"{name}/boot", "name": name, "python": "", "pid": 0, "tool": TOOL, "reason": None}


@contextlib.contextmanager
def cluster(hosts: int, workers_each: int = 1) -> Iterator[distributed.Client]:
    """So many hosts with so many workers each."""
    workers = {
        f"{host}/{number}": {
            "cls": distributed.Worker,
            "options": {"nthreads": 1, "protocol": "inproc", "dashboard": False},
        }
        for host in names(hosts)
        for number in range(workers_each)
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"protocol": "inproc://", "dashboard": False}}
    with (
        dask.config.set(QUIET),
        mock.patch.object(_host, "facts", facts),
        distributed.SpecCluster(workers=workers, scheduler=scheduler, silence_logs="WARNING") as own,
        distributed.Client(own) as client,
    ):
        client.wait_for_workers(len(workers), timeout=300)
        yield client
