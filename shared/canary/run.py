"""The events of a canary's run: pure."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from shared.openlineage.selection import CHECK_APPLICATION, CHECKS

START, COMPLETE, FAIL = "START", "COMPLETE", "FAIL"
_STORE = "abfss://check@throughlinecheck.dfs.core.windows.net"
_JOB = f"{CHECK_APPLICATION}.execute_insert_into_hadoop_fs_relation_command.target"


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryRun:
    """A run that writes one column. `column` is new in each run, so a process that holds it was written after this."""

    run_id: str
    column: str
    bodies: Mapping[str, bytes]


def canary_run(now: datetime, owner: str) -> CanaryRun:
    """The events, by type, of a run that writes `OWNER/target` from `OWNER/source`: the FAIL withdraws what the others
    brought. Runs of different owners do not touch each other, and one owner leaves no more than one process.
    """
    run_id = str(uuid4())
    column = f"seen_{now:%Y%m%d_%H%M%S}_{run_id[:6]}"
    source, target = f"{owner}/source", f"{owner}/target"
    field = {"namespace": _STORE, "name": source, "field": column}
    output = {
        "namespace": _STORE,
        "name": target,
        "facets": {"columnLineage": {"fields": {column: {"inputFields": [field]}}}},
    }
    common: dict[str, Any] = {
        "producer": "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventTime": now.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "run": {"runId": run_id},
        "job": {"namespace": CHECKS, "name": _JOB},
        "inputs": [{"namespace": _STORE, "name": source, "facets": {}}],
        "outputs": [output],
    }
    bodies = {kind: json.dumps(common | {"eventType": kind}).encode() for kind in (START, COMPLETE, FAIL)}
    return CanaryRun(run_id=run_id, column=column, bodies=bodies)
