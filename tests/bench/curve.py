"""How cost grows with the events of one run and with the columns of one table: it should grow linearly.

A time is that of the whole chain, decode to entity, per event or column, against the smallest size.
"""

import gc
import json
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from shared.atlas.entities import process_entity
from shared.model import RunLineage
from shared.openlineage.decoding import decode
from shared.openlineage.merging import merge
from shared.translation.run.translate import translate
from tests.bench.figures import Figure, Rounds
from tests.bench.sizes import Sizes, Steps

NAME = "curve"
_START = datetime(2026, 11, 21, tzinfo=UTC)
_RUN, _APPLICATION = "01a1fe5f-4c35-7c23-b741-67b47b484699", "01a1fe5f-38a6-7a34-a22e-5e0ea9e0aa01"
_COLUMNS_OF_EACH = 3


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """A figure for each size of a run and of a table."""
    steps.begin("curves", sizes.curve_rounds * (len(sizes.run_events) + len(sizes.table_columns)))
    return [
        *_curve("events", sizes.run_events, _run_of, sizes.curve_rounds, steps),
        *_curve("columns", sizes.table_columns, _table_of, sizes.curve_rounds, steps),
    ]


def _curve(
    unit: str, counts: tuple[int, ...], make: Callable[[int], list[bytes]], rounds: int, steps: Steps
) -> list[Figure]:
    """Measure the sizes in turns. The best round counts, since other work on the machine can only add time."""
    best: dict[int, float] = {}
    for _ in range(rounds):
        for count in counts:
            spent = _seconds(make(count)) / count
            best[count] = min(best.get(count, spent), spent)
            steps.done()
    return [
        Rounds(ours=[best[count]], others=[best[counts[0]]]).figure(
            benchmark=NAME,
            name=f"{count:,} {unit}",
            scale=1e6,
            unit=f"us/{unit.removesuffix('s')}",
            compared_with=f"{unit} of a run" if unit == "events" else f"{unit} of a table",
            goal="<= 1.2",
            sizes={unit: count, "rounds": rounds},
        )
        for count in counts
    ]


def _seconds(raws: list[bytes]) -> float:
    """CPU seconds of decode, merge, translate and entities."""
    gc.collect()
    start = time.process_time()
    lineage = translate(merge([decode(raw) for raw in raws]))
    entities = [process_entity(process) for process in lineage.processes] if isinstance(lineage, RunLineage) else []
    spent = time.process_time() - start
    if not entities:
        raise AssertionError(f"these events should have lineage: {lineage}")
    return spent


def _run_of(events: int) -> list[bytes]:
    """One run that reports the same work in each event, a millisecond later each time."""
    return [_event(index, events, _COLUMNS_OF_EACH) for index in range(events)]


def _table_of(columns: int) -> list[bytes]:
    """A run that writes a table of `columns` columns, each from one column of its source."""
    return [_event(index, 2, columns) for index in range(2)]


def _event(index: int, event_count: int, columns: int) -> bytes:
    kind = "COMPLETE" if index == event_count - 1 else "RUNNING" if index else "START"
    source, target = ({"namespace": "file", "name": f"/data/{name}"} for name in ("orders", "orders_clean"))
    identity = {"type": "DIRECT", "subtype": "IDENTITY", "description": "", "masking": False}
    fields = {
        f"column_{number}": {"inputFields": [{**source, "field": f"column_{number}", "transformations": [identity]}]}
        for number in range(columns)
    }
    parent = {"run": {"runId": _APPLICATION}, "job": {"namespace": "bench", "name": "nightly"}}
    body: Mapping[str, Any] = {
        "eventType": kind,
        "eventTime": (_START + timedelta(milliseconds=index)).isoformat(),
        "run": {"runId": _RUN, "facets": {"parent": parent}},
        "job": {"namespace": "bench", "name": "nightly.execute_insert_into_hadoop_fs_relation_command.orders_clean"},
        "inputs": [source],
        "outputs": [{**target, "facets": {"columnLineage": {"fields": fields}}}],
    }
    return json.dumps(body).encode()
