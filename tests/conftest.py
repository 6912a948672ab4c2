"""What all tests share: fixtures live in tests/plugins, one file for each real part they start."""

import shutil

import pytest

pytest_plugins = [
    "tests.plugins.atlas",
    "tests.plugins.azurite",
    "tests.plugins.catalog",
    "tests.plugins.collector",
    "tests.plugins.golden",
    "tests.plugins.package",
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


_LONGEST = (
    *("spark_pipeline", "e2e", "test_bench.py", "local/test_host_contract.py", "infra/compiled", "faults"),
    *("infra/test_deploy", "local/test_package", "cli/test_lake_publish.py"),
)
"""The tests that take longest begin first, so that no worker is left alone with one of them at the end."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest tests first; all else stays in its order."""

    def rank(item: pytest.Item) -> int:
        place = item.nodeid.removeprefix("tests/")
        return next((number for number, each in enumerate(_LONGEST) if place.startswith(each)), len(_LONGEST))

    items.sort(key=rank)
