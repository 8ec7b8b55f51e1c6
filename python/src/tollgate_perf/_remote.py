"""What a worker does: the points of a batch, one after another."""

from __future__ import annotations

import contextvars
import itertools
import numbers
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tollgate_perf import _host, _program, _store
from tollgate_perf._errors import Error
from tollgate_perf._run import Run
from tollgate_perf._space import Point, apply, arguments

Outcome = tuple[int, bytes | None, str | None]
"""The number of a point, and its rows as the store keeps them or why it has none."""


@dataclass(frozen=True)
class Order:
    """What all points of a lane share."""

    call: Callable[..., Any]
    tool: tuple[str, str]
    timeout: float | None
    host: str | None
    """The host on which the points are computed alone, if they measure it."""
    patience: float
    owner: str
    """The sweep."""


def batch(order: Order, points: list[tuple[int, Point]]) -> tuple[list[Outcome], float]:
    """Computes points until the sweep is stopped, and the seconds that it took."""
    begun = time.monotonic()
    if _store.tool() != tuple(order.tool):
        here, there = "-".join(_store.tool()), "-".join(order.tool)
        return [(number, None, f"this worker has tollgate {here}, and {there} is wanted") for number, _ in points], 0.0
    with _alone(order.host, order.patience) as keep:
        limits = _program.Limits(order.timeout, keep, is_beside_others=order.host is None, owner=order.owner)
        left = itertools.takewhile(lambda _: not _program.is_stopped(order.owner), points)
        outcomes = [one(order.call, number, point, limits) for number, point in left]
    return outcomes, time.monotonic() - begun


@contextmanager
def _alone(host: str | None, patience: float) -> Iterator[tuple[int, ...]]:
    if host is None:
        yield ()
        return
    with _host.alone(host, patience) as descriptor:
        yield (descriptor,)


def one(call: Callable[..., Any], number: int, point: Point, limits: _program.Limits) -> Outcome:
    """Computes one point. Whatever goes wrong with it is its reason."""

    def compute() -> Outcome:
        _program.LIMITS.set(limits)
        try:
            return number, _store.text(rows(apply(call, arguments(point)))), None
        except Error as error:
            return number, None, str(error)
        except Exception as error:
            return number, None, f"{type(error).__name__}: {error}"

    return contextvars.copy_context().run(compute)


def rows(result: Any) -> _store.Rows:
    """The rows of what a function returned."""
    if isinstance(result, Run):
        return [_row(row, entry) for row, entry in zip(result.rows(), result.document["results"], strict=True)]
    if isinstance(result, dict):
        return [result]
    if isinstance(result, list) and all(isinstance(it, dict) for it in result):
        return result
    if isinstance(result, numbers.Real):
        return [{"value": result}]
    raise TypeError(f"a point's function returns a Run, a mapping or a number, and not {type(result).__name__}")


def _row(row: dict[str, Any], entry: dict[str, Any]) -> dict[str, Any]:
    unit = row["unit"]
    for phase in entry.get("phases", ()):
        figure = phase.get(unit)
        row[f"phase.{phase['name']}"] = figure["estimate"] if isinstance(figure, dict) else figure
    return row
