"""One process for the tests of commands on lakes by Sail, which takes seconds to load."""

from collections.abc import Iterator

import pytest

from tests.support.command_process import ProcessOfCommands


@pytest.fixture(scope="session")
def sail_process() -> Iterator[ProcessOfCommands]:
    """A process in which PySpark works with Sail."""
    with ProcessOfCommands() as process:
        yield process
