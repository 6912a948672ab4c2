"""`throughline import dbt` on a made-up project: its files to events, and those to lineage as the parser reads them."""

import json
import tempfile
import time
from pathlib import Path
from typing import Any

from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history
from tests.bench.figures import Figure
from tests.bench.sizes import Sizes, Steps
from throughline.dbt.artifacts import read_project
from throughline.dbt.events import jobs_of

NAME = "dbt"
_COLUMNS = 30
_GOAL = 60


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure the CPU of both, once: they wait for nothing."""
    steps.begin("dbt: a project", 2)
    with tempfile.TemporaryDirectory() as folder:
        write_project(Path(folder), sizes.dbt_models)
        began = time.process_time()
        jobs = list(jobs_of(read_project(Path(folder)), namespace="duckdb:///lake.duckdb", job_namespace="dbt"))
        imported = time.process_time() - began
    steps.done()
    began = time.process_time()
    history = translate_history(decode(raw) for job in jobs for raw in job.events)
    translated = time.process_time() - began
    steps.done()
    counts = {"models": sizes.dbt_models, "edges": sum(len(process.columns) for process in history.processes)}
    return [
        Figure(
            benchmark=NAME,
            name=name,
            value=seconds,
            unit="s",
            compared_with="its goal",
            other=_GOAL,
            ratio=seconds / _GOAL,
            goal="<= 1",
            sizes=counts,
        )
        for name, seconds in (("files to events", imported), ("events to lineage", translated))
    ]


def write_project(folder: Path, models: int) -> None:
    """Write manifest.json, run_results.json and catalog.json of a project with so many models of 30 columns. Each reads
    two models before it, by CTEs, as projects do.
    """
    names = [f"c{number}" for number in range(_COLUMNS)]
    nodes: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for number in range(models):
        parents: list[int | str] = [*sorted({number // 2, max(number - 1, 0)} - {number})] or ["raw"]
        first_table, other = (f'"db"."main"."m{parent}"' for parent in (parents[0], parents[-1]))
        picked = ", ".join(f"coalesce(a.{name}, b.{name}) as {name}" for name in names)
        sql = f"with a as (select * from {first_table}), b as (select * from {other}) select {picked} from a join b on a.c0 = b.c0"  # noqa: S608, E501 - never run
        unique_id = f"model.shop.m{number}"
        nodes[unique_id] = {
            "unique_id": unique_id,
            "resource_type": "model",
            "name": f"m{number}",
            "alias": f"m{number}",
            "database": "db",
            "schema": "main",
            "config": {"materialized": "table"},
            "compiled_code": sql,
            "depends_on": {
                "nodes": [f"model.shop.m{parent}" for parent in parents if parent != "raw"] or ["seed.shop.raw"]
            },
        }
        columns = {name: {"name": name, "type": "INTEGER", "index": position} for position, name in enumerate(names)}
        tables[unique_id] = {"columns": columns}
    nodes["seed.shop.raw"] = {
        "unique_id": "seed.shop.raw",
        "resource_type": "seed",
        "name": "raw",
        "alias": "mraw",
        "database": "db",
        "schema": "main",
    }
    time_of_all = "2026-11-26T10:00:00Z"
    timing = [{"name": "execute", "started_at": time_of_all, "completed_at": time_of_all}]
    results = [{"unique_id": table, "status": "success", "timing": timing} for table in tables]
    versions = {"manifest": ("manifest", 12), "run_results": ("run-results", 6), "catalog": ("catalog", 1)}
    contents: dict[str, Any] = {
        "manifest": {"nodes": nodes},
        "run_results": {"results": results},
        "catalog": {"nodes": tables},
    }
    for file, (kind, version) in versions.items():
        schema = f"https://schemas.getdbt.com/dbt/{kind}/v{version}.json"
        metadata = {"dbt_schema_version": schema, "generated_at": time_of_all, "project_name": "shop"}
        (folder / f"{file}.json").write_text(json.dumps({"metadata": metadata, **contents[file]}))
