"""Design spaces: which points a sweep computes."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
import os
import random as _random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from tollgate_perf._errors import UsageError

Point = dict[str, Any]
Axes = Mapping[str, Any]
"""Each key with its values: a list, a tuple `(low, high)` of numbers for a range, or one value."""

MANY = 100_000
"""More points than this are computed only if that is confirmed."""


class Space:
    """Points, made one after another."""

    def __init__(self, axes: Axes, count: int, points: Callable[[], Iterator[Point]]) -> None:
        """Takes what makes the points, and how many there are."""
        self.axes = axes
        self._count = count
        self._points = points

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Point]:
        return self._points()


def grid(axes: Axes) -> Space:
    """Every combination of the values of the axes.

    >>> list(tollgate_perf.grid({"kernel": ["full", "caller"], "iterations": 100}))
    [{'kernel': 'full', 'iterations': 100}, {'kernel': 'caller', 'iterations': 100}]
    """
    values = {key: _values(key, it) for key, it in axes.items()}
    count = math.prod(len(it) for it in values.values())
    return Space(axes, count, lambda: (dict(zip(values, it, strict=True)) for it in itertools.product(*values.values())))


def points(several: Iterable[Mapping[str, Any]]) -> Space:
    """These points."""
    try:
        listed = [dict(it) for it in several]
    except (TypeError, ValueError) as error:
        raise UsageError("a point is a mapping of keys to values") from error
    return Space({}, len(listed), lambda: iter(listed))


def random(axes: Axes, count: int, seed: int) -> Space:
    """So many points, each axis drawn by itself: from a list, or from a range `(low, high)`.

    >>> points = tollgate_perf.random({"core": "rocket", "core.memory.latency": (10, 200)}, 50, seed=1)
    >>> len(points)
    50
    """
    axes = _drawn(axes, count)

    def draw() -> Iterator[Point]:
        chance = _random.Random(seed)
        for _ in range(count):
            yield {key: _at(it, chance.random()) for key, it in axes.items()}

    return Space(axes, count, draw)


def latin(axes: Axes, count: int, seed: int) -> Space:
    """A Latin hypercube: on each axis every one of `count` equal slices has one point (McKay, Beckman, Conover 1979).

    >>> points = tollgate_perf.latin({"core": "rocket", "core.memory.latency": (1, 10)}, 10, seed=1)
    >>> sorted(it["core.memory.latency"] for it in points)
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    """
    axes = _drawn(axes, count)

    def draw() -> Iterator[Point]:
        chance = _random.Random(seed)
        columns = {}
        for key in axes:
            slices = list(range(count))
            chance.shuffle(slices)
            columns[key] = [(it + chance.random()) / count for it in slices]
        for number in range(count):
            yield {key: _at(it, columns[key][number]) for key, it in axes.items()}

    return Space(axes, count, draw)


def of(space: Space | Axes | Iterable[Mapping[str, Any]]) -> Space:
    """A space of what a sweep is given: a mapping is a grid, anything else its points."""
    if isinstance(space, Space):
        return space
    return grid(space) if isinstance(space, Mapping) else points(space)


def check(space: Space, known: Sequence[str]) -> None:
    """Refuses a key that the function does not take, with the nearest one. Keys of a core are checked by the program."""
    seen = set(space.axes) if space.axes else {key for point in space for key in point}
    for key in sorted(seen):
        plain = key.partition(".")[0] if "core" in known else key
        if plain in known and (plain == key or plain == "core"):
            continue
        near = difflib.get_close_matches(key, known, 1, 0.5)
        hint = f"; the nearest is '{near[0]}'" if near else ""
        raise UsageError(f"the space has an unknown key '{key}'{hint} (there are: {', '.join(known)})")


def keywords(call: Callable[..., Any]) -> list[str] | None:
    """What a function takes by name; `None` if it takes everything."""
    parameters = inspect.signature(call).parameters.values()
    if any(it.kind is it.VAR_KEYWORD for it in parameters):
        return None
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [it.name for it in parameters if it.kind in kinds and it.name != "progress"]


def apply(call: Callable[..., Any], given: Mapping[str, Any]) -> Any:
    """Calls a function with the keywords of a point. What it takes as `*programs` is a key too: one value, or a list of them."""
    parameters = inspect.signature(call).parameters.values()
    several = next((it.name for it in parameters if it.kind is it.VAR_POSITIONAL and it.name in given), None)
    if several is None:
        return call(**given)
    values = given[several]
    listed = values if isinstance(values, list) else [values]
    return call(*listed, **{key: it for key, it in given.items() if key != several})


def arguments(point: Point) -> dict[str, Any]:
    """The keywords of a point: its `core.TABLE.KEY` become one core."""
    plain = {key: it for key, it in point.items() if not key.startswith("core.")}
    changed = {key.removeprefix("core."): it for key, it in point.items() if key.startswith("core.")}
    if not changed:
        return plain
    if not isinstance(plain.get("core"), str):
        raise UsageError(f"'core.{next(iter(changed))}' changes a core: the point must name a preset as 'core'")
    core: dict[str, Any] = {"base": plain["core"]}
    for key, it in changed.items():
        table = core
        *tables, name = key.split(".")
        for part in tables:
            table = table.setdefault(part, {})
        table[name] = it
    return plain | {"core": core}


def _values(key: str, values: Any) -> list[Any]:
    if isinstance(values, tuple):
        raise UsageError(f"'{key}' is a range, and a grid takes lists: give its values, or use random or latin")
    is_one = isinstance(values, str | bytes | os.PathLike | Mapping) or not isinstance(values, Iterable)
    listed = [values] if is_one else list(values)
    if not listed:
        raise UsageError(f"'{key}' has no values: give at least one")
    return listed


def _drawn(axes: Axes, count: int) -> dict[str, Any]:
    """Each axis as a range or a list. Refuses what no points can be drawn from."""
    if count < 1:
        raise UsageError(f"{count} points are not a space: give a 'count' of at least 1")
    for key, it in axes.items():
        is_range = isinstance(it, tuple)
        if is_range and (len(it) != 2 or not all(isinstance(end, Real) and math.isfinite(end) for end in it) or it[0] > it[1]):
            raise UsageError(f"'{key}' is not a range: give two numbers, the lower one first")
    return {key: it if isinstance(it, tuple) else _values(key, it) for key, it in axes.items()}


def _at(values: Any, share: float) -> Any:
    """The value at this share, from 0 to 1, of an axis."""
    if isinstance(values, list):
        return values[int(share * len(values))]
    low, high = values
    if isinstance(low, Integral) and isinstance(high, Integral):
        return int(low) + int(share * (int(high) - int(low) + 1))
    return low + share * (high - low)
