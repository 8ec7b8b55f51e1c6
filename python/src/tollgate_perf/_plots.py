"""Pictures of sweeps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tollgate_perf._errors import MissingPackage, UsageError

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas


def main_effects(frame: pandas.DataFrame, axes: list[str], y: str) -> matplotlib.axes.Axes:
    """For each axis the mean of `y` over its values."""
    plot = _axes()
    measured = _measured(frame, [*axes, y])
    for axis in axes:
        means = measured.groupby(axis, sort=True)[y].mean()
        if len(means) > 1:
            places = [it / (len(means) - 1) for it in range(len(means))]
            plot.plot(places, means.to_numpy(), marker="o", label=f"{axis}: {means.index[0]} to {means.index[-1]}")
    plot.set_xticks([])
    plot.set_xlabel("values of each axis, from the first to the last")
    plot.set_ylabel(f"mean {_labeled(measured, y)}")
    plot.legend()
    return plot


def heat_map(frame: pandas.DataFrame, x: str, y: str, z: str) -> matplotlib.axes.Axes:
    """The mean of `z` over two axes."""
    measured = _measured(frame, [x, y, z])
    table = measured.pivot_table(index=y, columns=x, values=z, aggfunc="mean")
    plot = _axes()
    image = plot.imshow(table.to_numpy(), origin="lower", aspect="auto")
    plot.set_xticks(range(len(table.columns)), [str(it) for it in table.columns])
    plot.set_yticks(range(len(table.index)), [str(it) for it in table.index])
    plot.set_xlabel(x)
    plot.set_ylabel(y)
    plot.figure.colorbar(image, ax=plot, label=f"mean {_labeled(measured, z)}")
    return plot


def pareto(frame: pandas.DataFrame, x: str, y: str) -> matplotlib.axes.Axes:
    """All points, and the front of those that no other one undercuts in both."""
    measured = _measured(frame, [x, y])
    plot = _axes()
    plot.scatter(measured[x], measured[y], s=12, alpha=0.5)
    best = front(list(zip(measured[x], measured[y], strict=True)))
    plot.step([it[0] for it in best], [it[1] for it in best], where="post", marker="o", color="tab:red", label="Pareto front")
    plot.set_xlabel(_labeled(measured, x))
    plot.set_ylabel(_labeled(measured, y))
    plot.legend()
    return plot


def chosen(frame: pandas.DataFrame, where: Mapping[str, Any] | None) -> pandas.DataFrame:
    """The rows whose columns have these values."""
    for column, value in (where or {}).items():
        frame = frame[_measured(frame, [column])[column].reindex(frame.index) == value]
        if frame.empty:
            raise UsageError(f"no row has {column} = {value!r}")
    return frame


def _labeled(frame: pandas.DataFrame, column: str) -> str:
    """A column with its unit, if all its figures have the same."""
    is_figure = column in ("estimate", "low", "high", "min", "p50", "p99") or column.startswith("phase.")
    units: list[str] = list(frame["unit"].dropna().unique()) if is_figure and "unit" in frame else []
    return f"{column} ({units[0]})" if len(units) == 1 else column


def front(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points that no other one undercuts in both numbers, by the first number."""
    best: list[tuple[float, float]] = []
    for point in sorted(set(points)):
        if not best or point[1] < best[-1][1]:
            best.append(point)
    return best


def _measured(frame: pandas.DataFrame, columns: list[str]) -> pandas.DataFrame:
    for column in columns:
        if column not in frame:
            raise UsageError(f"the frame has no column '{column}' (there are: {', '.join(map(str, frame.columns))})")
    measured: pandas.DataFrame = frame.dropna(subset=[columns[-1]])
    return measured


def _axes() -> matplotlib.axes.Axes:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingPackage("matplotlib", "notebook") from error
    return Figure(layout="constrained").subplots()
