"""Writes docs/reference/python.md, the page about the package, from its signatures and docstrings."""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from types import ModuleType
from typing import Any

import tollgate_perf
from tollgate_perf import fleets

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "reference" / "python.md"
ELSEWHERE = ("records",)
"""Modules that the page only names: this one repeats the record's schema."""
RESULTS = {"fleet": (fleets.FleetClient, fleets.Fleet, fleets.Measured, fleets.Host)}
"""Classes that are met only as the result of a function."""
WIDTH = 110

HEAD = """# The Python package

<!-- Made by `cargo xtask bless python` from the docstrings of python/src/tollgate_perf. -->

"""


def tree_of(what: Any) -> Any:
    """The source of a function or a class as a tree: its signature then is the same in every version of Python."""
    return ast.parse(textwrap.dedent(inspect.getsource(what))).body[0]


def signature(name: str, function: Any, width: int = WIDTH) -> str:
    """How a function is called, one parameter a line if it is long."""
    node = tree_of(function)
    given: ast.arguments = node.args
    plain = [*given.posonlyargs, *given.args]
    without = len(plain) - len(given.defaults)
    pairs = [(it, given.defaults[at - without] if at >= without else None) for at, it in enumerate(plain)]
    parts = [parameter(it, default) for it, default in pairs if it.arg != "self"]
    if given.vararg:
        parts.append("*" + parameter(given.vararg, None))
    elif given.kwonlyargs:
        parts.append("*")
    parts += [parameter(it, default) for it, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    if given.kwarg:
        parts.append("**" + parameter(given.kwarg, None))
    end = f") -> {unparse(node.returns)}"
    parts = [re.sub(r"= ([A-Z_]+)$", lambda it: f"= {function.__globals__[it[1]]}", part) for part in parts]
    line = f"{name}({', '.join(parts)}{end}"
    return line if len(line) <= width else f"{name}(\n" + "".join(f"    {it},\n" for it in parts) + end


def parameter(given: ast.arg, default: ast.expr | None) -> str:
    """A parameter with its type and default."""
    kind = f": {unparse(given.annotation)}" if given.annotation else ""
    return f"{given.arg}{kind}" + (f" = {unparse(default)}" if default else "")


def unparse(node: ast.AST | None) -> str:
    """The source of a part of a tree, with the quotes of this package."""
    return ast.unparse(node).replace("'", '"') if node else "None"


def text(documented: Any) -> str:
    """A docstring as Markdown: its examples become blocks."""
    out: list[str] = []
    is_code = False
    for line in inspect.cleandoc(documented.__doc__ or "").splitlines():
        if line.startswith(">>>") != is_code and (line.startswith(">>>") or not line):
            out.append("```pycon" if line.startswith(">>>") else "```")
            is_code = line.startswith(">>>")
        out.append(line.split("  # doctest:")[0].split("  # noqa")[0])
    return "\n".join(out) + ("\n```" if is_code else "") + "\n"


def fields(owner: type) -> list[tuple[str, str, str]]:
    """The fields of a dataclass: name, type, and the string below it."""
    found = []
    body = tree_of(owner).body
    for it, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(it, ast.AnnAssign) and isinstance(it.target, ast.Name) and not it.target.id.startswith("_"):
            says = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            found.append((it.target.id, unparse(it.annotation), " ".join(str(says).split())))
    return found


def one(name: str, what: Any, depth: int = 2) -> str:
    """The section of a function, a class or a module."""
    head = f"{'#' * depth} {name}\n\n"
    if isinstance(what, ModuleType):
        out = head + text(what)
        if name in ELSEWHERE:
            return out
        public = [it for it in vars(what).items() if inspect.isfunction(it[1]) and it[1].__module__ == what.__name__]
        return out + "".join("\n" + one(f"{name}.{it}", function, depth + 1) for it, function in public if it[0] != "_")
    if not inspect.isclass(what):
        return head + f"```python\n{signature(name, what)}\n```\n\n" + text(what)
    out = head + text(what)
    rows = [f"- `{it}: {kind}`" + (f": {says}" if says else "") for it, kind, says in fields(what)]
    for it, member in vars(what).items():
        function = getattr(member, "fget", None) or getattr(member, "func", member)
        if it.startswith("_") or not inspect.isfunction(function):
            continue
        first = inspect.cleandoc(function.__doc__ or "").split("\n\n")[0].replace("\n", " ")
        called = it if function is not member else signature(it, function, width=1000)
        rows.append(f"- `{called}`: {first}")
    return out + ("\n" + "\n".join(rows) + "\n" if rows else "")


def page() -> str:
    """The whole page."""
    sections = []
    for name in tollgate_perf.__all__:
        sections.append(one(name, getattr(tollgate_perf, name)))
        sections += [one(it.__name__, it) for it in RESULTS.get(name, ())]
    return HEAD + text(tollgate_perf) + "".join(f"\n{it}" for it in sections)


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        sys.exit(0 if PAGE.exists() and PAGE.read_text() == page() else f"{PAGE.name} differs: cargo xtask bless python")
    PAGE.write_text(page())
