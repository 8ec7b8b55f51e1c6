"""From JSON to the dataclasses of a record."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")

Decoder = Callable[[Any], Any]


def decode(kind: type[T], value: object) -> T:
    """The dataclass of a JSON value. What a newer program adds to it is left out."""
    return typing.cast(T, _decoder(typing.cast(Hashable, kind))(value))


@functools.cache
def _decoder(kind: Any) -> Decoder:
    if dataclasses.is_dataclass(kind):
        return _dataclass(typing.cast("type[Any]", kind))
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is list:
        item = _decoder(arguments[0])
        return lambda values: [item(value) for value in values]
    if origin is dict:
        entry = _decoder(arguments[1])
        return lambda values: {key: entry(value) for key, value in values.items()}
    if origin is tuple:
        items = [_decoder(argument) for argument in arguments]
        return lambda values: tuple(item(value) for item, value in zip(items, values, strict=True))
    if origin in (typing.Union, types.UnionType):
        return _union([argument for argument in arguments if argument is not type(None)])
    return lambda value: value


def _union(kinds: list[Any]) -> Decoder:
    if len(kinds) == 1:
        only = _decoder(kinds[0])
        return lambda value: None if value is None else only(value)
    families = {
        field.default: _decoder(typing.cast(Hashable, kind))
        for kind in kinds
        if dataclasses.is_dataclass(kind)
        for field in dataclasses.fields(kind)
        if field.name == "family"
    }
    if not families:
        return lambda value: value
    return lambda value: None if value is None else families[value["family"]](value)


def _dataclass(kind: Any) -> Decoder:
    hints = typing.get_type_hints(kind)
    fields = [(field.name, str(field.metadata.get("key", field.name))) for field in dataclasses.fields(kind)]
    decoders: dict[str, tuple[str, Decoder]] | None = None

    def read(value: dict[str, Any]) -> Any:
        nonlocal decoders
        if decoders is None:
            decoders = {key: (name, _decoder(hints[name])) for name, key in fields}
        return kind(**{decoders[key][0]: decoders[key][1](it) for key, it in value.items() if key in decoders})

    return read
