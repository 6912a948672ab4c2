"""A shop: a git repository with a dbt project and a script, and the lineage of its tables."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.support.building import IDENTITY, Json, body, dataset, lineage, packed, source
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish

DUCKDB, PREFIX = "duckdb:///lake.duckdb", "db.main."
ORDERS = "{{ config(materialized='table') }}\nselect id, amount, email from {{ source('raw', 'orders') }}\n"
PROJECT = {
    "dbt/dbt_project.yml": "name: shop\n",
    "dbt/models/staging/stg_orders.sql": ORDERS,
    "dbt/models/mart.sql": "select id, amount as total from {{ ref('stg_orders') }}\n",
    "dbt/tests/no_negatives.sql": "select id from {{ ref('mart') }} where total < 0\n",
    "etl/load.sql": "create or replace table main.loaded as select id, city from main.source;\nset x = 1;\n",
    "README.md": "a shop\n",
}


def make_repository(folder: Path) -> None:
    """Make the repository, with the project as its first commit, tagged `base`."""
    git(folder, "init", "--quiet")
    commit(folder, PROJECT)
    git(folder, "tag", "base")


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=ann", "-c", "user.email=ann@example.com", "-c", "commit.gpgsign=false")
    subprocess.run(["git", "-C", folder, *identity, *words], check=True, capture_output=True)


def commit(folder: Path, files: Mapping[str, str | None]) -> None:
    """Write the files (None: remove it), and commit them."""
    for name, text in files.items():
        path = folder / name
        if text is None:
            path.unlink()
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "change")


def recorded_shop() -> Parts:
    """The lineage of the project: raw → stg_orders → mart → report, and loaded → cities."""
    parts = Parts()
    ways: tuple[tuple[str, str, dict[str, str]], ...] = (
        ("raw.orders", "stg_orders", {"id": "id", "amount": "amount", "email": "email"}),
        ("stg_orders", "mart", {"id": "id", "total": "amount"}),
        ("mart", "report", {"total": "total"}),
        ("loaded", "cities", {"city": "city"}),
    )
    for source_name, target, columns in ways:
        fields = [{"name": name, "type": "string"} for name in columns]
        edges = {
            name: [source(f"db.main.{source_name}", column, IDENTITY, namespace=DUCKDB)]
            for name, column in columns.items()
        }
        facets: Json = {"schema": {"fields": fields}, "columnLineage": lineage(edges)}
        output = dataset(f"db.main.{target}", DUCKDB, **facets)
        event = body(
            run=target,
            application=target,
            app_name=target,
            inputs=[dataset(f"db.main.{source_name}", DUCKDB)],
            outputs=[output],
        )
        for place in post(parts.storage, packed(event)):
            deliver_event(parts.storage, place)
    publish(parts.storage, parts.catalog, parts.worker.publishing)
    return parts
