"""Catalogs with Atlas' v2 interface: the local one always, and with `--atlas` a real Apache Atlas too.

A test with the fixture `v2` runs once for each of them. A real one takes 40 seconds to start, so the tests of one kind
run together; without the option they are not collected, and nothing is downloaded or started.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import requests
from requests.auth import HTTPBasicAuth

from tests.support.real_atlas import add_types
from throughline.local.atlas import PASSWORD, USER, AtlasServer
from throughline.local.catalog.server import CatalogServer

LOCAL = ("local-soft", "local-hard")
REAL = ("atlas-soft", "atlas-hard")
_CALL_SECONDS = 60


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option for a real Atlas."""
    parser.addoption("--atlas", action="store_true", help="run the catalog's contract on a real Apache Atlas too")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Parametrize a test by its catalogs: a mark `catalogs(…)` selects them by parts of their names."""
    if "catalog_kind" in metafunc.fixturenames:
        kinds = (*LOCAL, *(REAL if metafunc.config.getoption("--atlas") else ()))
        if "v2" not in metafunc.fixturenames:
            kinds = ("memory", *kinds)
        mark_arguments = [mark.args for mark in metafunc.definition.iter_markers("catalogs")]
        catalog_kinds = [kind for kind in kinds if all(any(part in kind for part in parts) for parts in mark_arguments)]
        metafunc.parametrize("catalog_kind", catalog_kinds, scope="session")


@dataclass(frozen=True, slots=True, kw_only=True)
class V2:
    """A catalog for a client: its address and credentials."""

    url: str
    user: str
    password: str
    soft: bool
    real: bool
    session: requests.Session = field(default_factory=requests.Session, repr=False)

    @property
    def endpoint(self) -> str:
        """The root of the v2 interface at Atlas' own path."""
        return f"{self.url}/api/atlas/v2"

    def call(self, verb: str, body: Any = None) -> requests.Response:
        """Make a call such as `POST entity/bulk`."""
        method, _, path = verb.partition(" ")
        auth = HTTPBasicAuth(self.user, self.password)
        return self.session.request(method, f"{self.endpoint}/{path}", json=body, auth=auth, timeout=_CALL_SECONDS)

    def found(self, body: Any) -> list[Any]:
        """Return the results of a basic search."""
        answer = self.call("POST search/basic", body)
        answer.raise_for_status()
        entities: list[Any] = answer.json().get("entities") or []
        return entities

    def empty(self) -> None:
        """Delete all entities, until a real Atlas' search, which lags behind writes, finds nothing twice in a row."""
        quiet = 0
        while quiet < (2 if self.real else 1):
            assets = self.found({"typeName": "Asset", "excludeDeletedEntities": True, "limit": 100})
            guids = [asset["guid"] for asset in assets]
            if guids and not self.call(f"DELETE entity/bulk?{'&'.join(f'guid={guid}' for guid in guids)}").ok:
                for guid in guids:  # Atlas fails where one goes with another by a hard delete: "Vertex was removed"
                    self.call(f"DELETE entity/guid/{guid}")
            quiet = 0 if assets else quiet + 1
            time.sleep(0.2 if self.real else 0)


@pytest.fixture(scope="session")
def served(catalog_kind: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[V2 | None]:
    """The running catalog of this kind; None for the one in memory."""
    server_kind, _, deletes = catalog_kind.partition("-")
    soft = deletes == "soft"
    if server_kind == "atlas":
        home: Path = tmp_path_factory.mktemp("atlas")
        with AtlasServer(home=home / "home", deletes=deletes) as atlas:
            add_types(atlas)
            yield V2(url=atlas.url, user=USER, password=PASSWORD, soft=soft, real=True)
    elif server_kind == "local":
        with CatalogServer(deletes=deletes) as server:
            yield V2(url=server.url, user=USER, password=server.token, soft=soft, real=False)
    else:
        yield None


@pytest.fixture
def v2(served: V2 | None) -> V2:
    """The running catalog without entities."""
    if served is None:
        raise ValueError("the catalog in memory has no HTTP interface")
    served.empty()
    return served
