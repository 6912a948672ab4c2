"""The browser, one for all tests of a worker."""

from collections.abc import Iterator

import pytest

from tests.viewer.browser.driver import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with Browser() as running_browser:
        yield running_browser
