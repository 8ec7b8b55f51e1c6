"""The commands as functions, the record, errors and manners."""

from __future__ import annotations

import doctest
import errno
import importlib
import inspect
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import marked
import pytest

import tollgate_perf
from tollgate_perf import _commands, _program, riscv

TOOLS = Path(__file__).resolve().parent.parent / "tools"

# What every function leaves out: where the result goes is the caller's business, and `compare` alone judges.
DESTINATION = {"json", "markdown", "out", "warnings", "all", "store", "no-save", "help", "version"}
COMMANDS: dict[str, tuple[Any, set[str]]] = {
    "run": (_commands.run, {"against", "against-with", "until", "fail-above", "markdown", "explain", "by-time"}),
    "ring": (_commands.ring, set()),
    "crossing": (_commands.crossing, set()),
    "fault kinds": (_commands.fault_kinds, set()),
    "exec": (_commands.exec, {"against", "at-most", "fail-above", "timeline"}),
    "compare": (_commands.compare, {"with", "fail-above", "markdown", "explain"}),
    "riscv trap": (riscv.trap, set()),
    "riscv icache": (riscv.icache, set()),
    "riscv pipeline": (riscv.pipeline, {"format"}),
}


def bill(**how: Any) -> tollgate_perf.Run:
    return riscv.trap(core="rocket", iterations=20, **how)


@pytest.mark.parametrize("made", ["records", "page"])
def test_what_is_made_from_elsewhere_has_not_drifted(made: str) -> None:
    """The dataclasses are those of the schema, and the page says what the docstrings say."""
    blessing = ["--check"] if os.environ.get("TOLLGATE_BLESS") != "1" else []
    done = subprocess.run([sys.executable, TOOLS / f"bless_{made}.py", *blessing], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_the_keywords_are_the_options_of_the_help(command: str) -> None:
    function, left_out = COMMANDS[command]
    text = _program.call([*command.split(), "--help"]).stdout.decode().partition("Examples:")[0]
    offered = dict(re.findall(r"^\s+(?:-\w, )?--([\w-]+)(?: <(\S+)>)?", text, re.MULTILINE))
    kinds = (inspect.Parameter.KEYWORD_ONLY,)
    keywords = {
        name.rstrip("_").replace("_", "-"): parameter
        for name, parameter in inspect.signature(function, eval_str=True).parameters.items()
        if parameter.kind in kinds and name not in ("progress",)
    }
    assert set(keywords) == set(offered) - DESTINATION - left_out
    for name, parameter in keywords.items():
        is_flag = offered[name] == ""
        assert (parameter.annotation is bool) == is_flag, name
        section = re.split(r"^\s+(?:-\w, )?--", text.split(f"--{name}", 1)[1], maxsplit=1, flags=re.MULTILINE)[0]
        possible = re.findall(r"^\s+- ([\w-]+):", section, re.MULTILINE)
        listed = re.search(r"\[possible values: ([^\]]+)\]", section)
        assert _literals(parameter.annotation) == (listed[1].split(", ") if listed else possible), name


def _literals(kind: Any) -> list[str]:
    from typing import Literal, get_args, get_origin

    if get_origin(kind) is Literal:
        return list(get_args(kind))
    return [word for it in get_args(kind) for word in _literals(it)]


def test_a_frame_has_what_the_record_has() -> None:
    run = bill()
    frame = run.frame()
    assert list(frame["probe"]) == [row.probe for row in run.results]
    first, document = run.results[0], run.document["results"][0]
    assert first.cycles is not None
    assert frame["estimate"][0] == first.cycles.estimate == document["cycles"]["estimate"]
    assert (frame["low"][0], frame["high"][0]) == first.cycles.ci
    assert frame["unit"][0] == "cycles"
    assert frame["proof.traps-per-crossing"][0] == 1.0
    assert frame["asked.core"][0] == "rocket"
    assert "found.family" not in frame


def test_phases_add_up_to_the_bill() -> None:
    run = bill()
    phases = run.phases()
    for caches, row in zip(("warm", "cold"), run.results, strict=True):
        assert row.cycles is not None
        assert phases[phases["asked.caches"] == caches]["cycles"].sum() == row.cycles.estimate


def test_a_core_is_a_preset_with_changed_keys() -> None:
    slow = {"base": "rocket", "memory": {"latency": 300}}
    cold = [bill().results[1], riscv.trap(core=slow, iterations=20).results[1]]
    assert cold[0].cycles is not None
    assert cold[1].cycles is not None
    assert cold[1].cycles.estimate > cold[0].cycles.estimate
    assert riscv.core_toml({"base": "rocket", "l1i": {"geometry": "64:2:64"}, "memory": {"stores-wait": True}}) == (
        "base = 'rocket'\n[l1i]\ngeometry = '64:2:64'\n[memory]\nstores-wait = true\n"
    )


def test_a_run_is_saved_and_read_back(tmp_path: Path) -> None:
    run = bill()
    path = run.save(tmp_path / "run.json")
    assert tollgate_perf.load(path).document == json.loads(path.read_text()) == run.document
    assert "<svg" in run.page()
    assert run._repr_html_().startswith("<iframe srcdoc=")
    assert "rocket" in run.text()
    assert repr(run) == f"<tollgate_perf.Run {' '.join(run.document['command'])!r}: 2 rows>"


def test_a_measurement_has_its_host_and_a_comparison_its_rows() -> None:
    a, b = (tollgate_perf.run("syscall/getppid", quick=True, seed=seed) for seed in (1, 2))
    assert a.host.arch == os.uname().machine
    assert a.record.seed == 1
    compared = tollgate_perf.compare(a, [b])
    assert [row["probe"] for row in compared.rows] == ["syscall/getppid"]
    assert list(compared.frame()["probe"]) == ["syscall/getppid"]
    assert "syscall" in repr(compared)


def test_what_a_program_pays(tmp_path: Path) -> None:
    run = tollgate_perf.exec(["sh", "-c", f"echo it > {tmp_path / 'ran'}; exit 3"], count="none", price="none")
    assert (tmp_path / "ran").read_text() == "it\n"
    assert run.results[0].probe == "exec/total"
    assert run.frame()["found.status"][0] == 3


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: riscv.trap(core="rockett"), tollgate_perf.UsageError, "the nearest is 'rocket'"),
        (
            lambda: riscv.trap(core={"base": "rocket", "memory": {"latncy": 1}}),
            tollgate_perf.UsageError,
            "nearest is 'latency'",
        ),
        (lambda: riscv.trap(kernel="ful"), tollgate_perf.UsageError, "no such design"),
        (lambda: tollgate_perf.run("sycall"), tollgate_perf.UsageError, "sycall"),
        (lambda: tollgate_perf.ring(procs=1), tollgate_perf.UsageError, "a ring needs at least 2 tasks"),
        (lambda: tollgate_perf.load("/nowhere.json"), tollgate_perf.UsageError, "cannot read /nowhere.json"),
        (lambda: tollgate_perf.compare("/nowhere.json", "/n.json"), tollgate_perf.UsageError, "cannot read /nowhere.json"),
        (lambda: tollgate_perf.exec(["/no/such/program"]), tollgate_perf.Error, "/no/such/program"),
        (lambda: riscv.icache("/no/such.c"), tollgate_perf.UsageError, "/no/such.c"),
    ],
)
def test_errors_are_exceptions_with_the_sentence(call: Any, kind: type[Exception], words: str) -> None:
    with pytest.raises(kind, match=re.escape(words)):
        call()


def test_a_missing_program_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    _program.path.cache_clear()
    monkeypatch.setenv("TOLLGATE_PROGRAM", "/no/such/tollgate")
    try:
        with pytest.raises(tollgate_perf.NoProgram, match="/no/such/tollgate"):
            bill()
    finally:
        _program.path.cache_clear()


@pytest.mark.parametrize("linux", ["new", "before 5.3"])
def test_a_program_that_ends_after_its_output_is_waited_for_without_looking_again_and_again(
    linux: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def sleep(seconds: float) -> None:
        pytest.fail(f"it sleeps {seconds} s")

    def refuse(_: int) -> int:
        raise OSError(errno.ENOSYS, "not there")

    def call(lines: str, timeout: float) -> _program.Answer:
        program.write_text(f"#!/bin/sh\n{lines}")
        program.chmod(0o755)
        _program.path.cache_clear()
        limits = _program.LIMITS.set(_program.Limits(timeout=timeout))
        try:
            return _program.call([""], progress=False)
        finally:
            _program.LIMITS.reset(limits)
            _program.path.cache_clear()

    program = tmp_path / "tollgate"
    monkeypatch.setenv("TOLLGATE_PROGRAM", str(program))
    if linux != "new":
        monkeypatch.setattr(os, "pidfd_open", refuse)
    with pytest.raises(tollgate_perf.Error, match=r"it did not end within 0\.5 s"):
        call("exec sleep 600\n", 0.5)
    monkeypatch.setattr(time, "sleep", sleep)
    answer = call("echo said\necho to you >&2\nexec >&- 2>&-\nsleep 0.2\nexit 3\n", 60.0)
    assert (answer.stdout, answer.stderr, answer.status) == (b"said\n", "to you\n", 3)


def test_a_frame_says_what_installs_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    run = bill()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(tollgate_perf.MissingPackage, match=r"pip install 'tollgate-perf\[pandas\]'"):
        run.frame()
    assert [row["unit"] for row in run.rows()] == ["cycles", "cycles"]


def test_progress_is_reported_to_its_end() -> None:
    shown: list[tuple[float, str]] = []
    tollgate_perf.run("syscall/getppid", quick=True, progress=lambda share, what: shown.append((share, what)))
    assert all(0 <= share <= 1 for share, _ in shown)
    assert any(what for _, what in shown)
    assert shown[-1] == (1.0, "")


def test_importing_loads_nothing() -> None:
    code = "import sys; before = set(sys.modules); import tollgate_perf; print(*sorted(set(sys.modules) - before))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "tollgate_perf" in loaded
    assert not {"subprocess", "dataclasses", "json", "pandas", "distributed", "tollgate_perf._run"} & set(loaded)


def test_every_name_is_there() -> None:
    for name in tollgate_perf.__all__:
        assert getattr(tollgate_perf, name) is not None
    assert set(tollgate_perf.__all__) <= set(dir(tollgate_perf))
    with pytest.raises(AttributeError, match="has no attribute 'rnu'"):
        tollgate_perf.rnu  # noqa: B018


def wait_until(condition: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


@pytest.mark.parametrize(
    "code",
    ["tollgate_perf.run(thorough=True, progress=show)", "tollgate_perf.riscv.trap(core='cva6', iterations=10**7, progress=show)"],
)
def test_interrupting_leaves_nothing(code: str) -> None:
    mark = marked.mark()
    # A shell that starts the tests in the background has SIGINT ignored.
    begin = "import signal, tollgate_perf\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    # (The signal may come while it prints, and it is called once more at the end.)
    begin += "begun = []\ndef show(*_):\n    begun or (begun.append(1), print('begun', flush=True))\n"
    script = f"{begin}try:\n    {code}\nexcept KeyboardInterrupt:\n    print('interrupted')"
    python = subprocess.Popen(
        [sys.executable, "-c", script], env={**os.environ, marked.NAME: mark}, stdout=subprocess.PIPE, text=True
    )
    assert python.stdout is not None
    assert python.stdout.readline() == "begun\n"
    assert len(marked.processes(mark)) > 1
    python.send_signal(signal.SIGINT)
    said, _ = python.communicate(timeout=60)
    assert said == "interrupted\n"
    wait_until(lambda: not marked.processes(mark))


@pytest.mark.parametrize("how", ["tollgate_perf.run(thorough=True)", "tollgate_perf.exec(['sleep', '600'], price='none')"])
def test_a_killed_python_leaves_nothing(how: str) -> None:
    mark = marked.mark()
    python = subprocess.Popen([sys.executable, "-c", f"import tollgate_perf; {how}"], env={**os.environ, marked.NAME: mark})
    wait_until(lambda: len(marked.processes(mark)) > 2)
    python.kill()
    python.wait()
    wait_until(lambda: not marked.processes(mark))


def test_a_run_is_saved_where_the_program_keeps_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    run = bill()
    assert run.save().parent == tmp_path / "tollgate"
    assert tollgate_perf.load("latest").id == run.id == tollgate_perf.load(run.id[:12]).id
    assert [it.name for it in (tmp_path / "tollgate").iterdir()] == [f"{run.id}.json"]


MODULES = ["tollgate_perf", *(f"tollgate_perf.{it}" for it in ("_commands", "_run", "_space", "riscv", "sweeps", "fleets"))]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_help(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    found = doctest.testmod(module, extraglobs={"tollgate_perf": tollgate_perf}, optionflags=doctest.ELLIPSIS)
    assert found.failed == 0


def test_every_function_has_an_example() -> None:
    functions: list[Any] = [it for name in tollgate_perf.__all__ if inspect.isfunction(it := getattr(tollgate_perf, name))]
    functions += [riscv.trap, riscv.icache, riscv.pipeline]
    assert [it.__name__ for it in functions if ">>> " not in (it.__doc__ or "")] == []
