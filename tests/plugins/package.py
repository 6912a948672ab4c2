"""The archive for Azure, built once for all tests of a worker."""

import pytest

from throughline.package import Package, build


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """The package as `make package` builds it, for Event Grid's webhook."""
    return build(folder=tmp_path_factory.mktemp("package"))
