"""The archive for Azure, unpacked and run by the local host: captured events become lineage in the catalog."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from shared.reading.processes import recorded as publishing_recorded
from shared.versions import PACKAGE_HEADER
from tests.capture.scenario import scenarios
from tests.capture.truth import Truth
from tests.support.local_world import GOLDEN, parts_of, throughline, wait_until_idle
from tests.support.publishing import process_in
from throughline.local.functions import FunctionsHost
from throughline.local.world import World
from throughline.package import DELIVERIES, Package, delivered_by
from throughline.project import ROOT


@pytest.fixture(scope="module", params=DELIVERIES)
def app(request: pytest.FixtureRequest, package: Package, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package whose parser Event Grid's webhook starts, then the one with the queue that Event Grid fills."""
    if request.param == "eventGrid":
        return package.unpacked
    copy = Path(shutil.copytree(package.unpacked, tmp_path_factory.mktemp("queue") / "app"))
    trigger = delivered_by(ROOT / "parser_function" / "function.json", request.param)
    (copy / "parser_function" / "function.json").write_bytes(trigger)
    return copy


@pytest.fixture(scope="module")
def packaged_world(app: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with World(home=tmp_path_factory.mktemp("packaged"), usual_ports=False, app=app) as running:
        yield running


def test_events_become_lineage(packaged_world: World) -> None:
    events = GOLDEN / "customer_merge" / "events.jsonl"
    send_result = throughline(packaged_world, "send", str(events), "--url", packaged_world.functions.url)
    assert send_result.exit_code == 0, send_result.output
    assert wait_until_idle(packaged_world).reconciles
    parts = parts_of(packaged_world)
    recorded = list(publishing_recorded(parts.storage, parts.publishing))
    truth = Truth.read(scenarios()["customer_merge"].truth, capture=GOLDEN.name)
    assert truth.differences(process for process, _ in recorded) == []
    for _, entity in recorded:
        assert process_in(parts.catalog, entity.qualified_name) == entity
    calls = packaged_world.functions.calls()
    assert calls["invocations"]["parser_function"]["ok"] > 0, "by its trigger, not by the sweeper ten minutes later"
    assert calls["poisoned"] == 0


def test_the_receiver_names_its_package_in_every_answer(packaged_world: World, package: Package) -> None:
    """So a deployment can tell the new package's answers from those of the version before it."""
    place = f"{packaged_world.functions.url}/api/v1/lineage"
    event = (GOLDEN / "customer_merge" / "events.jsonl").read_bytes().splitlines()[0]
    for body, status in ((b"", 400), (event, 201)):
        answer = requests.post(place, data=body, timeout=60)
        assert (answer.status_code, answer.headers[PACKAGE_HEADER]) == (status, package.digest)


def test_the_worker_loads_its_libraries_from_the_package(packaged_world: World, app: Path) -> None:
    """The worker process maps compiled files of the package, and none of the installed packages."""
    assert isinstance(packaged_world.functions, FunctionsHost)
    maps = Path(f"/proc/{packaged_world.functions.worker_pid}/maps")
    mapped = {line.split()[-1] for line in maps.read_text().splitlines() if line.endswith(".so")}
    assert any(path.startswith(str(app)) and "msgspec" in path for path in mapped), json.dumps(sorted(mapped))
    assert not any("msgspec" in path and not path.startswith(str(app)) for path in mapped)
