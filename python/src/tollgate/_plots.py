"""Pictures of sweeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tollgate._errors import MissingPackage, UsageError

if TYPE_CHECKING:
    import matplotlib.axes
    import pandas


def main_effects(frame: pandas.DataFrame, axes: list[str], y: str) -> matplotlib.axes.Axes:
    """For each axis the mean of `y` over its values, as a share of the mean of all."""
    plot = _axes()
    measured = _measured(frame, [*axes, y])
    for axis in axes:
        means = measured.groupby(axis, sort=True)[y].mean()
        if len(means) > 1:
            places = [it / (len(means) - 1) for it in range(len(means))]
            plot.plot(places, means.to_numpy(), marker="o", label=f"{axis}: {means.index[0]} to {means.index[-1]}")
    plot.set_xticks([])
    plot.set_xlabel("values of each axis, from the first to the last")
    plot.set_ylabel(f"mean {y}")
    plot.legend()
    return plot


def heat_map(frame: pandas.DataFrame, x: str, y: str, z: str) -> matplotlib.axes.Axes:
    """The mean of `z` over two axes."""
    table = _measured(frame, [x, y, z]).pivot_table(index=y, columns=x, values=z, aggfunc="mean")
    plot = _axes()
    image = plot.imshow(table.to_numpy(), origin="lower", aspect="auto")
    plot.set_xticks(range(len(table.columns)), [str(it) for it in table.columns])
    plot.set_yticks(range(len(table.index)), [str(it) for it in table.index])
    plot.set_xlabel(x)
    plot.set_ylabel(y)
    plot.figure.colorbar(image, ax=plot, label=z)
    return plot


def pareto(frame: pandas.DataFrame, x: str, y: str) -> matplotlib.axes.Axes:
    """All points, and the front of those that no other one undercuts in both."""
    measured = _measured(frame, [x, y])
    plot = _axes()
    plot.scatter(measured[x], measured[y], s=12, alpha=0.5)
    best = front(list(zip(measured[x], measured[y], strict=True)))
    plot.step([it[0] for it in best], [it[1] for it in best], where="post", color="tab:red", label="Pareto front")
    plot.set_xlabel(x)
    plot.set_ylabel(y)
    plot.legend()
    return plot


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
