"""The page marks the same columns as not known as the Python rule: on random documents, now and at past times."""

import json
import random
import subprocess
from datetime import UTC, datetime, timedelta

from shared.lineage.document import (
    FORMAT,
    NOT_SET,
    Column,
    Dataset,
    Edge,
    Flow,
    Kind,
    LineageDocument,
    Process,
    encoded,
)
from shared.lineage.graph import unknown_columns
from shared.model import EXCLUDED
from throughline.local.toolchain.node import find_node
from throughline.project import ROOT as PROJECT

DOCUMENTS = 200
NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
TIMES = tuple(NOW + timedelta(days=day) for day in range(3))
UNKNOWN = """
import { Model } from "./viewer/model.js";
import { readFileSync } from "node:fs";
const found = readFileSync(0, "utf8").split("\\n").filter(Boolean).map((line) => {
  const model = new Model(JSON.parse(line));
  return [null, ...model.times].map((at) => [...model.unknown(at)].sort((one, other) => one - other));
});
console.log(JSON.stringify(found));
"""


def random_document(draw: random.Random) -> LineageDocument:
    """Return a document of three data sets, some columns without a type, two processes, and temporary edges."""
    kinds = ("fs_path", "fs_path", draw.choice(("fs_path", EXCLUDED.type)))
    datasets = tuple(Dataset(qualified_name=f"d{n}", type=kind, name=f"d{n}") for n, kind in enumerate(kinds))
    columns = tuple(
        Column(dataset, name, draw.choice(("", "int")), False) for dataset in range(3) for name in ("", "a", "b")
    )
    processes = tuple(
        Process(
            qualified_name=f"p{n}",
            name=f"p{n}",
            operations=draw.choice(((), ("merge",), ("insert",), ("delete", "update"))),
            exact=draw.random() < 0.2,
        )
        for n in range(2)
    )

    def span() -> tuple[int, int]:
        began = draw.randrange(len(TIMES) - 1)
        return began, draw.choice((NOT_SET, NOT_SET, draw.randrange(began + 1, len(TIMES))))

    flows = [Flow(draw.randrange(2), draw.randrange(3), draw.randrange(3), *span()) for _ in range(draw.randrange(5))]
    edges = [
        Edge(draw.randrange(2), draw.randrange(9), draw.randrange(9), draw.choice(list(Kind)), False, False, *span())
        for _ in range(draw.randrange(8))
    ]
    return LineageDocument(
        format=FORMAT,
        source="lake",
        history=True,
        times=TIMES,
        datasets=datasets,
        columns=columns,
        processes=processes,
        flows=tuple(sorted(flows)),
        edges=tuple(sorted(edges)),
    )


def test_the_page_and_the_python_rule_agree_on_unknown_columns() -> None:
    documents = [random_document(random.Random(seed)) for seed in range(DOCUMENTS)]
    command = [str(find_node().node), "--input-type=module", "--eval", UNKNOWN]
    lines = b"\n".join(map(encoded, documents))
    outcome = subprocess.run(command, input=lines, capture_output=True, check=True, cwd=PROJECT)
    page_answer = json.loads(outcome.stdout)
    expected_answer = [
        [sorted(unknown_columns(document, moment=moment)) for moment in (None, *TIMES)] for document in documents
    ]
    assert page_answer == expected_answer
    assert any(known_numbers for document_numbers in expected_answer for known_numbers in document_numbers)
    assert len({str(document_numbers) for document_numbers in expected_answer}) > DOCUMENTS / 4
