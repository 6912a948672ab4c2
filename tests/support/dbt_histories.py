"""Events of OpenLineage's dbt integration, and random histories of a project whose exposures come and go."""

import random
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.building import Json, packed
from tests.support.events import run_id

START = datetime(2026, 11, 21, 10, tzinfo=UTC)
DUCKDB = "duckdb://shop.duckdb"
VERSION = "1.54.0"
READ: Mapping[str, tuple[str, ...]] = {"orders": ("raw",), "totals": ("orders", "raw"), "report": ("totals",)}
"""What each model of the project reads; `raw` is a source."""


def exposure(name: str, package: str = "shop", **more: str) -> Json:
    """An exposure as a facet lists it."""
    return {"unique_id": f"exposure.{package}.{name}", "name": name, "type": "dashboard", "url": None, **more}


def table(name: str, exposures: Iterable[Json] = (), *, is_model: bool = True, columns: Sequence[str] = ()) -> Json:
    """A table as `dbt-ol` names it: without the facet where it has no exposures."""
    facets: Json = {"dbt_model": {"config": {"materialized": "table"}}} if is_model else {}
    if listed := list(exposures):
        facets["dbt_exposures"] = {"exposures": listed}
    if columns:
        facets["schema"] = {"fields": [{"name": column} for column in columns]}
    return {"namespace": DUCKDB, "name": f"shop.main.{name}", "facets": facets}


def event(
    kind: str,
    model: str,
    minute: float,
    *,
    invocation: str,
    inputs: Iterable[Json] = (),
    outputs: Iterable[Json] = (),
    version: str = VERSION,
    project: str = "shop",
) -> bytes:
    """An event of a model (empty: of dbt's run itself) in a run of dbt."""
    whole: Json = {"namespace": "default", "name": f"dbt-run-{project}"}
    facets: Json = {
        "dbt_run": {"invocation_id": invocation, "project_name": project},
        "processing_engine": {"name": "dbt", "version": "1.10.0", "openlineageAdapterVersion": version},
    }
    if model:
        facets["parent"] = {"run": {"runId": run_id(invocation)}, "job": whole}
    kinds = {"jobType": {"integration": "DBT", "jobType": "MODEL" if model else "JOB", "processingType": "BATCH"}}
    job: Json = {"namespace": "default", "name": f"shop.main.{project}.{model}"} if model else whole
    return packed(
        {
            "eventType": kind,
            "eventTime": (START + timedelta(minutes=minute)).isoformat(),
            "producer": "https://example.com/tests",
            "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
            "run": {"runId": run_id(f"{invocation}{model}"), "facets": facets},
            "job": job | {"facets": kinds},
            "inputs": list(inputs),
            "outputs": list(outputs),
        }
    )


def invocation(
    number: int, exposures: Mapping[str, Sequence[str]], models: Iterable[str], end: str = "COMPLETE", **more: Any
) -> list[bytes]:
    """All events of a run of dbt that runs these models. `exposures`: those of each table, by name."""
    name, minute = f"invocation {number}", number * 100.0
    events = [event("START", "", minute, invocation=name, **more)]
    for model in models:
        minute += 1
        inputs = [_named(source, exposures) for source in READ[model]]
        events.append(event("START", model, minute, invocation=name, outputs=[table(model)], **more))
        minute += 1
        outputs = [_named(model, exposures)]
        events.append(event("COMPLETE", model, minute, invocation=name, inputs=inputs, outputs=outputs, **more))
    return [*events, event(end, "", minute + 1, invocation=name, **more)]


def _named(name: str, exposures: Mapping[str, Sequence[str]]) -> Json:
    return table(name, map(exposure, exposures.get(name, ())), is_model=name in READ)


def history(seed: int, longest: int = 5) -> list[bytes]:
    """Runs of dbt of some models each, between which exposures come and go; some fail, some events are missing."""
    draw = random.Random(seed)
    events: list[bytes] = []
    for number in range(draw.randint(1, longest)):
        exposures = {name: draw.sample(("board", "sheet"), draw.randint(0, 2)) for name in (*READ, "raw")}
        models = draw.sample(list(READ), draw.randint(1, len(READ)))
        of_run = invocation(number, exposures, models, draw.choice(("COMPLETE", "COMPLETE", "FAIL")))
        events += [raw for raw in of_run if draw.random() < 0.9]
    return events
