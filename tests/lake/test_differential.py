"""The lake gives the same lineage as the functions, over all captured events and made-up histories."""

import gzip
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.lineage.graph import LineageGraph
from tests.lake.differential import TEMPLATES, captured, current, history, usable
from tests.lake.files import OF_SPARK, version_of
from tests.support.declared import declared_truth
from tests.support.golden import FOLDERS
from tests.support.lineage import dependents
from tests.synth.histories import synthesize
from throughline.lake.bronze.ingestion import ingest
from throughline.lake.engine.session import prepare
from throughline.lake.gold.current_lineage import add_all_up
from throughline.lake.gold.impact import DEEPEST
from throughline.lake.gold.lineage_document import document_of_lake
from throughline.lake.gold.lineage_history import write_history
from throughline.lake.pipeline import DONE, Order, run
from throughline.lake.silver.quality import failed_tests, refine_quality
from throughline.lake.silver.refinement import Meaning, refine
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import COVERAGE, IMPACT, LAKE, QUARANTINE, SCHEMA_CHANGES

pytestmark = OF_SPARK

NEWEST = (
    "spark35-ol1.53",
    "spark35-ol1.53-plan",
    "dbt-1.54",
    "airflow-2.11",
    "great_expectations-1.24",
    "python_client-1.54",
)


def test_the_lake_equals_the_functions(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Captured events of the newest listener and of other engines, and a made-up history with re-runs, chains, stars,
    streams, late, repeated and broken ones. In two steps: some of everything comes a step later, and many earlier
    contributions change. A last step finds nothing new. On Spark all comes in one step, unless `--proofs` asks for all.
    `python -m tests.lake.differential` takes all there is.
    """
    in_steps = request.config.getoption("--proofs") or request.config.getoption("--engine") == "sail"
    lake = Lake(session=prepare(spark), root=str(tmp_path / "lake"))
    synthesis = synthesize(tmp_path / "archive", events=600, seed=7, templates=TEMPLATES)
    archived = sorted((tmp_path / "archive").rglob("*.gz"))
    lines = [line for path in captured(*NEWEST) for line in path.read_bytes().splitlines()]
    source = tmp_path / "sources"
    for step, part in enumerate((slice(0, None, 2), slice(1, None, 2))):
        (source / str(step)).mkdir(parents=True)
        (source / str(step) / "events.jsonl.gz").write_bytes(gzip.compress(b"\n".join(lines[part])))
        for path in archived[part]:
            path.rename(source / str(step) / path.name)
        if step == 0 and in_steps:
            ingest(lake, [str(source)], batch=1)
            refine(lake, Meaning(), batch=1, since=0)
            refine_quality(lake, None, batch=1, since=0)
            add_all_up(lake, Meaning(), batch=1, since=0)
            write_history(lake, Meaning(), batch=1, since=0)
            lake.note(DONE, 1)
    run(lake, Order(sources=(str(source),)))
    wanted_processes = history(usable(source))
    assert current(lake) == wanted_processes
    document = document_of_lake(lake)
    recorded = document_of("record", [KnownProcess(process=process) for process in wanted_processes])
    assert now(document) == now(recorded)
    assert owned(document) == owned(recorded) != {}
    tests = {row for folder in FOLDERS.values() for row in declared_truth(folder)["tests"]}
    assert schema_changes(lake, document)
    assert failing(lake, document) == {row[:3] for row in tests if not row[3]}
    assert len(document.edges) + len(document.flows) > len(now(document)), "past edges are there too"
    assert downstream(document) == {tuple(row) for row in lake.read(IMPACT).select(*REACHED).collect()}
    assert lake.read(QUARANTINE).count() == synthesis.broken
    if not in_steps:
        return
    versions = {table.name: version_of(lake, table) for table in LAKE}
    stages = run(lake, Order(sources=(str(source),)))
    assert {table.name: version_of(lake, table) for table in LAKE} == versions
    assert not any(count for stage in stages for count in stage.counts.values())


REACHED = ("source", "source_column", "target", "target_column", "depth")


def downstream(document: LineageDocument) -> set[tuple[object, ...]]:
    """The columns that depend on each column, by the walk that tests/viewer/test_questions.py holds the page to."""
    names = [dataset.qualified_name for dataset in document.datasets]
    ends = [(names[column.dataset], column.name) for column in document.columns]
    now = LineageGraph(document, conditions=True).edges
    traced = {end for edge in map(document.edges.__getitem__, now) for end in (edge.input, edge.output)}
    return {
        (*ends[start], *ends[target], depth)
        for start, reached in dependents(document, conditions=True).items()
        for target, depth in reached.items()
        if target != start and traced >= {start, target} and depth <= DEEPEST
    }


def owned(document: LineageDocument) -> dict[str, str]:
    """The owners of data sets, by qualified name."""
    return {dataset.qualified_name: dataset.owner for dataset in document.datasets if dataset.owner}


def schema_changes(lake: Lake, document: LineageDocument) -> bool:
    """Whether there are changes of schemas, and the document has those of its data sets."""
    names = [dataset.qualified_name for dataset in document.datasets]
    rows = lake.read(SCHEMA_CHANGES).select("qualified_name", "column", "change").collect()
    listed = {(names[row.dataset], row.column, row.change) for row in document.schema_changes}
    return listed == {tuple(row) for row in rows if row["qualified_name"] in names} != set()


def failing(lake: Lake, document: LineageDocument) -> set[tuple[str, str, str]]:
    """The failed tests in the lake: data set as events call it, column, test. All views of them agree."""
    rows = failed_tests(lake).collect()
    counted = {row["level"]: row for row in lake.read(COVERAGE).where("tests > 0").collect() if row["level"] != "asset"}
    assert counted["all"]["failing"] == len(rows) < counted["all"]["tests"]
    by_asset = lake.read(COVERAGE).where("level = 'asset' and failing > 0").collect()
    assert {row["name"]: row["failing"] for row in by_asset} == Counter(row["qualified_name"] for row in rows)
    names = [dataset.qualified_name for dataset in document.datasets]
    assert {
        (names[failed_test.dataset], failed_test.column, failed_test.name) for failed_test in document.failed_tests
    } == {(row["qualified_name"], row["column"], row["name"]) for row in rows if row["qualified_name"] in names}
    return {(row["dataset"], row["column"], row["name"]) for row in rows}


def now(document: LineageDocument) -> set[tuple[object, ...]]:
    """The flows and edges that are valid now, by names."""
    names = [dataset.qualified_name for dataset in document.datasets]
    processes = [process.qualified_name for process in document.processes]
    columns = [(names[column.dataset], column.name) for column in document.columns]
    graph = LineageGraph(document, conditions=True)
    flows = (document.flows[number] for number in graph.flows)
    edges = (document.edges[number] for number in graph.edges)
    return {
        *((processes[flow.process], names[flow.input], names[flow.output]) for flow in flows),
        *(
            (processes[edge.process], columns[edge.input], columns[edge.output], edge.kind, edge.masked, edge.steps)
            for edge in edges
        ),
    }


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        synthesize(tmp_path / name, events=400, seed=3, templates=TEMPLATES)
    files = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.gz")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert sum(gzip.decompress(data).count(b"\n") for data in files[0].values()) == 400
