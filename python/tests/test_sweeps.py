"""Sweeps: spaces, the store, processes of this machine, the command, and plots."""

from __future__ import annotations

import contextlib
import functools
import os
import subprocess
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import numpy
import pytest

import tollgate_perf
from tollgate_perf import _plots, _space, _store, _work, riscv

SPACE: dict[str, Any] = {
    "core": "rocket",
    "core.memory.latency": [20, 60],
    "core.l1i.geometry": ["16:2:64", "64:4:64"],
    "iterations": 20,
}


def counted(x: int, log: str, y: int = 0) -> dict[str, int]:
    """Leaves a line in this folder for each time that it is called."""
    with open(Path(log) / "calls", "a") as file:
        file.write(f"{x}\n")
    if x == 13:
        raise ValueError("thirteen")
    return {"square": x * x + y}


def test_a_grid_is_every_combination() -> None:
    space = _space.grid({"a": [1, 2], "b": ["x", "y", "z"], "c": 7})
    assert len(space) == 6
    assert [(it["a"], it["b"]) for it in space] == [(a, b) for a in (1, 2) for b in "xyz"]
    assert all(it["c"] == 7 for it in space)


def test_a_latin_hypercube_has_one_point_in_each_slice() -> None:
    points = list(_space.latin({"a": (0, 99), "b": (0.0, 1.0), "c": list("wxyz")}, 100, seed=3))
    assert sorted(it["a"] for it in points) == list(range(100))
    assert sorted(int(it["b"] * 100) for it in points) == list(range(100))
    assert Counter(it["c"] for it in points) == dict.fromkeys("wxyz", 25)
    assert points == list(_space.latin({"a": (0, 99), "b": (0.0, 1.0), "c": list("wxyz")}, 100, seed=3))
    assert points != list(_space.latin({"a": (0, 99), "b": (0.0, 1.0), "c": list("wxyz")}, 100, seed=4))


def test_random_points_repeat_with_their_seed() -> None:
    drawn = [list(_space.random({"a": (1, 6), "b": [True, False]}, 50, seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    assert {it["a"] for it in drawn[0]} == set(range(1, 7))


def test_designs_of_a_trap(tmp_path: Path) -> None:
    done = tollgate_perf.sweep(SPACE, store=tmp_path)
    assert (done.computed, done.failures) == (4, [])
    frame = done.frame()
    assert len(frame) == 8, "warm and cold"
    # Each figure is that of the same design by itself.
    core = {"base": "rocket", "memory": {"latency": 60}, "l1i": {"geometry": "16:2:64"}}
    alone = riscv.trap(core=core, iterations=20).frame()
    mine = frame[(frame["core.memory.latency"] == 60) & (frame["core.l1i.geometry"] == "16:2:64")]
    assert list(mine["estimate"]) == list(alone["estimate"])
    phases = [name for name in map(str, frame) if name.startswith("phase.")]
    assert list(frame[phases].sum(axis=1)) == list(frame["estimate"])
    again = tollgate_perf.sweep(SPACE, store=tmp_path)
    assert again.computed == 0
    assert again.frame().equals(frame)
    assert again.frame().to_csv() == frame.to_csv()


def test_an_answer_is_released_before_it_is_finished(tmp_path: Path) -> None:
    events: list[str] = []

    class Recorded(_store.Store):
        def put(self, key: str, body: bytes) -> None:
            events.append("put")
            super().put(key, body)

    with ThreadPoolExecutor(1) as pool:
        lane = _work.Lane(pool.submit, 1, release=lambda _: events.append("release"))
        _work.Work(scaled(2), [{"x": 1}, {"x": 2}], Recorded(tmp_path), [lane], 60).run(None, lambda: None, lambda: None)
    assert events == ["release", "put"] * 2


def test_a_repeated_sweep_computes_what_is_missing(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    small = tollgate_perf.sweep({"x": [1, 2], "log": str(log)}, counted, store=tmp_path)
    large = tollgate_perf.sweep({"x": [1, 2, 3, 13, 3], "log": str(log)}, counted, store=tmp_path)
    assert small.computed == 2
    assert large.computed == 1
    assert sorted((log / "calls").read_text().split()) == ["1", "13", "2", "3"]
    assert large.failures == [({"x": 13, "log": str(log)}, "ValueError: thirteen")]
    assert list(large.frame()["square"].dropna()) == [1, 4, 9, 9]
    assert list(large.frame()["status"].dropna()) == ["failed"]
    # A failure is not an answer: it is computed again.
    assert tollgate_perf.sweep({"x": [13], "log": str(log)}, counted, store=tmp_path).computed == 0
    assert (log / "calls").read_text().split().count("13") == 2


def test_everything_that_decides_an_answer_decides_its_key(tmp_path: Path) -> None:
    program = tmp_path / "work.c"
    program.write_text("one")

    def key(**changed: Any) -> str:
        return _store.key(_store.identity(riscv.trap), {"core": "rocket", "workload": str(program), **changed}, None)

    first = key()
    assert key() == first
    assert key(core="cva6") != first
    assert key(iterations=3) != first
    assert _store.key(_store.identity(riscv.pipeline), {"core": "rocket", "workload": str(program)}, None) != first
    assert _store.key(_store.identity(riscv.trap), {"core": "rocket", "workload": str(program)}, "host") != first
    program.write_text("other")
    assert key() != first


def test_the_files_of_a_list_decide_the_key(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("one")

    def key() -> str:
        return _store.key("icache", {"programs": [str(program)]}, None)

    first = key()
    program.write_text("other")
    assert key() != first


def scaled(factor: int) -> Any:
    return lambda x: x * factor


class Scaled:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, x: int) -> int:
        return x * self.factor


def times(factor: int, x: int) -> int:
    return x * factor


@pytest.mark.parametrize("make", [scaled, Scaled, lambda factor: functools.partial(times, factor)])
def test_what_a_function_holds_decides_its_answers(make: Any, tmp_path: Path) -> None:
    found = [tollgate_perf.sweep({"x": [5]}, make(factor), store=tmp_path) for factor in (2, 3, 2)]
    assert [list(it.frame()["value"]) for it in found] == [[10], [15], [10]]
    assert [it.computed for it in found] == [1, 1, 0]


def test_a_function_that_another_one_calls_decides_its_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    first = _store.identity(indirect)
    assert _store.identity(indirect) == first
    monkeypatch.setitem(globals(), "direct", times)
    assert _store.identity(indirect) != first


def direct(x: int) -> int:
    return x


def indirect(x: int) -> int:
    return direct(x)


def test_axes_and_results_of_numpy(tmp_path: Path) -> None:
    space = {"x": numpy.arange(3), "factor": numpy.linspace(0, 1, 3)}
    done = tollgate_perf.sweep(space, lambda x, factor: {"out": x * factor, "many": numpy.int64(7)}, store=tmp_path)
    assert not done.failures
    assert list(done.frame()["out"]) == [0, 0, 0, 0, 0.5, 1, 0, 1, 2]
    drawn = list(tollgate_perf.latin({"x": (numpy.int64(0), numpy.int64(9)), "y": numpy.arange(5)}, 10, seed=1))
    assert sorted(it["x"] for it in drawn) == list(range(10))
    assert {int(it["y"]) for it in drawn} == set(range(5))


def test_a_value_that_is_not_plain_is_a_row(tmp_path: Path) -> None:
    ((_, why),) = tollgate_perf.sweep({"x": [object()]}, times_nothing, store=tmp_path).failures
    assert "is neither a number, nor text" in why


def times_nothing(x: object) -> int:
    return 0


def test_programs_are_an_axis(tmp_path: Path) -> None:
    sources = []
    for name in ("one", "two"):
        source = tmp_path / f"{name}.c"
        source.write_text("int main(void) { return 0; }")
        sources.append(str(source))
    space = {"programs": [sources[0], sources], "icache": "16:1:32"}
    done = tollgate_perf.sweep(space, lambda *programs, icache: len(programs), store=tmp_path / "store")
    assert list(done.frame()["value"]) == [1, 2]
    done = tollgate_perf.sweep({"patterns": ["syscall/getppid"], "quick": True}, tollgate_perf.run, store=tmp_path / "store")
    assert list(done.frame()["probe"]) == ["syscall/getppid"]
    with pytest.raises(tollgate_perf.UsageError, match="unknown key 'program'; the nearest is 'programs'"):
        tollgate_perf.sweep({"program": "a.c"}, riscv.icache, store=tmp_path / "store")


def measured(probe: str) -> tollgate_perf.Run:
    return tollgate_perf.run(probe, quick=True)


def test_a_function_of_the_user_that_measures_the_host_says_so(tmp_path: Path) -> None:
    space = {"probe": ["syscall/getppid"]}
    ((_, why),) = tollgate_perf.sweep(space, measured, store=tmp_path).failures
    assert why == "'tollgate run' measures the host while other points run on it: give the sweep on_host=True"
    done = tollgate_perf.sweep(space, measured, store=tmp_path, on_host=True)
    assert not done.failures
    assert set(done.frame()["host"]) == {os.uname().nodename}


def test_a_sweep_shows_itself(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    done = tollgate_perf.sweep({"x": [1, 13], "log": str(log)}, counted, store=tmp_path / "store")
    assert repr(done) == "<tollgate_perf.Sweep: 2 points: 1 computed, 0 from the store, 1 failed>"
    page = done._repr_html_()
    assert "<p>1 failed: ValueError: thirteen</p>" in page
    assert "<table" in page


def test_a_damaged_entry_is_computed_again(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    store = tmp_path / "store"
    tollgate_perf.sweep({"x": [5], "log": str(log)}, counted, store=store)
    with contextlib.closing(_store.database(store)) as points:
        ((body,),) = points.execute("SELECT body FROM points")
        points.execute("UPDATE points SET body = ?", (body.replace(b"25", b"26"),))
    with pytest.warns(tollgate_perf.SweepWarning, match=r"damaged entries of the store were computed again \(1\)"):
        done = tollgate_perf.sweep({"x": [5], "log": str(log)}, counted, store=store)
    assert list(done.frame()["square"]) == [25]
    assert done.computed == 1


def test_sweeps_that_begin_at_once_share_a_new_store(tmp_path: Path) -> None:
    begin = Barrier(8)

    def use(folder: Path, number: int) -> None:
        begin.wait()
        with contextlib.closing(_store.Store(folder)) as store:
            store.put(str(number), b"body")

    for turn in range(10):
        folder = tmp_path / str(turn)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(use, [folder] * 8, range(8)))
        with contextlib.closing(_store.Store(folder)) as store:
            assert [store.get(str(number)) for number in range(8)] == [b"body"] * 8


@pytest.mark.parametrize(
    "damage", [lambda text: b"no database", lambda text: text[:5000], lambda text: text[:4096] + bytes(4096)]
)
def test_a_damaged_store_is_kept_and_computed_again(damage: Any, tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.mkdir()
    store = tmp_path / "store"
    space = {"x": range(14, 114), "log": str(log)}
    tollgate_perf.sweep(space, counted, store=store)
    file = store / _store.NAME
    assert not (store / f"{_store.NAME}-wal").exists(), "a log is left"
    file.write_bytes(damage(file.read_bytes()))
    with pytest.warns(tollgate_perf.SweepWarning, match=r"damaged entries of the store were computed again"):
        done = tollgate_perf.sweep(space, counted, store=store)
    assert list(done.frame()["square"]) == [it * it for it in range(14, 114)]
    assert tollgate_perf.sweep(space, counted, store=store).computed == 0


def test_a_point_that_hangs_is_a_row(tmp_path: Path) -> None:
    space = {"core": "cva6", "iterations": [20, 10_000_000]}
    tollgate_perf.sweep(space | {"iterations": 20}, store=tmp_path)
    done = tollgate_perf.sweep(space, store=tmp_path, timeout=1.5)
    assert done.computed == 0
    assert done.failures == [({"core": "cva6", "iterations": 10_000_000}, "it did not end within 1.5 s and was stopped")]


def test_a_measurement_of_the_host_is_alone_and_names_it(tmp_path: Path) -> None:
    done = tollgate_perf.sweep({"procs": [2, 3], "size": 0, "quick": True}, tollgate_perf.ring, store=tmp_path)
    assert not done.failures
    assert set(done.frame()["host"]) == {os.uname().nodename}


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"space": {"kernle": ["full"]}}, "the space has an unknown key 'kernle'; the nearest is 'kernel'"),
        ({"space": {"core.memory.latency": [1]}}, ""),
        ({"space": {"traps": (1, 5)}}, "'traps' is a range, and a grid takes lists"),
        ({"space": {"iterations": range(1_000_000)}}, "the space has 1,000,000 points: confirm with yes=True"),
        ({"space": {}, "run": "riscv.tarp"}, "there is no function 'riscv.tarp'"),
        ({"space": {"kernel": ["full"]}, "store": "/proc/no"}, "the store /proc/no cannot be written"),
        ({"space": {"kernel": ["full"]}, "store": "/proc/self"}, "the store /proc/self cannot be written"),
        ({"space": {"kernel": []}}, "'kernel' has no values"),
        ({"space": [1, 2]}, "a point is a mapping of keys to values"),
        ({"space": {"kernel": ["full"]}, "run": 3}, "there is no function 3"),
        ({"space": {"kernel": ["full"]}, "jobs": 0}, "0 points at once compute nothing"),
        ({"space": {"kernel": ["full"]}, "timeout": -1}, "a point cannot end in -1 s"),
        ({"space": {"kernel": ["full"]}, "timeout": float("nan")}, "a point cannot end in nan s"),
    ],
)
def test_bad_input(how: dict[str, Any], words: str, tmp_path: Path) -> None:
    how = {"store": tmp_path, **how}
    if not words:
        ((_, why),) = tollgate_perf.sweep(**how).failures
        assert why == "'core.memory.latency' changes a core: the point must name a preset as 'core'"
        return
    with pytest.raises(tollgate_perf.UsageError) as caught:
        tollgate_perf.sweep(**how)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("axes", "count", "words"),
    [
        ({"core": ["rocket"]}, 0, "0 points are not a space"),
        ({"core": []}, 2, "'core' has no values"),
        ({"calls": (5, 1)}, 2, "'calls' is not a range"),
        ({"calls": ("a", "b")}, 2, "'calls' is not a range"),
        ({"calls": (1, 2, 3)}, 2, "'calls' is not a range"),
        ({"calls": (0.0, float("inf"))}, 2, "'calls' is not a range"),
    ],
)
def test_no_points_are_drawn_from_what_is_no_space(axes: dict[str, Any], count: int, words: str) -> None:
    for draw in (tollgate_perf.random, tollgate_perf.latin):
        with pytest.raises(tollgate_perf.UsageError, match=words):
            draw(axes, count, seed=1)


def test_a_misspelled_key_of_a_core_is_a_row_with_the_nearest(tmp_path: Path) -> None:
    ((_, why),) = tollgate_perf.sweep({"core": "rocket", "core.memory.latncy": 3}, store=tmp_path).failures
    assert "unknown key 'latncy'; the nearest is 'latency'" in why


def command(*args: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "tollgate_perf", *map(str, args)], capture_output=True, text=True)


def test_the_command_is_the_same_without_code(tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(
        "[space]\niterations = 20\n[space.core]\nbase = 'rocket'\n"
        "memory.latency = [20, 60]\nl1i.geometry = ['16:2:64', '64:4:64']\n"
    )
    out = tmp_path / "out.parquet"
    said = command("sweep", spec, "--store", tmp_path / "store", "--out", out)
    assert said.returncode == 0, said.stderr
    assert said.stdout == f"4 points: 4 computed, 0 from the store, 0 failed: {out}\n"
    import pandas

    there = pandas.read_parquet(out)
    here = tollgate_perf.sweep(SPACE, store=tmp_path / "store")
    assert here.computed == 0
    columns = ["core.memory.latency", "core.l1i.geometry", "estimate"]
    assert sorted(map(tuple, there[columns].to_numpy())) == sorted(map(tuple, here.frame()[columns].to_numpy()))


@pytest.mark.parametrize(
    ("text", "args", "words"),
    [
        ("[spcae]", (), "unknown key 'spcae'"),
        ("method = 'latin'\n[space]\ncalls = [1]", (), "need 'count'"),
        ("", (), "give either 'space' or 'points'"),
        ("points = [1]\n[space]\ncalls = [1]", (), "give either 'space' or 'points'"),
        ("space = 5", (), "'space' takes a table of axes, not 5"),
        ("points = [1, 2]", (), "a point is a mapping of keys to values"),
        ("method = 'random'\ncount = 'many'\n[space]\ncalls = [1]", (), "'count' takes a whole number, not 'many'"),
        ("timeout = true\n[space]\ncalls = [1]", (), "'timeout' takes seconds, not True"),
        ("[space]\ncalls = [1]", ("--jobs", "-1"), "-1 points at once compute nothing"),
        ("[space]\ncalls = [1]", ("--out", "/nowhere/out.csv"), "/nowhere/out.csv cannot be written"),
        ("[space]\ncalls = [1]", ("--out", "out.xlsx"), "out.xlsx is neither Parquet nor CSV"),
        ("x = ", (), "spec.toml: "),
        (
            "[space]\nkernel = ['full']",
            ("--scheduler", "tcp://127.0.0.1:1"),
            "there is no scheduler at tcp://127.0.0.1:1",
        ),
        ("method = 'random'\ncount = 1000000\n[space]\ncalls = [1]", (), "--yes"),
    ],
)
def test_bad_command_lines(text: str, args: tuple[str, ...], words: str, tmp_path: Path) -> None:
    spec = tmp_path / "spec.toml"
    spec.write_text(text)
    said = command("sweep", spec, "--store", tmp_path / "store", *args)
    assert (said.returncode, said.stdout) == (2, "")
    assert said.stderr.startswith("tollgate: ")
    assert words in said.stderr


def test_other_commands_are_those_of_the_program() -> None:
    assert command("--version").stdout.startswith("tollgate ")


def test_plots_show_what_the_frame_has(tmp_path: Path) -> None:
    done = tollgate_perf.sweep(SPACE, store=tmp_path)
    frame = done.frame()
    image = done.heat_map("core.memory.latency", "core.l1i.geometry").get_images()[0].get_array()
    assert image is not None
    mean = frame[(frame["core.memory.latency"] == 20) & (frame["core.l1i.geometry"] == "16:2:64")]["estimate"].mean()
    assert image[0][0] == mean
    lines = done.main_effects().get_lines()
    assert [line.get_label() for line in lines] == [
        "core.memory.latency: 20 to 60",
        "core.l1i.geometry: 16:2:64 to 64:4:64",
    ]
    assert done.pareto("core.memory.latency", "estimate").get_legend() is not None
    with pytest.raises(tollgate_perf.UsageError, match="no column 'latency'"):
        done.pareto("latency", "estimate")
    cold = done.heat_map("core.memory.latency", "core.l1i.geometry", where={"asked.caches": "cold"})
    image = cold.get_images()[0].get_array()
    assert image is not None
    rows = frame[(frame["core.memory.latency"] == 20) & (frame["core.l1i.geometry"] == "16:2:64")]
    assert image[0][0] == rows[rows["asked.caches"] == "cold"]["estimate"].item()
    assert done.main_effects().get_ylabel() == "mean estimate (cycles)"
    with pytest.raises(tollgate_perf.UsageError, match=r"no row has asked\.caches = 'hot'"):
        done.main_effects(where={"asked.caches": "hot"})
    with pytest.raises(tollgate_perf.UsageError, match="no column 'caches'"):
        done.main_effects(where={"caches": "hot"})


def test_the_front_is_what_no_other_point_undercuts() -> None:
    assert _plots.front([(1, 9), (2, 5), (2, 6), (3, 5), (4, 1), (9, 1)]) == [(1, 9), (2, 5), (4, 1)]
