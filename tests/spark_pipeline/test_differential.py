"""The lake says what the functions say: the whole of it, over all captured events and made-up histories."""

import gzip
from collections.abc import Iterable
from pathlib import Path

from pyspark.sql import SparkSession

from shared.model import Process
from shared.openlineage import Event
from shared.translation import translate_history
from spark_pipeline.lake import Lake
from spark_pipeline.lines import Read, Reader
from spark_pipeline.schemas import CURRENT, LAKE, QUARANTINE
from spark_pipeline.steps import Order, run
from spark_pipeline.synth import synthesize
from spark_pipeline.values import unpack_process
from tests.spark_pipeline.files import OF_SPARK, written_at

pytestmark = OF_SPARK

GOLDEN = Path(__file__).parent.parent / "golden"
TEMPLATES = GOLDEN / "spark35-ol1.53"


def _current(lake: Lake) -> list[Process]:
    rows = lake.live(CURRENT).orderBy("process").select("content").collect()
    return [unpack_process(bytes(row[0])) for row in rows]


def _history(events: Iterable[Event]) -> list[Process]:
    return list(translate_history(events).processes)


def _usable(folder: Path) -> list[Event]:
    """What counts of the files of a folder, read by other code than Spark's."""
    reader = Reader()
    found = [
        each
        for path in sorted(folder.rglob("*.gz"))
        for each in reader.read(str(path), path.read_bytes(), written_at(path))
        if isinstance(each, Read)
    ]
    return [each.event for each in found if not each.late]


def test_the_lake_says_what_the_functions_say(spark: SparkSession, tmp_path: Path) -> None:
    """All captured events and a made-up history with re-runs, chains, stars, streams, late, repeated, broken ones: in
    two steps: every second event comes a step later, and much of what was said changes. A third step finds nothing new.
    """
    lake = Lake.at(spark, str(tmp_path / "lake"))
    made = synthesize(tmp_path / "archive", events=1_500, seed=7, templates=TEMPLATES)
    archived = sorted((tmp_path / "archive").rglob("*.gz"))
    captured = [line for path in sorted(GOLDEN.glob("*/*/events.jsonl")) for line in path.read_bytes().splitlines()]
    source = tmp_path / "sources"
    for step in range(2):
        (source / str(step)).mkdir(parents=True)
        (source / str(step) / "events.jsonl.gz").write_bytes(gzip.compress(b"\n".join(captured[step::2])))
        for path in archived[step::2]:
            path.rename(source / str(step) / path.name)
        run(lake, Order(sources=(str(source),)))
        assert _current(lake) == _history(_usable(source))
    assert lake.read(QUARANTINE).count() == made.broken
    versions = {table.name: lake.version(table) for table in LAKE}
    done = run(lake, Order(sources=(str(source),)))
    assert {table.name: lake.version(table) for table in LAKE} == versions
    assert not any(count for stage in done for count in stage.counts.values())


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        synthesize(tmp_path / name, events=400, seed=3, templates=TEMPLATES)
    files = [
        {path.relative_to(tmp_path / name): path.read_bytes() for path in (tmp_path / name).rglob("*.gz")}
        for name in ("one", "two")
    ]
    assert files[0] == files[1]
    assert sum(gzip.decompress(data).count(b"\n") for data in files[0].values()) == 400
