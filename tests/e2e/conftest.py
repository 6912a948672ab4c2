"""A whole world for the tests of this folder: real functions, real Azurite, the local catalog."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.world import World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A new world on free ports, shared by the tests of one file."""
    home: Path = tmp_path_factory.mktemp("world")
    with World(home=home, usual_ports=False) as running:
        yield running
