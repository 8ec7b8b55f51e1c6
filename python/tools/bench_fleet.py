"""The figures of sweeps and fleets, for `cargo xtask bench fleet`: one JSON object a line."""

from __future__ import annotations

import contextlib
import itertools
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
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import distributed
import marked
import psutil
import simulated

import tollgate_perf
from tollgate_perf import _space, _store

AXES: dict[str, Any] = {
    "core": "rocket",
    "core.memory.latency": (10, 400),
    "core.memory.miss": (1, 30),
    "core.branch.mispredict": (1, 9),
    "core.l1i.geometry": ["16:2:64", "32:2:64", "64:2:64", "64:4:64"],
    "iterations": 20,
}

PARTS = 4
"""One worker and two take turns at this many parts of the designs: other load then meets both."""


def figure(name: str, value: float, *, most: float | None = None, least: float | None = None) -> None:
    """Prints a figure with its bound, if it has one."""
    print(json.dumps({"name": name, "value": value, "most": most, "least": least}), flush=True)


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[tuple[distributed.LocalCluster, distributed.Client]]:
    """A cluster of this machine."""
    with tollgate_perf.cluster(workers) as own, own.get_client() as client:
        yield own, client


def seconds(action: Callable[[], object]) -> float:
    """How long an action takes."""
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


def cpu_s(own: distributed.LocalCluster) -> float:
    """CPU time of this process, of a cluster's workers, and of the programs that these have run."""
    processes = [psutil.Process(), *(psutil.Process(it.pid) for it in own.workers.values())]
    # The first four are those of the process and of its children that have ended, in user and in kernel mode.
    return float(sum(sum(it.cpu_times()[:4]) for it in processes))


def bill(point: dict[str, Any]) -> tollgate_perf.Run:
    """One design."""
    return tollgate_perf.riscv.trap(**point, progress=False)


def designs(count: int, folder: Path) -> None:
    """Ten thousand designs of the trap bill."""
    points = list(tollgate_perf.latin(AXES, count, seed=1))
    walls, busy, used, alone = ({1: 0.0, 2: 0.0} for _ in range(4))
    with ThreadPoolExecutor(2) as pool:
        for part in range(PARTS):
            some = points[part::PARTS]
            # One cluster at a time: an idle one takes CPU time, too.
            for workers in (1, 2):
                with cluster(workers) as (own, client):
                    before, begun = cpu_s(own), time.monotonic()
                    done = tollgate_perf.sweep(some, client=client, store=folder / str(workers), progress=False)
                    walls[workers] += time.monotonic() - begun
                    used[workers] += cpu_s(own) - before
                busy[workers] += done.busy_s
                if done.failures:
                    raise SystemExit(f"{done.failures[0]}")

            # The same work without a scheduler: what this machine gives to two processes at once.
            bills = [_space.arguments(point) for point in some[:200]]
            alone[1] += seconds(partial(list, map(bill, bills)))
            begun = time.monotonic()
            list(pool.map(bill, bills))
            alone[2] += time.monotonic() - begun
    figure(f"{count:,} designs, two workers: milliseconds each", 1000 * walls[2] / count)
    share = 100 * (1 - busy[2] / (2 * walls[2]))
    figure(f"{count:,} designs, two workers: time that is Dask's, %", share, most=2.0)
    figure(f"{count:,} designs: two workers, times one worker", walls[1] / walls[2], least=1.9)
    # Client and scheduler run beside the workers: if all take more CPU time than there is, no engine does better.
    cpus = len(os.sched_getaffinity(0))
    figure(f"{count:,} designs: CPUs that one worker and its client use", used[1] / walls[1])
    figure(f"{count:,} designs: the most that {cpus} CPUs allow, times one worker", cpus * walls[1] / used[2])
    figure("bills without Dask: two threads, times one thread", alone[1] / alone[2])
    again: list[tollgate_perf.Sweep] = []
    took = seconds(lambda: again.append(tollgate_perf.sweep(points, store=folder / "2", progress=False)))
    figure(f"{count:,} designs from the store, seconds", took, most=5.0)
    figure(f"{count:,} designs from the store: computed again", again[0].computed, most=0)


def logged(*, log: str, **point: Any) -> tollgate_perf.Run:
    """A design that leaves a line, in a file of this folder, with the time at which it was begun."""
    with open(Path(log) / "calls", "a") as file:
        file.write(json.dumps([time.time_ns(), point], sort_keys=True) + "\n")
    return tollgate_perf.riscv.trap(**point)


class Disturbed:
    """A sweep that is disturbed, and what an undisturbed one gives."""

    def __init__(self, folder: Path, count: int) -> None:
        """Computes it undisturbed, by processes of this machine."""
        # A folder: of a file, the contents would decide the answer.
        self.folder, self.log = folder, folder / "log"
        self.log.mkdir()
        # Long enough for ten workers to start.
        self.space = tollgate_perf.latin({**AXES, "iterations": 3000, "log": str(self.log)}, count, seed=2)
        self.frame = tollgate_perf.sweep(self.space, logged, store=folder / "undisturbed", progress=False).frame().to_csv()

    def begin(self, name: str) -> Path:
        """An empty store, and an empty log."""
        (self.log / "calls").write_text("")
        store = self.folder / name
        store.mkdir()
        return store

    def judge(self, what: str, done: tollgate_perf.Sweep, store: Path) -> None:
        """Prints what was lost, and what was computed although it was finished."""
        for point, why in done.failures[:3]:
            print(f"{point}: {why}", file=sys.stderr)
        figure(f"{what}: points that are lost", len(done.failures), most=0)
        lost = [point for point, _ in done.failures]
        finished, function = {}, _store.identity(logged)
        with contextlib.closing(_store.database(store)) as points:
            times = dict(points.execute("SELECT key, finished_ns FROM points"))
        for point in self.space:
            key = _store.key(function, _space.arguments(point), None)
            asked = _store.canonical(_space.arguments({name: it for name, it in point.items() if name != "log"}))
            finished[asked] = times[key] if point not in lost else sys.maxsize
        calls = [json.loads(line) for line in (self.log / "calls").read_text().splitlines()]
        twice = sum(begun > finished[_store.canonical(point)] for begun, point in calls)
        figure(f"{what}: points computed after they were finished", twice, most=0)
        # Computed by a worker that died before its batch was received.
        figure(f"{what}: points begun again", len(calls) - len(finished))
        figure(f"{what}: frames that differ from the undisturbed one", float(done.frame().to_csv() != self.frame), most=0)


def stored(store: Path) -> int:
    """How many points are finished."""
    if not (store / _store.NAME).exists():
        return 0
    with contextlib.closing(_store.database(store)) as points:
        return int(points.execute("SELECT count(*) FROM points").fetchone()[0])


def at(store: Path, count: int) -> None:
    """Waits until so many points are finished."""
    while stored(store) < count:
        time.sleep(0.005)


def killed_workers(sweep: Disturbed, count: int) -> None:
    """Workers that are killed at random moments, in as many sweeps as that takes: the next worker needs seconds to start."""
    chance, kills = random.Random(3), 0
    for number in range(1, count + 1):
        what = f"workers killed, sweep {number}"
        store = sweep.begin(what)
        moments = sorted(chance.sample(range(20, len(sweep.space) - 20), count - kills))
        done, killed = with_kills(sweep, store, moments, chance)
        kills += killed
        sweep.judge(what, done, store)
        if kills == count:
            break
    figure("workers killed during sweeps", kills, least=count)


def with_kills(sweep: Disturbed, store: Path, moments: list[int], chance: random.Random) -> tuple[tollgate_perf.Sweep, int]:
    """A sweep during which a worker is killed whenever so many points are finished, and how many were killed."""
    kills: list[str] = []
    ended = threading.Event()
    with cluster(2) as (own, client):
        scheduler: Any = own.scheduler

        def is_starting() -> bool:
            # A nanny gives up permanently if its worker is killed while it starts.
            nannies = own.workers.values()
            return (
                any(it in scheduler.workers for it in kills)
                or len(scheduler.workers) < 2
                or any(it.process is None or it.process.status.name != "running" for it in nannies)
            )

        def kill() -> None:
            for moment in moments:
                at(store, moment)
                while is_starting():
                    if ended.wait(0.01):
                        return
                victim = chance.choice([it for it in own.workers.values() if it.pid])
                kills.append(victim.worker_address)
                os.kill(victim.pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            done = tollgate_perf.sweep(sweep.space, logged, client, store=store, progress=False)
        finally:
            ended.set()
            killer.join()
    return done, len(kills)


def killed_scheduler(sweep: Disturbed) -> None:
    """A scheduler that is killed once; then the same sweep without it."""
    store = sweep.begin("scheduler")
    place = sweep.folder / "scheduler.json"
    common = ["--scheduler-file", str(place), "--no-dashboard"]
    here = [*common, "--port", "0", "--host", "127.0.0.1"]
    there = [*common, "--no-nanny", "--nthreads", "1", "--local-directory", str(sweep.folder), "--death-timeout", "60"]
    programs = [("dask_scheduler", here), ("dask_worker", there), ("dask_worker", there)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{program}", *args], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for program, args in programs
    ]

    def kill() -> None:
        at(store, len(sweep.space) // 3)
        started[0].kill()

    try:
        with distributed.Client(scheduler_file=str(place), timeout=120) as client:
            client.wait_for_workers(2, timeout=120)
            killer = threading.Thread(target=kill)
            killer.start()
            why = ""
            try:
                tollgate_perf.sweep(sweep.space, logged, client, store=store, progress=False)
            except tollgate_perf.Error as error:
                why = str(error)
            killer.join()
    finally:
        for process in started:
            process.kill()
            process.wait()
    figure("the scheduler killed: the sweep ends with a sentence", float("the scheduler went away" in why), least=1)
    kept = stored(store)
    done = tollgate_perf.sweep(sweep.space, logged, store=store, progress=False)
    figure(
        "the scheduler killed: points of the store that the second sweep did not use",
        kept + done.computed - len(sweep.space),
        most=0,
    )
    sweep.judge("the scheduler killed", done, store)


def interrupted(sweep: Disturbed) -> None:
    """Ctrl-C in a terminal, which reaches the process of the sweep and those of its cluster; then the same sweep."""
    store = sweep.begin("interrupted")
    mark = marked.mark()
    process = subprocess.Popen(
        [sys.executable, __file__, "sweep", str(sweep.log), str(len(sweep.space)), str(store)],
        env={**os.environ, marked.NAME: mark},
        start_new_session=True,
        stderr=subprocess.PIPE,
    )
    at(store, len(sweep.space) // 3)
    os.killpg(process.pid, signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    figure("Ctrl-C: the sweep ends with KeyboardInterrupt", float(b"KeyboardInterrupt" in said), least=1)
    end = time.monotonic() + 10
    while (left := len(marked.processes(mark))) and time.monotonic() < end:
        time.sleep(0.1)
    figure("Ctrl-C: processes that are left", left, most=0)
    kept = stored(store)
    done = tollgate_perf.sweep(sweep.space, logged, store=store, progress=False)
    figure("Ctrl-C: points of the store that the second sweep did not use", kept + done.computed - len(sweep.space), most=0)
    sweep.judge("Ctrl-C", done, store)


def hosts(count: int) -> None:
    """Two workers on each of many simulated hosts, of which one in twenty is slow by 5 % in one probe."""
    base, slow = tollgate_perf.run(*simulated.BASE, quick=True, progress=False).to_json(), simulated.slow(count)
    probe = json.loads(base)["results"][0]["probe"]
    with simulated.cluster(count) as client:
        found = tollgate_perf.fleet(client).run(call=simulated.measure, base=base, slow=sorted(slow))
    rows = {(it["host"], it["probe"]) for it in found.comparison["differences"]}
    right = {(host, probe) for host in slow}
    figure(f"{count} hosts: measured", len(found.runs), least=count)
    figure(f"{count} hosts: planted differences of 5 % that are found, %", 100 * len(rows & right) / len(right), least=100)
    figure(f"{count} hosts: share of what is named that is false, %", 100 * len(rows - right) / max(1, len(rows)), most=1)


def one_host(clients: int) -> None:
    """Several clients that measure at the same time on two workers of this host."""
    with cluster(2) as (own, _), contextlib.ExitStack() as stack:
        several = [stack.enter_context(distributed.Client(own, set_as_default=False)) for _ in range(clients)]
        with ThreadPoolExecutor(clients) as pool:
            found = list(pool.map(lambda it: tollgate_perf.fleet(it).run("syscall/getppid", quick=True), several))
    held = sorted((it.begun, it.ended) for fleet in found for it in fleet.hosts if it.run)
    figure(f"{clients} clients, two workers of one host: measurements", len(held), least=clients)
    overlaps = sum(before[1] > after[0] for before, after in itertools.pairwise(held))
    figure(f"{clients} clients, two workers of one host: measurements that overlap", overlaps, most=0)


def disturbed(folder: Path, _count: int) -> None:
    """Workers, a scheduler and a sweep that are killed."""
    sweep = Disturbed(folder, 1000)
    killed_workers(sweep, 10)
    killed_scheduler(sweep)
    interrupted(sweep)


def small() -> None:
    """What a user waits for."""
    code = "import time; begun = time.perf_counter(); import tollgate_perf; print(time.perf_counter() - begun)"
    times = [float(subprocess.check_output([sys.executable, "-c", code])) for _ in range(20)]
    figure("import tollgate_perf, ms", 1000 * statistics.median(times), most=50.0)
    run = tollgate_perf.riscv.trap(core="rocket", iterations=20)
    many = tollgate_perf.Run({**run.document, "results": (run.document["results"] * 50)[:100]})
    many.frame()
    times = [seconds(many.frame) for _ in range(50)]
    figure("a run of 100 rows as a frame, ms", 1000 * statistics.median(times), most=5.0)


def sweep_until_interrupted(log: str, count: str, store: str) -> None:
    """The process that [`interrupted`] interrupts."""
    # A shell that starts this in the background has SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with cluster(2) as (_, client):
        space = tollgate_perf.latin({**AXES, "iterations": 3000, "log": log}, int(count), seed=2)
        tollgate_perf.sweep(space, logged, client, store=store, progress=False)


BENCHES: dict[str, Callable[[Path, int], None]] = {
    "small": lambda *_: small(),
    "hosts": lambda *_: hosts(200),
    "one-host": lambda *_: one_host(4),
    "disturbed": disturbed,
    "designs": lambda folder, count: designs(count, folder),
}


def main() -> None:
    """Measures what is named, everything if nothing is; a number is that of the designs."""
    counts = [int(it) for it in sys.argv[1:] if it.isdigit()]
    names = [it for it in sys.argv[1:] if not it.isdigit()] or list(BENCHES)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        # The locks of hosts and Dask's folders are there, too.
        os.environ["TMPDIR"] = tempfile.tempdir = name
        for it in names:
            BENCHES[it](Path(name), counts[0] if counts else 10_000)


if __name__ == "__main__":
    if sys.argv[1:2] == ["sweep"]:
        sweep_until_interrupted(*sys.argv[2:])
    else:
        main()
