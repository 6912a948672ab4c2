"""States of lineage for tests of the watch, written in a few lines of text."""

import random
from collections.abc import Mapping, Sequence

from shared.lineage.building import KnownProcess, document_of
from shared.model import Asset, AssetSchema, Column, ColumnEdge, EdgeKind, Process
from shared.watching.comparing.snapshot import BrokenGate, Overdue, Snapshot, snapshot_of

STORE = "abfss://lake@account.dfs.core.windows.net/"


def name_of(table: str) -> str:
    """Return the qualified name of a test table."""
    return f"{STORE}{table}"


def asset(table: str) -> Asset:
    """Return a test table; a name that begins with `?` is a placeholder."""
    kind = "DataSet" if table.startswith("?") else "azure_datalake_gen2_path"
    short = table.removeprefix("?")
    return Asset(
        type=kind, qualified_name=name_of(short if kind != "DataSet" else f"own/{short}"), namespace="", name=short
    )


def state(
    jobs: Mapping[str, Sequence[str]],
    schemas: Mapping[str, str],
    *,
    overdue: tuple[Overdue, ...] = (),
    broken: tuple[BrokenGate, ...] = (),
) -> Snapshot:
    """Return a state of jobs and schemas.

    A job is given by edges `table.column > table.column`, optionally followed by `mask`, `filter` or `code`, or by
    `table > table`; a schema by columns such as `id:int name:string`.
    """
    processes = [KnownProcess(process=_process(name, lines, schemas)) for name, lines in jobs.items()]
    return snapshot_of(document_of("record", processes), overdue=overdue, broken=broken)


_STEPS = {"filter": "FILTER", "code": "OPAQUE", "mask": "IDENTITY"}


def _process(name: str, lines: Sequence[str], schemas: Mapping[str, str]) -> Process:
    inputs: dict[str, None] = {}
    outputs: dict[str, None] = {}
    edges: list[ColumnEdge] = []
    for line in lines:
        source_text, _, target_text = line.partition(" > ")
        target_name, *markers = target_text.split()
        (source, _, column), (target, _, target_column) = source_text.partition("."), target_name.partition(".")
        inputs[source] = outputs[target] = None
        if column:
            edges.append(
                ColumnEdge(
                    input=Column(qualified_name=asset(source).qualified_name, column=column),
                    output=Column(qualified_name=asset(target).qualified_name, column=target_column),
                    kind=EdgeKind.INDIRECT if "filter" in markers else EdgeKind.DIRECT,
                    masked="mask" in markers,
                    how=(_STEPS[markers[0]] if markers else "IDENTITY",),
                )
            )
    return Process(
        qualified_name=f"throughline:v1://{name}",
        name=name,
        operations=("append_data",),
        inputs=tuple(sorted(map(asset, inputs))),
        outputs=tuple(sorted(map(asset, outputs))),
        columns=tuple(sorted(edges)),
        schemas=tuple(
            AssetSchema(
                qualified_name=asset(table).qualified_name,
                columns=tuple(
                    (column_name, kind)
                    for column_name, _, kind in (field_text.partition(":") for field_text in schemas[table].split())
                ),
            )
            for table in sorted({*inputs, *outputs})
            if table in schemas
        ),
    )


def random_state(chance: random.Random, schema: str = "a:int b:int") -> Snapshot:
    """Return a state of at most five tables with this schema."""
    tables = [f"t{number}" for number in range(5)]
    schemas = dict.fromkeys(tables, schema)
    jobs = {}
    for number in range(chance.randrange(1, 5)):
        target = chance.randrange(1, 5)
        jobs[f"j{number}"] = [_random_edge(chance, target) for _ in range(chance.randrange(1, 4))]
    return state(jobs, schemas)


def _random_edge(chance: random.Random, target: int) -> str:
    columns = [chance.choice("ab") for _ in range(2)]
    marker = chance.choice(("", " mask", " filter", " code"))
    return f"t{chance.randrange(target)}.{columns[0]} > t{target}.{columns[1]}{marker}"
