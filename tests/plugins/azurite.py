"""A real Azurite for the tests that need storage: one for each test process, in memory, on free ports."""

import secrets
from collections.abc import Iterator

import pytest

from local.azurite import Azurite


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """Storage that all tests of this process share: use `unique` for the names of containers and tables."""
    with Azurite() as running:
        yield running


@pytest.fixture
def unique() -> str:
    """Return a short lowercase name, valid for containers, queues and tables, that no other test has."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture
def empty_azurite() -> Iterator[Azurite]:
    """Storage for one test only, since Throughline's tables and containers have fixed names."""
    with Azurite() as running:
        yield running
