"""The archive for Azure, built once for all tests of a worker."""

import pytest

from local.package import Package, build


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package as `make package DELIVERY=polling` builds it: with the repository's own function.json."""
    return build(delivery="polling", folder=tmp_path_factory.mktemp("package"))
