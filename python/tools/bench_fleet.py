"""The figures of sweeps, for `cargo xtask bench fleet`: one JSON object a line."""

from __future__ import annotations

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import distributed

import tollgate

AXES: dict[str, Any] = {
    "core": "rocket",
    "core.memory.latency": (10, 400),
    "core.memory.miss": (1, 30),
    "core.branch.mispredict": (1, 9),
    "core.l1i.geometry": ["16:2:64", "32:2:64", "64:2:64", "64:4:64"],
    "iterations": 20,
}


def figure(name: str, value: float, *, most: float | None = None, least: float | None = None) -> None:
    """Prints a figure with its bound."""
    print(json.dumps({"name": name, "value": value, "most": most, "least": least}), flush=True)


def cluster(workers: int) -> distributed.LocalCluster:
    """A cluster of this machine."""
    return distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1")


def designs(count: int, folder: Path) -> None:
    """Ten thousand designs of the trap bill."""
    space = tollgate.latin(AXES, count, seed=1)
    walls = {}
    for workers in (1, 2):
        with cluster(workers) as own, distributed.Client(own) as client:
            begun = time.monotonic()
            done = tollgate.sweep(space, client=client, store=folder / str(workers), progress=False)
            walls[workers] = time.monotonic() - begun
            if done.failures:
                raise SystemExit(f"{done.failures[0]}")
            share = 100 * (1 - done.busy_s / (workers * walls[workers]))
            if workers == 2:
                figure(f"{count:,} designs, two workers: time that is Dask's, %", share, most=2.0)
    figure(f"{count:,} designs: two workers, times one worker", walls[1] / walls[2], least=1.9)
    begun = time.monotonic()
    again = tollgate.sweep(space, store=folder / "2", progress=False)
    figure(f"{count:,} designs from the store, seconds", time.monotonic() - begun, most=5.0)
    figure(f"{count:,} designs from the store: computed again", again.computed, most=0)


def killed(folder: Path) -> None:
    """Workers that are killed at ten random moments."""
    space = tollgate.latin(AXES, 1000, seed=2)
    undisturbed = tollgate.sweep(space, store=folder / "undisturbed", progress=False).frame()
    kills = 0
    with cluster(2) as own, distributed.Client(own) as client:
        stop = threading.Event()

        def kill() -> None:
            nonlocal kills
            chance = random.Random(3)
            while kills < 10 and not stop.wait(0.3 + chance.random()):
                workers = client.run(os.getpid, on_error="ignore")
                if workers:
                    os.kill(chance.choice(sorted(workers.values())), signal.SIGKILL)
                    kills += 1

        killer = threading.Thread(target=kill)
        killer.start()
        done = tollgate.sweep(space, client=client, store=folder / "killed", progress=False)
        stop.set()
        killer.join()
    figure(f"a worker killed {kills} times: points that are lost", len(done.failures), most=0)
    figure("the same: finished points that were computed twice", done.computed - len(done.points), most=0)
    same = done.frame().to_csv() == undisturbed.to_csv()
    figure("the same: frames that differ from the undisturbed one", float(not same), most=0)


def small(folder: Path) -> None:
    """What a user waits for."""
    code = "import time; begun = time.perf_counter(); import tollgate; print(time.perf_counter() - begun)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(20)]
    figure("import tollgate, ms", 1000 * statistics.median(times), most=50.0)
    run = tollgate.riscv.trap(core="rocket", iterations=20)
    many = tollgate.Run({**run.document, "results": (run.document["results"] * 50)[:100]})
    many.frame()
    times = []
    for _ in range(50):
        begun = time.perf_counter()
        many.frame()
        times.append(time.perf_counter() - begun)
    figure("a run of 100 rows as a frame, ms", 1000 * statistics.median(times), most=5.0)


if __name__ == "__main__":
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name:
        small(Path(name))
        killed(Path(name))
        designs(count, Path(name))
