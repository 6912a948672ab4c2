"""A generated estate: many data sets, each written once by a job of its own from some of those before it."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

from tests.synth.archive import ArchiveFiles, archived
from tests.synth.histories import FIRST_DAY, Synthesis, stamp

COLUMNS = 9
"""Of each data set."""

_CONDITIONS = 3
_MAX_INPUTS = 3
_MASKED = 0.05
_SOURCES = 10
"""One data set in so many is a source: no job writes it."""
_WORDS = ("customer", "order", "amount", "price", "city", "country", "created", "updated", "status", "email")
_ENDS = ("id", "at", "key", "code", "name", "eur", "flag")
_HOW = ("IDENTITY", "IDENTITY", "TRANSFORMATION", "AGGREGATION")
_PRODUCER = "https://throughline.dev/synth"
_SCHEMAS = "https://openlineage.io/spec"
_CLOSED_AFTER = timedelta(hours=48)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    namespace: str
    name: str
    columns: tuple[str, ...]

    @property
    def place(self) -> dict[str, Any]:
        return {"namespace": self.namespace, "name": self.name}


def events(datasets: int, seed: int = 1) -> Iterator[dict[str, Any]]:
    """The COMPLETE event of each job of an estate with so many data sets of nine columns.

    A job reads one to three of the data sets before its own, and has three conditions on all rows. The same seed gives
    the same events.
    """
    draw = random.Random(seed)
    tables = [_table(number, draw) for number in range(datasets)]
    for number in range(max(1, datasets // _SOURCES), datasets):
        first = max(0, number - datasets * 3 // 10)
        input_numbers = {draw.randrange(first, number) for _ in range(draw.randint(1, _MAX_INPUTS))}
        yield _event(number, tables[number], [tables[input_number] for input_number in sorted(input_numbers)], draw)


def write_estate(folder: Path, *, datasets: int, seed: int, note: Callable[[int], None] = lambda _: None) -> Synthesis:
    """Write the events of an estate below `folder` in the archive's layout; `note` is called with their number."""
    files = ArchiveFiles(root=folder)
    count = 0
    for count, event in enumerate(events(datasets, seed), start=1):
        moment = _moment(count)
        run = event["run"]["runId"]
        line = archived(
            msgspec.json.encode(event),
            run=run,
            job=event["job"]["name"],
            kind=event["eventType"],
            moment=moment,
            arrived=stamp(moment + timedelta(seconds=1)),
            closed=stamp(moment + _CLOSED_AFTER),
        )
        files.add(moment, run.encode(), line + b"\n")
        note(count)
    files.close()
    return Synthesis(events=count, broken=0, files=files.files, bytes=files.size, applications=count, days=1)


def _moment(number: int) -> datetime:
    return FIRST_DAY + timedelta(seconds=number)


def _table(number: int, draw: random.Random) -> _Table:
    return _Table(
        namespace=f"abfss://t{number % 97}@acct{number % 7}.dfs.core.windows.net",
        name=f"/zone{number % 13}/table_{number:05d}",
        columns=tuple(f"{draw.choice(_WORDS)}_{draw.choice(_ENDS)}_{place}" for place in range(COLUMNS)),
    )


def _event(number: int, written_table: _Table, input_tables: list[_Table], draw: random.Random) -> dict[str, Any]:
    def origin(place: int, kind: str, subtype: str, *, masking: bool = False) -> dict[str, Any]:
        table = draw.choice(input_tables)
        step = {"type": kind, "subtype": subtype, "description": "", "masking": masking}
        return {**table.place, "field": table.columns[place % COLUMNS], "transformations": [step]}

    fields = {
        column: {"inputFields": [origin(position, "DIRECT", draw.choice(_HOW), masking=draw.random() < _MASKED)]}
        for position, column in enumerate(written_table.columns)
    }
    conditions = [origin(place, "INDIRECT", "FILTER") for place in range(_CONDITIONS)]
    run, application = (str(UUID(int=draw.getrandbits(128), version=4)) for _ in range(2))
    return {
        "eventType": "COMPLETE",
        "eventTime": stamp(_moment(number)),
        "producer": _PRODUCER,
        "schemaURL": f"{_SCHEMAS}/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {
            "runId": run,
            "facets": {
                "parent": {
                    **_meta("1-0-1/ParentRunFacet"),
                    "run": {"runId": application},
                    "job": {"namespace": "estate", "name": f"job_{number:05d}"},
                }
            },
        },
        "job": {
            "namespace": "estate",
            "name": f"job_{number:05d}.adaptive_spark_plan.out",
            "facets": {
                "jobType": {
                    **_meta("2-0-3/JobTypeJobFacet"),
                    "integration": "SPARK",
                    "jobType": "SQL_JOB",
                    "processingType": "BATCH",
                }
            },
        },
        "inputs": [{**table.place, "facets": _schema(table)} for table in input_tables],
        "outputs": [
            {
                **written_table.place,
                "facets": {
                    **_schema(written_table),
                    "columnLineage": {
                        **_meta("1-2-0/ColumnLineageDatasetFacet"),
                        "fields": fields,
                        "dataset": conditions,
                    },
                },
            }
        ],
    }


def _schema(table: _Table) -> dict[str, Any]:
    fields = [{"name": column, "type": "string"} for column in table.columns]
    return {"schema": {**_meta("1-1-1/SchemaDatasetFacet"), "fields": fields}}


def _meta(facet: str) -> dict[str, str]:
    name = facet.partition("/")[2]
    return {"_producer": _PRODUCER, "_schemaURL": f"{_SCHEMAS}/facets/{facet}.json#/$defs/{name}"}
