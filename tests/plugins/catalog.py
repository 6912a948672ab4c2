"""The local catalog for tests: one child process for the session, emptied for each test that needs that."""

from collections.abc import Iterator

import pytest

from tests.support.troubled_catalog import TroubledCatalog
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


@pytest.fixture(scope="session")
def troubled_server() -> Iterator[TroubledCatalog]:
    """A running catalog whose calls can be made to fail; earlier tests may have left entities in it."""
    with TroubledCatalog() as server:
        yield server


@pytest.fixture
def troubled_catalog(troubled_server: TroubledCatalog) -> Iterator[TroubledCatalog]:
    """A catalog without entities and troubles, and all counts at zero; the test's troubles end with it."""
    troubled_server.reset(types=True)
    troubled_server.reset_calls()
    yield troubled_server
    troubled_server.have_troubles()
