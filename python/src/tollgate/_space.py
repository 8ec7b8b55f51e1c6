"""Design spaces: which points a sweep computes."""

from __future__ import annotations

import difflib
import inspect
import itertools
import math
import random as _random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from tollgate._errors import UsageError

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
    """Every combination of the values of the axes."""
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
    """So many points, each axis drawn by itself."""
    _check_drawn(axes, count)

    def draw() -> Iterator[Point]:
        chance = _random.Random(seed)
        for _ in range(count):
            yield {key: _at(it, chance.random()) for key, it in axes.items()}

    return Space(axes, count, draw)


def latin(axes: Axes, count: int, seed: int) -> Space:
    """A Latin hypercube: on each axis every one of `count` equal slices has one point (McKay, Beckman, Conover 1979)."""
    _check_drawn(axes, count)

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
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [it.name for it in parameters if it.kind in kinds and it.name != "progress"]


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
    listed = list(values) if isinstance(values, list | range) else [values]
    if not listed:
        raise UsageError(f"'{key}' has no values: give at least one")
    return listed


def _check_drawn(axes: Axes, count: int) -> None:
    """Refuses what no points can be drawn from."""
    if count < 1:
        raise UsageError(f"{count} points are not a space: give a 'count' of at least 1")
    for key, it in axes.items():
        if not isinstance(it, tuple):
            _values(key, it)
        elif len(it) != 2 or not all(isinstance(end, int | float) and math.isfinite(end) for end in it) or it[0] > it[1]:
            raise UsageError(f"'{key}' is not a range: give two numbers, the lower one first")


def _at(values: Any, share: float) -> Any:
    """The value at this share, from 0 to 1, of an axis."""
    if isinstance(values, list | range):
        return values[int(share * len(values))]
    if isinstance(values, tuple):
        low, high = values
        if isinstance(low, int) and isinstance(high, int):
            return low + int(share * (high - low + 1))
        return low + share * (high - low)
    return values
