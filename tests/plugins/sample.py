"""Long proofs in slices: a test takes a fixed slice of its cases, and all of them with `--proofs` (`make proofs`)."""

from collections.abc import Callable, Sequence
from zlib import crc32

import pytest

Sample = Callable[[Sequence[int]], Sequence[int]]

_STEP = 4
"""A slice is each fourth case; where it begins depends on the test's name, so that parameters differ in it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that takes all cases."""
    parser.addoption("--proofs", action="store_true", help="run the long proofs whole, not a slice of each")


@pytest.fixture
def sample(request: pytest.FixtureRequest) -> Sample:
    """Return the function that takes the test's slice of a range of seeds, or all of it with `--proofs`."""
    if request.config.getoption("--proofs"):
        return lambda cases: cases
    return lambda cases: cases[crc32(request.node.name.encode()) % _STEP :: _STEP]
