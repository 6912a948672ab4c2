"""Slices of long proofs: a test runs a fixed slice of its cases, and all of them with `--proofs` (`make proofs`).

A test or case marked `proof` runs with `--proofs` only.
"""

from collections.abc import Callable, Sequence
from zlib import crc32

import pytest

Sample = Callable[[Sequence[int]], Sequence[int]]

_STEP = 4
"""A slice is every fourth case; its start depends on the test's name, so that parameters have different slices."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that runs all cases."""
    parser.addoption("--proofs", action="store_true", help="run the long proofs whole, not a slice of each")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out tests and cases that are for proofs only."""
    left_out = [] if config.getoption("--proofs") else [item for item in items if item.get_closest_marker("proof")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return the function that takes the test's slice of a range of seeds, or all of it with `--proofs`."""
    if request.config.getoption("--proofs"):
        return lambda cases: cases
    return lambda cases: cases[crc32(request.node.name.encode()) % _STEP :: _STEP]
