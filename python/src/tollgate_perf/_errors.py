"""What can go wrong, as exceptions whose text is the program's sentence."""

from __future__ import annotations


class Error(Exception):
    """Something that was asked for failed."""


class UsageError(Error, ValueError):
    """An argument or an input file is wrong; the sentence names it and a value that works."""


INSTALL = "run 'pip install tollgate-perf', or 'pip install .' in a clone of its repository"
"""What installs the package and its program."""


class NoProgram(Error):
    """The program is not installed, or another project's program has its name."""


class MissingPackage(Error, ImportError):
    """A package of an extra is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        """Says what installs it."""
        super().__init__(f"this needs {package}: run \"pip install 'tollgate-perf[{extra}]'\"")
