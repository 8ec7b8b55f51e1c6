"""Sweeps and fleets on clusters of real workers, and what happens when these die."""

from __future__ import annotations

import concurrent.futures
import contextlib
import gc
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import dask
import distributed
import marked
import pytest
import simulated

import tollgate_perf
from tollgate_perf import _cluster, _host, _program, _store, _work, fleets

HERE = Path(__file__).resolve().parent
PATHS = os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(HERE), str(HERE.parent / "tools")])
"""Where other processes find the functions of this file."""

Start = Callable[..., "subprocess.Popen[bytes]"]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[distributed.Client, Start]]:
    """A scheduler without workers, and what starts one with its own environment."""
    started: list[subprocess.Popen[bytes]] = []
    with (
        distributed.LocalCluster(n_workers=0, dashboard_address=":0", processes=True, host="127.0.0.1") as own,
        distributed.Client(own) as client,
    ):

        def start(**environment: str | None) -> subprocess.Popen[bytes]:
            words = [sys.executable, "-m", "distributed.cli.dask_worker", own.scheduler_address, "--no-nanny"]
            words += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(tmp_path / "dask")]
            given = {**os.environ, "PYTHONPATH": PATHS, **environment}
            kept = {name: it for name, it in given.items() if it is not None}
            before = len(client.scheduler_info()["workers"])
            worker = subprocess.Popen(words, env=kept, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            started.append(worker)
            client.wait_for_workers(before + 1, timeout=120)
            return worker

        try:
            yield client, start
        finally:
            for worker in started:
                worker.kill()
                worker.wait()


def slow(x: int, log: str) -> dict[str, int]:
    """Takes a while, and leaves a line for each time that it is called."""
    with open(Path(log) / "calls", "a") as file:
        file.write(f"{x}\n")
    time.sleep(0.05)
    return {"square": x * x}


def deadly(x: int) -> int:
    """Ends its worker."""
    if x == 3:
        os._exit(1)
    return x


def finished(folder: Path) -> set[int]:
    """The points of a store in which each has the square of its x; none before it is made."""
    if not (folder / _store.NAME).exists():
        return set()
    with contextlib.closing(_store.database(folder)) as points:
        return {int(json.loads(body)[0]["square"] ** 0.5) for (body,) in points.execute("SELECT body FROM points")}


def settings() -> dict[str, Any]:
    """What a worker has of the settings of a cluster of this machine."""
    return {name: dask.config.get(name) for name in _cluster.SELDOM}


def test_workers_of_this_machine_look_at_themselves_seldom() -> None:
    with tollgate_perf.cluster(2) as own, own.get_client() as client:
        assert client.run(settings) == dict.fromkeys(client.nthreads(), _cluster.SELDOM)
        assert set(client.nthreads().values()) == {1}
        (victim, _), *_ = client.run(os.getpid).items()
        client.run(os._exit, 1, workers=[victim], on_error="ignore")
        end = time.monotonic() + 60
        while victim in client.scheduler_info()["workers"] and time.monotonic() < end:
            time.sleep(0.05)
        client.wait_for_workers(2, timeout=60)
        assert list(client.run(settings).values()) == [_cluster.SELDOM] * 2, "one that was started anew has them, too"
    with pytest.raises(tollgate_perf.UsageError, match="0 workers"):
        tollgate_perf.cluster(0)


def test_a_killed_worker_loses_no_point(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    victim, _ = start(), start()
    log, store = tmp_path / "log", tmp_path / "store"
    log.mkdir()
    before: set[int] = set()

    def kill() -> None:
        while len(finished(store)) < 10:
            time.sleep(0.01)
        before.update(finished(store))
        victim.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    space = {"x": range(80), "log": str(log)}
    done = tollgate_perf.sweep(space, slow, client, store=store)
    killer.join()
    assert not done.failures
    calls = [int(it) for it in (log / "calls").read_text().split()]
    assert set(calls) == set(range(80))
    assert all(calls.count(it) == 1 for it in before)
    assert done.computed == 80
    assert done.frame().equals(tollgate_perf.sweep(space, slow, store=tmp_path / "undisturbed").frame())


def test_a_point_that_ends_its_worker_is_a_row(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    # Without this a point is tried on eight workers.
    client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 0))
    for _ in range(3):
        start()
    done = tollgate_perf.sweep({"x": range(6)}, deadly, client, store=tmp_path / "store")
    ((point, why),) = done.failures
    assert point == {"x": 3}
    assert "KilledWorker" in why
    assert list(done.frame()["value"].dropna()) == [0, 1, 2, 4, 5]


@pytest.mark.parametrize("is_local", [True, False])
def test_ctrl_c_loses_no_point_that_was_computed(
    is_local: bool, cluster: tuple[distributed.Client, Start], tmp_path: Path
) -> None:
    client, start = cluster
    if not is_local:
        start(), start()
    log, store = tmp_path / "log", tmp_path / "store"
    log.mkdir()
    space = {"x": range(400), "log": str(log)}

    def interrupt() -> None:
        # By then a batch has several points, of which some are computed.
        while not (log / "calls").exists() or len((log / "calls").read_text().split()) < 55:
            time.sleep(0.001)
        os.kill(os.getpid(), signal.SIGINT)

    # A shell that starts the tests in the background has SIGINT ignored.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            tollgate_perf.sweep(space, slow, None if is_local else client, store=store)
    finally:
        signal.signal(signal.SIGINT, before)
    kept = len(finished(store))
    assert 55 <= kept < 400
    done = tollgate_perf.sweep(space, slow, store=store, jobs=8)
    assert done.computed == 400 - kept
    assert sorted(int(it) for it in (log / "calls").read_text().split()) == list(range(400))
    assert list(done.frame()["square"]) == [it * it for it in range(400)]


def test_ctrl_c_in_a_terminal_ends_a_sweep_whose_workers_it_ends_too(tmp_path: Path) -> None:
    log, store = tmp_path / "log", tmp_path / "store"
    log.mkdir()
    code = f"""
import signal, distributed, tollgate_perf, test_cluster
signal.signal(signal.SIGINT, signal.default_int_handler)
if __name__ == "__main__":
    with distributed.Client(n_workers=2, threads_per_worker=1, dashboard_address=":0") as client:
        tollgate_perf.sweep({{"x": range(400), "log": {str(log)!r}}}, test_cluster.slow, client, store={str(store)!r})
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    python = subprocess.Popen(
        [sys.executable, script], env={**os.environ, "PYTHONPATH": PATHS}, stderr=subprocess.PIPE, start_new_session=True
    )
    while len(finished(store)) < 40:
        assert python.poll() is None
        time.sleep(0.01)
    os.killpg(python.pid, signal.SIGINT)
    assert b"KeyboardInterrupt" in python.communicate(timeout=60)[1]
    kept = finished(store)
    done = tollgate_perf.sweep({"x": range(400), "log": str(log)}, slow, store=store, jobs=8)
    assert done.computed == 400 - len(kept)
    calls = [int(it) for it in (log / "calls").read_text().split()]
    assert all(calls.count(it) == 1 for it in kept)


def test_a_host_is_measured_once_however_many_workers(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    for name in ("north", "north", "south"):
        start(TOLLGATE_HOST=name)
    fleet = tollgate_perf.fleet(client)
    assert {it.name: len(it.workers) for it in fleet.hosts} == {"north": 2, "south": 1}
    found = fleet.run("syscall/getppid", quick=True)
    assert not found.failures
    assert sorted(found.table()["host"]) == ["north", "south"]
    assert sorted(found.frame()["host"]) == ["north", "south"]
    assert len(list(found.save(tmp_path / "records").iterdir())) == 2


def test_of_two_hundred_hosts_those_that_are_slow_are_named(tmp_path: Path) -> None:
    base, slow = tollgate_perf.run(*simulated.BASE, quick=True).to_json(), simulated.slow(200)
    with simulated.cluster(200) as client:
        fleet = tollgate_perf.fleet(client)
        found = fleet.run(call=simulated.measure, base=base, slow=sorted(slow))
    assert not found.failures
    assert sorted(found.table()["host"]) == simulated.names(200)
    first = found.runs[0].results[0].probe
    differences = found.differences()
    assert set(zip(differences["host"], differences["probe"], strict=True)) == {(host, first) for host in slow}
    assert list(found.companions()["what"]) == ["microcode"]
    assert found.companions()["sure"].all()
    assert "Goes with microcode 0x2 (10 of 10; 0 of 190 others" in " ".join(repr(found).split())
    page = found.write_page(tmp_path / "fleet.html").read_text()
    assert all(f"host-{number:03}" in page for number in range(200))
    assert found._repr_html_().startswith("<iframe srcdoc=")
    # The same from the records alone.
    records = found.save(tmp_path / "records")
    said = subprocess.run([_program.path(), "fleet", records, "--out", tmp_path / "page.html"], capture_output=True, text=True)
    assert said.stdout == repr(found)


def test_several_clients_find_the_hosts_at_once() -> None:
    with simulated.cluster(5, workers_each=3) as client, concurrent.futures.ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: tollgate_perf.fleet(client).hosts, range(16)))
    assert all({it.name: len(it.workers) for it in hosts} == dict.fromkeys(simulated.names(5), 3) for hosts in found)


def test_hosts_of_one_name_are_told_apart(tmp_path: Path) -> None:
    run = tollgate_perf.riscv.trap(core="rocket", iterations=20)
    hosts = [fleets.Host(f"{it}machine/boot", "localhost", [], None, None) for it in "abc"]
    found = fleets.Fleet([fleets.Measured(host, tollgate_perf.Run({**run.document, "id": host.id[0]}), None) for host in hosts])
    assert [it["name"] for it in found.comparison["hosts"]] == [f"localhost-{it}machine" for it in "abc"]
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(tollgate_perf.UsageError, match="file cannot be written: File exists; name another one"):
        found.save(blocked)


def test_two_workers_of_a_host_never_measure_at_once(cluster: tuple[distributed.Client, Start]) -> None:
    client, start = cluster
    workers = [start(TOLLGATE_HOST="one"), start(TOLLGATE_HOST="one")]
    (host,) = tollgate_perf.fleet(client).hosts
    assert len(host.workers) == len(workers)
    futures = [
        client.submit(
            fleets._measure, tollgate_perf.riscv.trap, (), {"iterations": 20}, host.id, 60.0, "owner", pure=False, workers=[it]
        )
        for it in host.workers * 4
    ]
    held = sorted((it["begun"], it["ended"]) for it in client.gather(futures))
    assert all(before[1] <= after[0] for before, after in itertools.pairwise(held))


def test_a_host_that_vanishes_is_named(cluster: tuple[distributed.Client, Start], monkeypatch: pytest.MonkeyPatch) -> None:
    client, start = cluster
    monkeypatch.setattr(fleets, "GONE_S", 1.0)
    start(TOLLGATE_HOST="stays")
    victim = start(TOLLGATE_HOST="goes")
    fleet = tollgate_perf.fleet(client)
    victim.kill()
    found = fleet.run("syscall/getppid", quick=True)
    assert list(found.failures) == ["goes"]
    assert "the host vanished" in found.failures["goes"]
    assert len(found.runs) == 1


def test_another_version_on_a_worker_is_an_error(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    other = tmp_path / "tollgate"
    other.write_text("""#!/bin/sh\necho '{"tool": {"version": "9.9.9", "commit": "other"}}'\n""")
    other.chmod(0o755)
    start(TOLLGATE_HOST="old")
    start(TOLLGATE_HOST="new", TOLLGATE_PROGRAM=str(other))
    fleet = tollgate_perf.fleet(client)
    with pytest.raises(tollgate_perf.Error, match=r"the hosts have different programs: .*9\.9\.9-other on new"):
        fleet.run("syscall/getppid", quick=True)
    with pytest.raises(tollgate_perf.Error, match="different programs"):
        tollgate_perf.sweep({"iterations": [1]}, client=client, store=tmp_path / "store")


def test_a_worker_without_the_package_is_named(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    source = str(Path(tollgate_perf.__file__).resolve().parent.parent)
    without = [it for it in os.environ.get("PYTHONPATH", "").split(os.pathsep) if os.path.abspath(it) != source]
    start(TOLLGATE_HOST="bare", PYTHONPATH=os.pathsep.join(without))
    (host,) = tollgate_perf.fleet(client).hosts
    assert host.name == "bare"
    assert host.reason == "the package tollgate-perf is not installed there: run 'pip install tollgate-perf'"
    with pytest.raises(tollgate_perf.Error, match="bare: the package tollgate-perf is not installed there"):
        tollgate_perf.sweep({"iterations": [1]}, client=client, store=tmp_path / "store")


def children(mark: str) -> list[str]:
    """The calls of the program with this mark."""
    return [it for it in marked.processes(mark) if " riscv trap " in it or " run " in it]


@pytest.mark.parametrize("is_sweep", [True, False])
def test_interrupting_leaves_nothing_on_workers(
    is_sweep: bool, cluster: tuple[distributed.Client, Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, start = cluster
    value = marked.mark()
    start(**{marked.NAME: value})
    begun: list[bool] = []

    def look(**how: Any) -> Any:
        if children(value):
            begun.append(True)
            raise KeyboardInterrupt
        return distributed.Client.scheduler_info(client, **how)

    def measure() -> None:
        if is_sweep:
            tollgate_perf.sweep({"core": "cva6", "iterations": [10**7, 10**7 + 1]}, client=client, store=tmp_path / "store")
        else:
            tollgate_perf.fleet(client).run(thorough=True)

    # Both ask from time to time whether all is well.
    monkeypatch.setattr(client, "scheduler_info", look)
    with pytest.raises(KeyboardInterrupt):
        measure()
    assert begun
    end = time.monotonic() + 60
    while children(value) and time.monotonic() < end:
        time.sleep(0.1)
    assert not children(value)


def test_a_cluster_by_its_address(cluster: tuple[distributed.Client, Start], tmp_path: Path) -> None:
    client, start = cluster
    start(TOLLGATE_HOST="one")
    address = str(client.scheduler_info()["address"])
    assert [it.name for it in tollgate_perf.fleet(address).hosts] == ["one"]
    done = tollgate_perf.sweep({"iterations": [20]}, client=address, store=tmp_path / "store")
    assert (done.computed, done.failures) == (1, [])


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("tcp://127.0.0.1:1", "Timed out trying to connect"),
        ("scheduler", "missing port number in address"),
        ("http://127.0.0.1:8786", "unknown address scheme 'http'"),
        ("scheduler.invalid:8786", ""),
    ],
)
def test_an_address_without_a_scheduler_is_an_error(address: str, words: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(
        tollgate_perf.UsageError, match=f"there is no scheduler at {address}: {words}.*; start one with 'dask scheduler'"
    ):
        tollgate_perf.fleet(address)
    gc.collect()
    assert not capfd.readouterr().err


def test_a_cluster_without_workers_is_an_error(cluster: tuple[distributed.Client, Start]) -> None:
    with pytest.raises(tollgate_perf.Error, match="the cluster has no workers"):
        tollgate_perf.fleet(cluster[0])


def test_a_scheduler_that_goes_away_leaves_what_was_finished(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_work, "GONE_S", 1.0)
    log, store = tmp_path / "log", tmp_path / "store"
    log.mkdir()
    space: dict[str, Any] = {"x": range(100), "log": str(log)}
    environment = {**os.environ, "PYTHONPATH": PATHS}
    place = tmp_path / "scheduler.json"
    quiet: dict[str, Any] = {"env": environment, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m"]
    scheduler = subprocess.Popen(
        [
            *command,
            "distributed.cli.dask_scheduler",
            "--no-dashboard",
            "--port",
            "0",
            "--host",
            "127.0.0.1",
            "--scheduler-file",
            str(place),
        ],
        **quiet,
    )
    worker = subprocess.Popen(
        [
            *command,
            "distributed.cli.dask_worker",
            "--scheduler-file",
            str(place),
            "--no-nanny",
            "--nthreads",
            "1",
            "--no-dashboard",
            "--local-directory",
            str(tmp_path / "dask"),
            "--death-timeout",
            "60",
        ],
        **quiet,
    )

    def kill() -> None:
        while len(finished(store)) < 10:
            time.sleep(0.01)
        scheduler.kill()

    try:
        with distributed.Client(scheduler_file=str(place), timeout=120) as client:
            client.wait_for_workers(1, timeout=120)
            threading.Thread(target=kill).start()
            with pytest.raises(tollgate_perf.Error, match=r"the scheduler went away; .* are finished, and the same sweep"):
                tollgate_perf.sweep(space, slow, client, store=store)
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    kept = len(finished(store))
    assert 10 <= kept < 100
    done = tollgate_perf.sweep(space, slow, store=store)
    assert done.computed == 100 - kept
    assert list(done.frame()["square"]) == [it * it for it in range(100)]


def test_a_cluster_that_loses_all_workers_ends_the_sweep(
    cluster: tuple[distributed.Client, Start], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client, start = cluster
    monkeypatch.setattr(_work, "DESERTED_S", 1.0)
    worker = start()
    log, store = tmp_path / "log", tmp_path / "store"
    log.mkdir()

    def kill() -> None:
        while len(finished(store)) < 5:
            time.sleep(0.01)
        worker.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(
        tollgate_perf.Error, match=r"the cluster has no workers; .* of 80 points are finished, and the same sweep"
    ):
        tollgate_perf.sweep({"x": range(80), "log": str(log)}, slow, client, store=store)
    killer.join()


def test_the_lock_of_a_host_ends_with_its_holder() -> None:
    code = (
        "from tollgate_perf import _host\nimport sys, time\nwith _host.alone('test/lock', 1): print(flush=True), time.sleep(600)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert holder.stdout is not None
    holder.stdout.readline()
    with pytest.raises(TimeoutError), _host.alone("test/lock", 0.1):
        pass
    holder.kill()
    holder.communicate()
    with contextlib.ExitStack() as stack:
        stack.enter_context(_host.alone("test/lock", 10))


def test_who_waits_for_a_host_tells_the_client(
    cluster: tuple[distributed.Client, Start], monkeypatch: pytest.MonkeyPatch
) -> None:
    client, start = cluster
    start(TOLLGATE_HOST="busy")
    fleet = tollgate_perf.fleet(client)
    told: list[str] = []
    monkeypatch.setattr("warnings.warn", lambda text, *_, **__: told.append(str(text)))
    monkeypatch.setenv("TOLLGATE_HOST", "busy")
    with contextlib.ExitStack() as held:
        held.enter_context(_host.alone("busy/busy", 1))

        def shown(_: float, what: str) -> None:
            if any("waiting up to 3600 s for process" in it for it in told):
                held.close()

        (run,) = fleet.run("syscall/getppid", quick=True, progress=shown).runs
    assert run.rows()
    assert str(os.getpid()) in " ".join(told)


def test_facts_name_the_program() -> None:
    found = _host.facts()
    assert found["reason"] is None
    assert tuple(found["tool"]) == _store.tool()
