"""What tests share."""

from __future__ import annotations

import os

import pytest


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Adds a skipped test to the list of `cargo xtask test`."""
    listed = os.environ.get("TOLLGATE_SKIPS")
    if report.skipped and listed and isinstance(report.longrepr, tuple):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        with open(listed, "a") as file:
            file.write(f"skipped: python::{report.nodeid.rpartition('::')[2]}: {reason}\n")
