"""The local host against what Microsoft's host was seen to do: the table is in tests/local/host_contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from local.azurite import Azurite
from tests.local.host_contract import CASES, Bench, blobs, http, processes
from tests.local.hosting import App, sample

pytestmark = pytest.mark.azurite
_MODULES = (http, blobs, processes)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """Give an app with HTTP functions and keys, with a host that runs."""
    scratch = tmp_path_factory.mktemp("contract")
    http.write_keys(scratch / "keys.json")
    settings = {"FUNCTIONS_REQUEST_BODY_SIZE_LIMIT": str(http.LIMIT), **http.DISABLED, **http.NOT_DISABLED}
    with sample(http.web_app(scratch), scratch, settings, "--keys", str(scratch / "keys.json")) as app:
        app.start()
        yield app


@pytest.fixture
def bench(azurite: Azurite, unique: str, tmp_path: Path, web: App) -> Bench:
    """Give a case what it works with."""
    keys = web.scratch / "keys.json"
    return Bench(azurite=azurite, container=unique, scratch=tmp_path, web=web, keys=keys, key=http.KEY)


@pytest.mark.parametrize("seen", CASES)
def test_the_host_does_what_was_seen(seen: str, bench: Bench) -> None:
    """Each line of the table."""
    CASES[seen](bench)
