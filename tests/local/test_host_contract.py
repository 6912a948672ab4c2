"""The local host against the observed behaviour of Microsoft's host: the table is in tests/local/host_contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.host_contract import CASES, Bench, blobs, http, processes, queues
from tests.local.hosting import App, sample
from throughline.local.azurite import Azurite

pytestmark = pytest.mark.azurite
_MODULES = (http, blobs, processes, queues)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    """An app with HTTP functions and keys, and its running host."""
    scratch = tmp_path_factory.mktemp("contract")
    http.write_keys(scratch / "keys.json")
    settings = {**http.DISABLED, **http.NOT_DISABLED}
    with sample(http.web_app(scratch), scratch, settings, "--keys", str(scratch / "keys.json")) as app:
        app.start()
        yield app


@pytest.fixture
def bench(azurite: Azurite, unique: str, tmp_path: Path, web: App) -> Bench:
    """The fixtures of a case."""
    keys = web.scratch / "keys.json"
    return Bench(azurite=azurite, container=unique, scratch=tmp_path, web=web, keys=keys, key=http.KEY)


@pytest.mark.parametrize("title", CASES)
def test_the_local_host_behaves_like_the_real_one(title: str, bench: Bench) -> None:
    """Each line of the table."""
    CASES[title](bench)
