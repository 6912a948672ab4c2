"""Lineage at an address: the first answer of a cold process, answers after that, and memory, on a large document.

A process of its own starts, reads the document from Azurite and answers, as the function does but for the host. The
goals are limits for people and programs that ask: each figure is compared with its goal. Answers are timed by the CPU
that they take, since one process computes them and nothing is waited for; the cold start by both clocks.
"""

import gzip
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.days import difference, restored
from shared.lineage.document import LineageDocument, encoded
from shared.model import Asset, AssetSchema, Column, ColumnEdge, EdgeKind, Process
from shared.storage_layout import NEWEST, PUBLISHED
from tests.bench.figures import Figure, against_goals
from tests.bench.sizes import Sizes, Steps
from tests.support.azurite import on_azurite
from throughline.local.azurite import Azurite
from throughline.project import ROOT

NAME = "address"
_LAYERS, _COLUMNS = 5, 10
_LAKE = "abfss://lake@acct.dfs.core.windows.net"
_ASK = """
import json, random, sys, time
began = float(sys.argv[1])
from shared.bootstrap_lineage import lineage_service
from shared.serving.requests import Request
nodes = json.loads(sys.argv[2])
service = lineage_service()
def ask(path, node):
    query, headers = {"nodeId": node}, {"accept-encoding": "gzip"}
    answer = service.answer(Request(path=f"api/v1/{path}", query=query, headers=headers))
    assert answer.status == 200, answer.body
    return answer
ask("lineage", nodes["lineage"][0])
figures = {"first": time.time() - began, "first_cpu": time.process_time()}
for path in ("lineage", "column-lineage"):
    for node in nodes[path][:20]:
        ask(path, node)
    times = []
    for node in nodes[path]:
        start = time.process_time()
        ask(path, node)
        times.append(time.process_time() - start)
    times.sort()
    figures[path] = [times[len(times) // 2] * 1000, times[len(times) * 99 // 100] * 1000, len(times) / sum(times)]
def highest():
    with open("/proc/self/status") as status:
        (line,) = [line for line in status if line.startswith("VmHWM:")]
    return int(line.split()[1]) / 1000
figures["memory"] = highest()
start = time.process_time()
missing = service.answer(Request(path="api/v1/lineage", query={"nodeId": nodes["lineage"][0] + "x"}))
figures["unknown"] = (time.process_time() - start) * 1000
assert missing.status == 404 and nodes["lineage"][0].encode() in missing.body, missing.body
print(json.dumps(figures))
"""


def measure(sizes: Sizes, steps: Steps) -> list[Figure]:
    """Measure each figure against its goal, which holds for 10,000 data sets with 100,000 edges."""
    steps.begin("lineage at an address", 2)
    document = _document(sizes.view_datasets)
    draw = random.Random(1)
    names = [dataset.full_name for dataset in document.datasets]
    nodes = {
        "lineage": [f"dataset:{_LAKE}:{draw.choice(names)}" for _ in range(500)],
        "column-lineage": [
            f"datasetField:{_LAKE}:{draw.choice(names)}:column_{draw.randrange(_COLUMNS)}" for _ in range(500)
        ],
    }
    steps.done()
    with tempfile.TemporaryDirectory() as folder, Azurite(location=Path(folder)) as azurite:
        name = f"{NEWEST}20261120T100000000000Z-a.json.gz"
        on_azurite(azurite.connection_string).put_new(PUBLISHED, name, gzip.compress(encoded(document)))
        environment = {**os.environ, "AzureWebJobsStorage": azurite.connection_string}
        command = [sys.executable, "-c", _ASK]
        output = subprocess.run(
            [*command, str(time.time()), json.dumps(nodes)],
            cwd=ROOT,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    steps.done()
    figures = json.loads(output.splitlines()[-1])
    rows = [
        ("first answer of a cold process", figures["first"], "s", 1.5),
        ("first answer of a cold process, CPU", figures["first_cpu"], "s", 1.5),
        ("memory", figures["memory"], "MB", 250),
        ("an unknown node with the nearest names", figures["unknown"], "ms", 1000),
    ]
    for path in ("lineage", "column-lineage"):
        half, slow, rate = figures[path]
        rows += [(f"{path}, p50", half, "ms", 10), (f"{path}, p99", slow, "ms", 50), (path, rate, "requests/s", 200)]
    rows.append(("difference of a day, of the document", _share_of_difference(document), "of its bytes", 0.5))
    counts = {"datasets": len(document.datasets), "columns": len(document.columns), "edges": len(document.edges)}
    return against_goals(NAME, rows, counts)


def _share_of_difference(document: LineageDocument) -> float:
    """What a day takes as a difference: every job has run again, and one in a hundred has lost a column."""
    draw = random.Random(2)
    runs = [f"{draw.getrandbits(128):032x}" for _ in document.processes]
    changed = set(draw.sample(range(len(document.processes)), len(document.processes) // 100))
    lost_outputs = {number: edge.output for number in changed for edge in document.edges if edge.process == number}
    later_document = structs.replace(
        document,
        processes=tuple(
            structs.replace(process, last_run=run) for process, run in zip(document.processes, runs, strict=True)
        ),
        edges=tuple(edge for edge in document.edges if lost_outputs.get(edge.process) != edge.output),
    )
    small = difference(document, date(2026, 11, 20), later_document)
    if restored(document, small) != later_document:
        raise AssertionError("the difference does not restore its document")
    return len(gzip.compress(small, 6)) / len(gzip.compress(encoded(later_document), 6))


def _document(datasets: int) -> LineageDocument:
    """Tables in layers: each but those of the first is made of two of the layer before, each column of one or two."""
    draw = random.Random(1)
    width = datasets // _LAYERS
    layers = [[_table(layer, number) for number in range(width)] for layer in range(_LAYERS)]
    processes = [
        _process(draw, table, draw.sample(layers[layer - 1], 2))
        for layer in range(1, _LAYERS)
        for table in layers[layer]
    ]
    return document_of("record", processes, expressions=True)


def _table(layer: int, number: int) -> Asset:
    name = f"layer_{layer}/table_{number:05}"
    return Asset(
        type="azure_datalake_gen2_path",
        qualified_name=f"https://acct.dfs.core.windows.net/lake/{name}",
        namespace=_LAKE,
        name=name,
    )


def _process(draw: random.Random, table: Asset, inputs: list[Asset]) -> KnownProcess:
    columns = [f"column_{number}" for number in range(_COLUMNS)]
    edges = {
        ColumnEdge(
            input=Column(qualified_name=source.qualified_name, column=column),
            output=Column(qualified_name=table.qualified_name, column=column),
            kind=EdgeKind.DIRECT,
            how=("IDENTITY",),
        )
        for column in columns
        for source in draw.sample(inputs, draw.choice((1, 1, 1, 2)))
    }
    schemas = (*inputs, table)
    process = Process(
        qualified_name=f"throughline:v1://spark/load {table.name.replace('/', ' ')}/{table.qualified_name}",
        name=table.name,
        operations=("insert",),
        inputs=tuple(sorted(inputs)),
        outputs=(table,),
        columns=tuple(sorted(edges)),
        schemas=tuple(
            AssetSchema(qualified_name=asset.qualified_name, columns=tuple((column, "string") for column in columns))
            for asset in schemas
        ),
    )
    return KnownProcess(process=process)
