"""What other users of the host can do: take a name first, plant a link, own a folder, hold the lock."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import tollgate_perf
from tollgate_perf import _host, _program, _store

NOBODY = 65534

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to another user")


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A temporary folder as every user has it, without a session of this user."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    folder.chmod(0o1777)
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.delenv("TOLLGATE_HOST", raising=False)
    monkeypatch.setattr(_host, "SHARED", str(tmp_path / "shared"))
    real = os.stat
    monkeypatch.setattr(os, "stat", lambda path, **how: real("/no" if str(path).startswith("/run/user") else path, **how))
    return folder


def own(temporary: Path) -> Path:
    return temporary / f"tollgate-{os.geteuid()}"


def test_the_lock_makes_no_file_and_changes_no_mode(temporary: Path) -> None:
    # The name that earlier versions opened through a link, to make what it leads to writable for all.
    secret = temporary.parent / "secret"
    secret.write_text("mine")
    secret.chmod(0o600)
    (temporary / "tollgate-machine-boot.lock").symlink_to(secret)
    with _host.alone("machine/boot", 1):
        pass
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert stat.S_IMODE(own(temporary).stat().st_mode) == 0o700
    assert [it.name for it in own(temporary).iterdir()] == ["machine-boot"]


@pytest.mark.parametrize("planted", ["link", "dangling", "file"])
def test_what_was_planted_under_the_name_of_the_lock_is_refused(planted: str, temporary: Path) -> None:
    victim = temporary.parent / "victim"
    if planted == "file":
        own(temporary).write_text("")
    else:
        if planted == "link":
            victim.mkdir()
        own(temporary).symlink_to(victim)
    with (
        pytest.raises(OSError, match=re.escape(f"'{own(temporary)}' is not a folder but a file or a link")),
        _host.alone("a/b", 1),
    ):
        pass
    assert victim.exists() == (planted == "link")
    assert planted != "link" or not list(victim.iterdir())


@root_only
@pytest.mark.parametrize("at", ["own", "above"])
def test_a_folder_of_another_user_is_refused(at: str, temporary: Path) -> None:
    target = own(temporary) if at == "own" else temporary
    target.mkdir(exist_ok=True)
    os.chown(target, NOBODY, NOBODY)
    with pytest.raises(OSError, match=f"'{target}' belongs to user .*65534"), _host.alone("a/b", 1):
        pass


@pytest.mark.parametrize("mode", [0o777, 0o720, 0o702])
def test_a_folder_that_others_may_write_is_refused(mode: int, temporary: Path) -> None:
    own(temporary).mkdir()
    own(temporary).chmod(mode)
    if mode == 0o720 and os.geteuid() != 0:
        pytest.skip("the group is the user's own")
    with pytest.raises(OSError, match="may write to"), _host.alone("a/b", 1):
        pass


@root_only
@pytest.mark.parametrize(
    ("mode", "owner", "is_used"), [(0o1777, 0, True), (0o755, 0, True), (0o777, 0, False), (0o1777, NOBODY, False)]
)
def test_only_a_folder_of_root_is_shared(mode: int, owner: int, is_used: bool, temporary: Path) -> None:
    shared = Path(_host.SHARED)
    shared.mkdir()
    shared.chmod(mode)
    os.chown(shared, owner, owner)
    with _host.alone("a/b", 1):
        assert own(temporary).exists() != is_used
    assert not list(shared.iterdir())


def test_a_session_of_this_user_is_preferred(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session = temporary.parent / "session"
    session.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(session))
    with _host.alone("a/b", 1):
        assert not own(temporary).exists()
    session.chmod(0o750)
    with _host.alone("a/b", 1):
        assert own(temporary).exists()


def test_who_holds_the_lock_is_named(temporary: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    code = (
        "import sys, tempfile, time; from tollgate_perf import _host; tempfile.tempdir, _host.SHARED = sys.argv[1:3]\n"
        "with _host.alone('a/b', 1): print(flush=True), time.sleep(600)"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(tollgate_perf.__file__).parent.parent)}
    words = [sys.executable, "-c", code, str(temporary), _host.SHARED]
    with subprocess.Popen(words, stdout=subprocess.PIPE, env=environment) as child:
        assert child.stdout is not None
        child.stdout.readline()
        monkeypatch.setattr(_host, "TELL_S", 0.0)
        who = rf"process {child.pid} \('python[^']*'\) of user .*\b{os.geteuid()}\b"
        with pytest.raises(TimeoutError, match=f"another measurement ran on this host for 0.1 s: {who}"), _host.alone("a/b", 0.1):
            pass
        child.kill()
    assert re.search(f"tollgate: waiting up to 0.1 s for {who}", capfd.readouterr().err)


@pytest.mark.parametrize("what", ["folder", "above", "link", "file"])
@root_only
def test_a_store_that_another_user_can_change_is_refused(what: str, tmp_path: Path) -> None:
    folder = tmp_path / "above" / "store"
    _store.Store(folder).close()
    if what == "link":
        link = tmp_path / "link"
        link.symlink_to(folder)
        os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
        folder = link
    else:
        os.chown({"folder": folder, "above": folder.parent, "file": folder / _store.NAME}[what], NOBODY, NOBODY)
    with pytest.raises(tollgate_perf.UsageError, match=r"is not safe: .* belongs to user .*65534"):
        _store.Store(folder)


def test_a_saved_record_does_not_follow_a_link_of_a_known_name(tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / f"run.json.{os.getpid()}").symlink_to(victim)
    tollgate_perf.Run({"id": "x", "results": [], "command": []}).save(tmp_path / "run.json")
    assert victim.read_text() == "mine"
    assert sorted(it.name for it in tmp_path.iterdir()) == ["run.json", f"run.json.{os.getpid()}", "victim"]


@pytest.mark.parametrize("script", ["echo tollgate 1.4.0", "echo '{}'; exit 0", "echo '[1]'", "exit 2"])
def test_a_program_of_another_project_is_named(script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "tollgate"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.delenv("TOLLGATE_PROGRAM", raising=False)
    monkeypatch.setattr("sysconfig.get_path", lambda *_: str(tmp_path))
    _program.path.cache_clear()
    try:
        with pytest.raises(
            tollgate_perf.NoProgram, match=rf"{program} is another project's program; .*'pip install tollgate-perf'"
        ):
            tollgate_perf.run("null", quick=True)
        # The same for one that was named, once it does not answer as ours.
        monkeypatch.setenv("TOLLGATE_PROGRAM", str(program))
        with pytest.raises(tollgate_perf.NoProgram, match="another project's program"):
            tollgate_perf.run("null", quick=True)
    finally:
        _program.path.cache_clear()


def test_a_package_of_another_project_is_not_taken_for_this_one(tmp_path: Path) -> None:
    (tmp_path / "tollgate").mkdir()
    (tmp_path / "tollgate" / "__init__.py").write_text("")
    source = Path(_host.__file__).read_text()
    code = f"{source}\nprint(facts()['reason'])"
    said = subprocess.run([sys.executable, "-"], input=code, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True)
    assert said.stdout == "the package tollgate-perf is not installed there: run 'pip install tollgate-perf'\n", said
