"""The local catalog for tests: one child process for the session, emptied for each test that needs that."""

from collections.abc import Iterator

import pytest

from throughline.local.catalog.server import CatalogServer


@pytest.fixture(scope="session")
def catalog_server() -> Iterator[CatalogServer]:
    """A running catalog, in memory, with soft deletes; earlier tests may have left entities in it."""
    with CatalogServer() as server:
        yield server


@pytest.fixture
def fresh_catalog(catalog_server: CatalogServer) -> CatalogServer:
    """The session's catalog with no entities, the built-in types only, and all counts at zero."""
    catalog_server.reset(types=True)
    catalog_server.reset_calls()
    return catalog_server
