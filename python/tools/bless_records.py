"""Writes src/tollgate_perf/records.py, the dataclasses of a record, from its published schema."""

from __future__ import annotations

import json
import keyword
import sys
import textwrap
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).resolve().parent.parent
SCHEMA = PACKAGE.parent / "docs" / "schema" / "tollgate-2.json"
MODULE = PACKAGE / "src" / "tollgate_perf" / "records.py"

HEAD = '''"""The record of a run, typed. Made from docs/schema/tollgate-2.json by `cargo xtask bless python`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias
'''

SCALARS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


# Definitions of which each is one of several dataclasses, told apart by `family`.
UNIONS = ("Asked", "Found")


def reference(schema: dict[str, Any]) -> str:
    """The name of the definition that this refers to."""
    return str(schema["$ref"]).rsplit("/", 1)[-1]


def type_of(schema: dict[str, Any] | bool) -> str:
    """The Python type of values of this schema."""
    if isinstance(schema, bool) or not schema:
        return "object"
    if "$ref" in schema:
        return reference(schema)
    if "const" in schema:
        return f"Literal[{json.dumps(schema['const'])}]"
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(it) for it in schema['enum'])}]"
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(dict.fromkeys(type_of(it) for it in schema[key]))
    kind = schema.get("type")
    if isinstance(kind, list):
        return " | ".join(type_of({**schema, "type": it}) for it in kind)
    if kind == "array":
        if "prefixItems" in schema:
            return f"tuple[{', '.join(type_of(it) for it in schema['prefixItems'])}]"
        item = type_of(schema.get("items", {}))
        most = schema.get("maxItems")
        if most is not None and most == schema.get("minItems"):
            return f"tuple[{', '.join([item] * most)}]"
        return f"list[{item}]"
    if kind == "object":
        return f"dict[str, {type_of(schema.get('additionalProperties', {}))}]"
    return SCALARS[str(kind)]


def comment(schema: dict[str, Any], indent: str) -> str:
    """The description as a docstring."""
    text = " ".join(str(schema.get("description", "")).split()).replace("\\", "\\\\")
    if not text:
        return ""
    lines = textwrap.wrap(text, 100)
    if len(lines) == 1:
        return f'{indent}"""{lines[0]}"""\n'
    body = "".join(f"{indent}{line}\n" for line in lines[1:])
    return f'{indent}"""{lines[0]}\n{body}{indent}"""\n'


def default_of(schema: dict[str, Any], kind: str) -> str:
    """What a field holds that a record leaves out."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if kind.startswith("list["):
        return "field(default_factory=list)"
    if kind.startswith("dict["):
        return "field(default_factory=dict)"
    if "$ref" in schema:
        return f"field(default_factory=lambda: {kind}{'Nothing' if kind in UNIONS else ''}())"
    if kind.endswith("| None"):
        return "None"
    return repr(schema.get("default", {"str": "", "int": 0, "float": 0.0, "bool": False}.get(kind)))


def dataclass_of(name: str, schema: dict[str, Any]) -> str:
    """A dataclass of an object."""
    required = set(schema.get("required", ()))
    out = f"\n\n@dataclass(frozen=True, kw_only=True)\nclass {name}:\n" + comment(schema, "    ")
    for key, value in schema.get("properties", {}).items():
        python_name = key.replace("-", "_") + ("_" if keyword.iskeyword(key) else "")
        kind = type_of(value)
        needed = key in required and "const" not in value
        default = "" if needed else default_of(value, kind)
        if python_name != key:
            default = f"field({'' if needed else f'default={default}, '}metadata={{'key': {key!r}}})"
        out += f"\n    {python_name}: {kind}" + (f" = {default}" if default else "") + "\n"
        out += comment(value, "    ")
    return out


def definition(name: str, schema: dict[str, Any]) -> str:
    """A dataclass, a union of them, or another name of a type."""
    if "oneOf" in schema and all("properties" in it for it in schema["oneOf"]):
        names = []
        out = ""
        for one in schema["oneOf"]:
            family = str(one["properties"]["family"]["const"])
            names.append(name + "".join(part.capitalize() for part in family.split("-")))
            out += dataclass_of(names[-1], one)
        return out + f"\n\n{name}: TypeAlias = (\n    " + "\n    | ".join(names) + "\n)\n" + comment(schema, "")
    if "properties" in schema:
        return dataclass_of(name, schema)
    kind = type_of(schema)
    if kind.count("Literal[") > 1:
        values = [json.dumps(it["const"]) for it in schema["oneOf"]]
        kind = "Literal[\n    " + ",\n    ".join(values) + ",\n]"
    return f"\n\n{name}: TypeAlias = {kind}\n" + comment(schema, "")


def module() -> str:
    """The whole module."""
    schema = json.loads(SCHEMA.read_text())
    definitions = dict(schema["$defs"])
    parts = [definition(name, definitions[name]) for name in sorted(definitions, key=lambda it: order(it, definitions))]
    return HEAD + "".join(parts) + dataclass_of("Run", schema)


def order(name: str, definitions: dict[str, Any]) -> tuple[int, str]:
    """Other names of scalars come first: a type alias is evaluated at once. `Warning` hides a builtin."""
    schema = definitions[name]
    is_class = "properties" in schema or any("properties" in it for it in schema.get("oneOf", ()))
    return (2 if is_class and name != "Warning" else int(is_class), name)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if MODULE.read_text() == module() else f"{MODULE.name} differs: cargo xtask bless python")
    MODULE.write_text(module())
