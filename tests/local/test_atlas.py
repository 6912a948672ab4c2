"""The configuration of a real Atlas; `make atlas-contract` tests that it starts."""

import json
import socket
from pathlib import Path

import pytest

from tests.support.real_atlas import lacking
from throughline.local.atlas import AtlasServer
from throughline.local.atlas.configuration import configure
from throughline.local.atlas.install import Installed
from throughline.local.atlas.model import base_model
from throughline.local.atlas.server import alone, ports
from throughline.local.catalog.types import builtin_typedefs
from throughline.local.errors import LocalError


def test_base_model_and_lacking_types_together_are_the_local_catalog_s_types() -> None:
    base = base_model()
    names = {typedef["name"] for typedefs in base.values() for typedef in typedefs}
    added_names = {typedef["name"] for typedefs in lacking(names).values() for typedef in typedefs}
    assert {typedef["name"] for typedef in builtin_typedefs()} <= names | added_names
    assert not names & added_names
    assert {"__internal", "AtlasServer", "atlas_operation", "Referenceable", "Process"} <= names


def test_every_super_type_and_relationship_end_is_defined() -> None:
    base = base_model()
    entities = {typedef["name"] for typedef in base["entityDefs"]}
    assert {name for typedef in base["entityDefs"] for name in typedef["superTypes"]} <= entities
    ends = {typedef[end]["type"] for typedef in base["relationshipDefs"] for end in ("endDef1", "endDef2")}
    assert ends <= entities


@pytest.mark.parametrize(("hard", "handler"), [(True, True), (False, False)])
def test_the_configuration_has_ports_and_the_delete_handler(tmp_path: Path, *, hard: bool, handler: bool) -> None:
    installed = Installed(folder=tmp_path / "atlas")
    command = configure(installed, tmp_path, ports=(1, 2, 3), users="admin", model=json.dumps({}), hard_deletes=hard)
    properties = (tmp_path / "conf" / "atlas-application.properties").read_text()
    assert "atlas.server.bind.address=127.0.0.1" in properties
    assert "atlas.server.http.port=1\n" in properties
    assert "bootstrap.servers=127.0.0.1:2\n" in properties
    assert "zookeeper.connect=127.0.0.1:3\n" in properties
    assert ("HardDeleteHandlerV1" in properties) == handler
    assert command[0] == str(installed.java)
    assert command[-3:] == [str(installed.webapp), "-port", "1"]
    assert "-Djetty.testMode=true" in command


def test_a_port_or_folder_in_use_is_refused_with_a_message(tmp_path: Path) -> None:
    with socket.socket() as busy_socket:
        busy_socket.bind(("127.0.0.1", 0))
        busy_socket.listen()
        with pytest.raises(LocalError, match=r"port \d+ for Atlas can't be used"):
            ports(busy_socket.getsockname()[1])
    with alone(tmp_path / "home"), pytest.raises(LocalError, match="Another Atlas"), alone(tmp_path / "home"):
        pass


def test_the_page_of_an_entity_has_its_guid() -> None:
    assert AtlasServer(port=21000).page("g") == "http://127.0.0.1:21000/index.html#!/detailPage/g?tabActive=lineage"
