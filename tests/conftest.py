"""Settings of all tests. Their fixtures are in tests/plugins, one file for each part."""

import gc
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
    "tests.plugins.commands",
    "tests.plugins.golden",
    "tests.plugins.package",
    "tests.plugins.sail",
    "tests.plugins.sample",
    "tests.plugins.signals",
    "tests.plugins.spark",
    "tests.plugins.together",
]

_OPTIONAL_PROGRAMS = {
    "bicep": "the templates are compiled|the templates are parsed and their references resolved, but not compiled",
    "func": "the world is also run by func start|the world is run by a program in func's place",
}
"""Programs that are not available everywhere, and the tests with and without them."""


def pytest_report_header() -> list[str]:
    """Report which tests lack a program."""
    header = []
    for program, meaning in _OPTIONAL_PROGRAMS.items():
        present_meaning, not_there = meaning.split("|")
        header.append(
            f"{program}: {present_meaning}" if shutil.which(program) else f"{program} is not installed: {not_there}"
        )
    return header


_DURATIONS = Path(__file__).with_name("durations.json")
"""The slowest test files and their seconds, measured by `--write-durations`."""

_MIN_SECONDS = 5.0
"""The minimum seconds of a recorded file: the order of faster files does not matter."""

_seconds: defaultdict[str, float] = defaultdict(float)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that measures."""
    parser.addoption("--write-durations", action="store_true", help=f"measure all files, into {_DURATIONS.name}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first, so that no worker runs one of them alone at the end; the rest keeps its order."""
    durations: dict[str, float] = json.loads(_DURATIONS.read_text())
    items.sort(key=lambda item: -durations.get(_file(item.nodeid), 0))


def pytest_collection() -> None:
    """Keep the garbage collector from walking through all tests and their modules again and again."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Let it walk only through what comes later."""
    gc.freeze()
    gc.enable()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Add up the seconds of a file's tests, with their fixtures."""
    _seconds[_file(report.nodeid)] += report.duration


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the durations, with the option; only in xdist's controller, which receives the reports of all tests."""
    gc.unfreeze()  # else libraries report what lives until the end as leaked
    if session.config.getoption("--write-durations") and not hasattr(session.config, "workerinput"):
        durations = sorted(
            ((file, round(seconds)) for file, seconds in _seconds.items() if seconds >= _MIN_SECONDS),
            key=lambda pair: -pair[1],
        )
        _DURATIONS.write_text(json.dumps(dict(durations), indent=2) + "\n")


def _file(nodeid: str) -> str:
    return nodeid.partition("::")[0].removeprefix("tests/")
