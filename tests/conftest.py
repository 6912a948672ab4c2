"""What all tests share: fixtures live in tests/plugins, one file for each real part they start."""

import json
import shutil
from collections import defaultdict
from pathlib import Path

import pytest

pytest_plugins = [
    "tests.plugins.atlas",
    "tests.plugins.azurite",
    "tests.plugins.catalog",
    "tests.plugins.collector",
    "tests.plugins.golden",
    "tests.plugins.package",
    "tests.plugins.sample",
    "tests.plugins.signals",
    "tests.plugins.spark",
]

_MAYBE = {
    "bicep": "the templates are compiled|the templates are parsed and their references resolved, but not compiled",
    "func": "the world is also run by func start|the world is run by a program in func's place",
}
"""Programs that can't be had everywhere, and what their being there or not means for the tests."""


def pytest_report_header() -> list[str]:
    """Say plainly what is not tested for want of a program."""
    said = []
    for program, meaning in _MAYBE.items():
        there, not_there = meaning.split("|")
        said.append(f"{program}: {there}" if shutil.which(program) else f"{program} is not installed: {not_there}")
    return said


_DURATIONS = Path(__file__).with_name("durations.json")
"""The files of tests that take longest, and their seconds, as `--write-durations` measured them."""

_MIN_SECONDS = 5.0
"""Seconds from which on a file is written down: it does not matter when the others begin."""

_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures."""
    parser.addoption("--write-durations", action="store_true", help=f"measure all files, into {_DURATIONS.name}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest files first, so that no worker is left with one of them at the end; the rest keeps its order."""
    durations: dict[str, float] = json.loads(_DURATIONS.read_text())
    items.sort(key=lambda item: -durations.get(_file(item.nodeid), 0))


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up what the tests of a file take, with their fixtures."""
    _seconds[_file(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the durations, where that was asked for; of xdist's processes only the one that hears of all tests does."""
    if session.config.getoption("--write-durations") and not hasattr(session.config, "workerinput"):
        found = sorted(
            ((file, round(each)) for file, each in _seconds.items() if each >= _MIN_SECONDS), key=lambda pair: -pair[1]
        )
        _DURATIONS.write_text(json.dumps(dict(found), indent=2) + "\n")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0].removeprefix("tests/")
