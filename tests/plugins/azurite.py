"""A real Azurite for the tests that need storage: one for each test process, in memory, on free ports."""

import secrets
from collections.abc import Iterator

import pytest

from throughline.local.azurite import Azurite

_ACCOUNTS = tuple(f"test{number}" for number in range(200))


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """Storage that all tests of this process share: use `unique` for the names of containers and tables."""
    with Azurite(accounts=_ACCOUNTS) as running:
        yield running


@pytest.fixture(scope="session")
def empty_accounts(azurite: Azurite) -> Iterator[str]:
    """The connection strings of storage accounts that no test has used: call `next` once for each."""
    return map(azurite.connection_string_of, _ACCOUNTS)


@pytest.fixture
def unique() -> str:
    """Return a short lowercase name, valid for containers, queues and tables, that no other test has."""
    return f"t{secrets.token_hex(5)}"


@pytest.fixture
def empty_account(empty_accounts: Iterator[str]) -> str:
    """The connection string of an account for one test, since Throughline's tables and containers have fixed names."""
    return next(empty_accounts)
