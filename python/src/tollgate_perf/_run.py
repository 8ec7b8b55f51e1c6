"""A run: what one call of the program measured."""

from __future__ import annotations

import functools
import html
import json
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tollgate_perf import _program
from tollgate_perf._errors import Error, MissingPackage

if TYPE_CHECKING:
    import pandas

    from tollgate_perf import records

UNITS = ("ns", "cycles", "instructions")
"""In which a row can have its figure, the first that it has being the one that a frame shows."""


class Run:
    """One call of the program and all that it found. In a notebook it shows its report.

    >>> run = tollgate_perf.riscv.trap(core="rocket", iterations=20)
    >>> run.frame()[["probe", "unit", "asked.caches"]].to_dict("records")[0]
    {'probe': 'riscv-trap/getpid', 'unit': 'cycles', 'asked.caches': 'warm'}
    """

    def __init__(self, document: dict[str, Any]) -> None:
        """Takes the record as the program printed it."""
        self.document = document

    @functools.cached_property
    def record(self) -> records.Run:
        """The whole record, typed."""
        from tollgate_perf import records
        from tollgate_perf._decode import decode

        return decode(records.Run, self.document)

    @property
    def id(self) -> str:
        """The run's unique name."""
        return str(self.document["id"])

    @property
    def host(self) -> records.Host:
        """The machine that was measured."""
        return self.record.host

    @property
    def results(self) -> list[records.Measurement]:
        """One entry for each row."""
        return self.record.results

    @property
    def warnings(self) -> list[records.Warning]:
        """What a reader of the figures must know: of the run, then of its rows."""
        found = list(self.record.warnings)
        for row in self.results:
            found += row.warnings
        return found

    @property
    def failed(self) -> list[records.Measurement]:
        """The rows that should have worked and did not; `reason` says why."""
        return [row for row in self.results if row.status == "failed"]

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of `frame`, for programs without pandas."""
        for result in self.document["results"]:
            unit = next((it for it in UNITS if result.get(it)), None)
            figure = result[unit] if unit else {}
            low, high = figure.get("ci", (None, None))
            yield {
                "probe": result["probe"],
                "status": result["status"],
                "reason": result.get("reason"),
                "engine": result["engine"],
                "per": result.get("per"),
                "unit": unit,
                "estimate": figure.get("estimate"),
                "low": low,
                "high": high,
                **{key: figure.get(key) for key in ("min", "p50", "p99")},
                "samples": result.get("samples"),
                "warnings": len(result.get("warnings", ())),
                **_flat("asked", result.get("asked", {})),
                **_flat("found", result.get("found", {})),
                **_flat("proof", result.get("proof", {})),
            }

    def frame(self) -> pandas.DataFrame:
        """One row a probe: the figure with its interval, its unit, the proof, what was asked and found."""
        return frame(list(self.rows()))

    def phases(self) -> pandas.DataFrame:
        """One row a phase of a bill: its figure in each unit, and how it is known."""
        rows = []
        for result in self.document["results"]:
            for phase in result.get("phases", ()):
                row = {"probe": result["probe"], **_flat("asked", result.get("asked", {}))}
                row |= {"phase": phase["name"], "evidence": phase["evidence"]}
                for unit in UNITS:
                    figure = phase.get(unit)
                    row[unit] = figure["estimate"] if isinstance(figure, dict) else figure
                rows.append(row)
        return frame(rows)

    def to_json(self) -> str:
        """The record as the program reads it."""
        return json.dumps(self.document, ensure_ascii=False)

    def save(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes the record to a file, which `load` and every command of the program read.

        Without a path it is written to where the program keeps its runs: `tollgate show` lists it, and `load` reads it by its id.

        >>> tollgate_perf.riscv.trap(core="rocket", iterations=20).save("trap.json")
        PosixPath('trap.json')
        """
        target = data_folder() / f"{self.id}.json" if path is None else Path(path)
        if path is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all, and by a name that nobody can know before.
        unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
        try:
            with open(unfinished, "x") as file:
                file.write(self.to_json() + "\n")
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
        return target

    def page(self) -> str:
        """The report: one HTML page that needs nothing else."""
        with tempfile.TemporaryDirectory(prefix="tollgate-") as folder:
            path, out = self.save(Path(folder) / "run.json"), Path(folder) / "page.html"
            _program.call(["report", str(path), "--out", str(out)], progress=False).check()
            return out.read_text()

    def text(self) -> str:
        """What the program prints of this run in a terminal."""
        with tempfile.TemporaryDirectory(prefix="tollgate-") as folder:
            path = str(self.save(Path(folder) / "run.json"))
            return _program.call(["show", path], progress=False).check().stdout.decode()

    def __repr__(self) -> str:
        """The command and the number of its rows."""
        count = len(self.document["results"])
        return f"<tollgate_perf.Run {' '.join(self.document['command'])!r}: {count} row{'s'[: count != 1]}>"

    def _repr_html_(self) -> str:
        return framed(self.page())


class Comparison:
    """What differs between runs."""

    def __init__(self, document: dict[str, Any], text: str) -> None:
        """Takes what the program printed, as JSON and as text."""
        self.document = document
        self._text = text

    @property
    def rows(self) -> list[dict[str, Any]]:
        """One entry for each probe that both sides measured."""
        return list(self.document["rows"])

    @property
    def differences(self) -> list[dict[str, str]]:
        """What differs besides the figures."""
        return list(self.document["differences"])

    def frame(self) -> pandas.DataFrame:
        """One row a probe: its verdict, the ratio and its interval."""
        plain = (str, int, float, bool, type(None))
        rows = []
        for row in self.rows:
            low, high = row.get("interval") or (None, None)
            flat = {key: value for key, value in row.items() if isinstance(value, plain)}
            rows.append(flat | {"low": low, "high": high})
        return frame(rows)

    def __repr__(self) -> str:
        """The table that the program prints."""
        return self._text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self._text)}</pre>"


class Failed(Error):
    """A run with rows or parts that failed."""

    def __init__(self, sentence: str, run: Run) -> None:
        """Keeps what was measured until then."""
        super().__init__(sentence)
        self.run = run
        """What was measured."""


def data_folder() -> Path:
    """Where the program keeps its runs."""
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if os.path.isabs(data) else Path.home() / ".local" / "share") / "tollgate"


def frame(rows: list[dict[str, Any]]) -> pandas.DataFrame:
    """A frame of rows."""
    try:
        import pandas
    except ImportError as error:
        raise MissingPackage("pandas", "pandas") from error
    columns = dict.fromkeys(key for row in rows for key in row)
    made: pandas.DataFrame = pandas.DataFrame({key: [row.get(key) for row in rows] for key in columns})
    return made


def framed(text: str) -> str:
    """A page within a notebook, which neither changes."""
    return f'<iframe srcdoc="{html.escape(text)}" style="width:100%;height:40em;border:0"></iframe>'


def read(text: bytes) -> dict[str, Any]:
    """The JSON document that the program printed."""
    try:
        document = json.loads(text)
    except ValueError as error:
        _program.check_ours(_program.path())
        raise Error(f"the program printed no document: {error}") from error
    if not isinstance(document, dict):
        _program.check_ours(_program.path())
        raise Error("the program printed no document")
    return document


def read_run(text: bytes) -> Run:
    """The record that the program printed."""
    document = read(text)
    if not str(document.get("schema", "")).startswith("tollgate/"):
        _program.check_ours(_program.path())
        raise Error("the program printed no record")
    return Run(document)


def _flat(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """The plain values of a part of a record, as columns `part.key`."""
    plain = (str, int, float, bool)
    return {f"{name}.{key}": it for key, it in values.items() if key != "family" and isinstance(it, plain)}
