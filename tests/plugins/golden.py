"""`--rewrite-golden`, and how Hypothesis runs here: the same cases every time, so that a red build is red for all."""

import pytest
from hypothesis import settings

settings.register_profile("throughline", derandomize=True, deadline=None, database=None)
settings.load_profile("throughline")


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--rewrite-golden`: take what the code gives now as the golden answer; look at it before you commit it."""
    parser.addoption("--rewrite-golden", action="store_true", help="write entities.json anew beside the golden events")


@pytest.fixture
def rewrite_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be written instead of compared."""
    return bool(request.config.getoption("--rewrite-golden"))
