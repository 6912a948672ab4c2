"""A real Spark job after `throughline product apply`: its lineage lands on the asset that was there before it."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.local_world import parts_of, throughline, wait_until_idle
from throughline.local.spark.job import QUICK_SESSION, SparkJob, listener_configuration
from throughline.local.world import World

pytestmark = pytest.mark.e2e
JOB = Path(__file__).with_name("notebook.py")
CONTRACT = """\
apiVersion: v3.1.0
kind: DataContract
id: people
name: people
version: 1.0.0
status: active
team: {{members: [{{username: ann, role: owner}}]}}
servers: [{{server: here, type: local, path: "{data}/{{model}}"}}]
schema:
  - name: loud
    properties:
      - {{name: id, logicalType: integer}}
      - {{name: loud, logicalType: string}}
"""


def asset_of(world: World, data: Path) -> Any:
    (node,) = [node for node in parts_of(world).catalog.ours() if node.qualified_name == f"file://{data}/loud"]
    return node


def test_the_lineage_of_a_spark_job_lands_on_the_promised_asset(world: World, tmp_path: Path) -> None:
    data, file = tmp_path / "data", tmp_path / "people.odcs.yaml"
    file.write_text(CONTRACT.format(data=data))
    applied = throughline(world, "product", "apply", str(file))
    assert applied.exit_code == 0, applied.output
    promised = asset_of(world, data)
    assert "Promised by people 1.0.0: PENDING." in promised.attributes["description"]
    configuration = {**QUICK_SESSION, **listener_configuration(world.functions.url)}
    with SparkJob(JOB, arguments=[str(data)], configuration=configuration, directory=tmp_path) as job:
        assert job.wait().problem is None
    wait_until_idle(world)
    written_asset = asset_of(world, data)
    assert written_asset.guid == promised.guid
    assert "Promised by people 1.0.0: ACTIVE." in written_asset.attributes["description"]
    catalog = parts_of(world).catalog
    names = catalog.process_names(catalog.process_links([written_asset.key])[written_asset.key].writers)
    (process,) = catalog.read_processes(sorted(names)).values()
    assert [name for _, name in process.entity.inputs] == [f"file://{data}/people"]
    writes = world.catalog.calls()["writes"]
    second_result = throughline(world, "product", "apply", str(file))
    assert f"= ACTIVE file://{data}/loud" in second_result.output
    assert world.catalog.calls()["writes"] == writes
