"""Small documents of lineage, random ones, and a naive traversal to compare answers with."""

import random
from datetime import UTC, datetime, timedelta

from shared.lineage.building import TABLE, Interval, KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.lineage.graph import valid
from shared.model import Asset, Column, ColumnEdge, EdgeKind, Origin, Process

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)
ROOT = "file:///lake/"


def asset(name: str) -> Asset:
    """A folder of the lake."""
    return Asset(type="fs_path", qualified_name=f"{ROOT}{name}", namespace="file", name=f"/lake/{name}")


def column(text: str) -> Column:
    """Return a column by `table.column`; nothing after the dot: all rows."""
    table, _, name = text.rpartition(".")
    return Column(qualified_name=asset(table).qualified_name, column=name)


def edge(
    source_name: str,
    target_name: str,
    *step_names: str,
    kind: EdgeKind = EdgeKind.DIRECT,
    masked: bool = False,
    parsed: bool = False,
) -> ColumnEdge:
    """Return an edge from `table.column` to `table.column`."""
    steps = step_names or (("FILTER",) if kind is EdgeKind.INDIRECT else ("IDENTITY",))
    return ColumnEdge(
        input=column(source_name), output=column(target_name), kind=kind, masked=masked, how=steps, parsed=parsed
    )


def process(name: str, reads: str, writes: str, *edges: ColumnEdge, **fields: object) -> Process:
    """Return a process that reads some tables and writes one."""
    return Process(
        qualified_name=f"throughline:{name}",
        name=name,
        operations=("insert",),
        inputs=tuple(map(asset, reads.split())),
        outputs=(asset(writes),),
        columns=tuple(sorted(edges)),
        origin=Origin(job=name),
        **fields,  # type: ignore[arg-type] # the caller's names and types
    )


def document(*processes: Process) -> LineageDocument:
    """Return a document without history."""
    return document_of("record", [KnownProcess(process=lineage_process) for lineage_process in processes])


def random_document(
    seed: int, *, tables: int = 12, columns: int = 4, processes: int = 14, hours: int = 6
) -> LineageDocument:
    """Return a random document with history: processes of random edges, each valid for a random time."""
    draw = random.Random(seed)
    known_processes: list[KnownProcess] = []
    history: list[Interval] = []
    for number in range(processes):
        output = f"z{number % 3}/t{draw.randrange(tables)}"
        inputs = {f"z{draw.randrange(3)}/t{draw.randrange(tables)}" for _ in range(draw.randint(1, 3))} - {output}
        if not inputs:
            continue
        lineage_process = process(f"p{number}", " ".join(sorted(inputs)), output)
        known_processes.append(
            KnownProcess(process=lineage_process, first=NOON, last=NOON + hours * HOUR, last_run=f"run{number}")
        )
        for input_name in sorted(inputs):
            history.append(
                _interval(draw, lineage_process.qualified_name, (f"{input_name}.", f"{output}."), TABLE, hours)
            )
            for _ in range(draw.randint(0, columns)):
                source_column, other = (
                    f"{input_name}.c{draw.randrange(columns)}",
                    f"{output}.c{draw.randrange(columns)}",
                )
                kind = "INDIRECT" if draw.random() < 0.2 else "DIRECT"
                target_column = f"{output}." if kind == "INDIRECT" else other
                history.append(
                    _interval(draw, lineage_process.qualified_name, (source_column, target_column), kind, hours)
                )
    unique = {
        (
            interval.process,
            interval.input,
            interval.input_column,
            interval.output,
            interval.output_column,
            interval.kind,
        ): interval
        for interval in history
    }
    return document_of("lake", known_processes, history=unique.values())


def _interval(draw: random.Random, name: str, ends: tuple[str, str], kind: str, hours: int) -> Interval:
    since = 0 if kind == TABLE else draw.randrange(hours)
    until = None if kind == TABLE or draw.random() < 0.7 else since + draw.randint(1, hours)
    source_column, other = map(column, ends)
    steps = {"DIRECT": draw.choice((("IDENTITY",), ("TRANSFORMATION",), ("AGGREGATION",))), "INDIRECT": ("FILTER",)}
    return Interval(
        process=name,
        input=source_column.qualified_name,
        input_column=source_column.column,
        output=other.qualified_name,
        output_column=other.column,
        kind=kind,
        masked=kind == "DIRECT" and draw.random() < 0.2,
        steps=steps.get(kind, ()),
        parsed=kind != TABLE and draw.random() < 0.1,
        valid_from=NOON + since * HOUR,
        valid_to=None if until is None else NOON + until * HOUR,
    )


def search_document() -> LineageDocument:
    """The document of `tests/shared/lineage/search_cases.json`."""
    return document(
        process(
            "a",
            "raw/orders",
            "clean/orders",
            edge("raw/orders.amount", "clean/orders.amount"),
            edge("raw/orders.amount", "clean/orders.amount_eur"),
        ),
        process("b", "raw/orders", "clean/sales_orders", edge("raw/orders.amount", "clean/sales_orders.amount")),
        process("c", "raw/orders", "clean/customers", edge("raw/orders.order_id", "clean/customers.id")),
    )


def dependents(
    document: LineageDocument, *, conditions: bool, moment: datetime | None = None
) -> dict[int, dict[int, int]]:
    """Return everything that depends on each column, with the distance.

    A condition on all rows of a data set reaches each of its columns; see `gold/impact`.
    """
    near: dict[int, set[int]] = {}
    for edge in document.edges:
        if valid(edge, document, moment) and (conditions or edge.is_value):
            near.setdefault(edge.input, set()).add(edge.output)
    for number, column in enumerate(document.columns):
        if not column.name:
            near.setdefault(number, set()).update(
                other
                for other, other_column in enumerate(document.columns)
                if other_column.dataset == column.dataset and other_column.name
            )
    return {start: _distances(start, near) for start in range(len(document.columns))}


def _distances(start: int, near: dict[int, set[int]]) -> dict[int, int]:
    distances, frontier, distance = {start: 0}, {start}, 0
    while frontier:
        distance += 1
        frontier = {end for node in frontier for end in near.get(node, ())} - distances.keys()
        distances |= dict.fromkeys(frontier, distance)
    return distances
