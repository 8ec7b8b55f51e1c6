"""The how-to guides and the notebook, executed."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import distributed
import marked
import nbclient
import nbformat
import pytest
from jupyter_client.manager import start_new_kernel

ROOT = Path(__file__).resolve().parent.parent


def blocks(name: str) -> str:
    """The Python of a page."""
    page = ROOT.parent / "docs" / "howto" / name
    return "\n".join(re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL))


def test_the_guide_to_sweeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(blocks("sweep.md"), names)
    printed = capsys.readouterr().out
    assert "4 computed, 12 from the store" in printed
    assert "332833500" in printed, "what the workers of its cluster computed"
    assert len(names["frame"]) == 24
    assert not names["larger"].failures
    assert not names["sweep"].failures


def test_the_guide_to_fleets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", host="127.0.0.1") as cluster:
        names: dict[str, Any] = {"address": cluster.scheduler_address}
        exec(blocks("fleet.md"), names)
        names["client"].close()
    assert not names["found"].failures
    assert "1 host is of this kind" in " ".join(repr(names["found"]).split())
    assert (tmp_path / "fleet.html").read_text().startswith("<!DOCTYPE html>")
    assert len(list((tmp_path / "fleet-records").iterdir())) == 1


def test_the_notebook(tmp_path: Path) -> None:
    notebook = nbformat.read(ROOT / "tutorial.ipynb", as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells), "saved without outputs"
    done = nbclient.NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    ).execute(env={**os.environ, "XDG_DATA_HOME": str(tmp_path)})
    shown = [output for cell in done.cells for output in cell.get("outputs", ())]
    assert any("iframe" in output.get("data", {}).get("text/html", "") for output in shown)
    assert any("image/png" in output.get("data", {}) for output in shown)


def test_an_interrupted_cell_has_shown_progress_and_leaves_nothing() -> None:
    word = marked.mark()
    manager, client = start_new_kernel(kernel_name="python3", env={**os.environ, marked.NAME: word})

    def run(code: str, *, until: str) -> tuple[str, dict[str, Any]]:
        """What a cell prints, and how it ends; it is interrupted when it has printed this."""
        cell, text = client.execute(code), ""
        while True:
            message = client.get_iopub_msg(timeout=120)
            # What the kernel says of its start is in the same channels.
            if message["parent_header"].get("msg_id") != cell:
                continue
            if message["msg_type"] == "stream":
                before, text = text, text + message["content"]["text"]
                if until in text and until not in before:
                    manager.interrupt_kernel()
            if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
                replies = iter(lambda: client.get_shell_msg(timeout=120), None)
                return text, next(it["content"] for it in replies if it["parent_header"]["msg_id"] == cell)

    try:
        said, ended = run("import tollgate_perf; tollgate_perf.run(thorough=True)", until="%")
        assert "\r" in said, "a line that is written over"
        assert ended["ename"] == "KeyboardInterrupt"
        assert run("print(2)", until="never")[0] == "2\n"
        assert [it for it in marked.processes(word) if "ipykernel" not in it] == []
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)
