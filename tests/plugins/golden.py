"""`--rewrite-golden`, and how Hypothesis runs here: the same cases every time, so that a red build is red for all."""

import pytest
from hypothesis import settings

settings.register_profile("throughline", derandomize=True, deadline=None, database=None)
settings.load_profile("throughline")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that makes the code's current results golden; review them before you commit them."""
    parser.addoption("--rewrite-golden", action="store_true", help="rewrite tests/golden/entities")


@pytest.fixture
def rewrite_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--rewrite-golden"))
