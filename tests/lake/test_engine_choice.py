"""Which engine runs the lake: the requested one, else one by the amount of new input."""

import os
from pathlib import Path

import pytest

from throughline.lake.engine_choice import MAX_SAIL_BYTES, EngineName, EngineUnsuitableError, choose

REMOTE = "abfss://archive@account.dfs.core.windows.net/"


def _file(folder: Path, *, size: int, modified: float = 2_000_000_000) -> str:
    folder.mkdir(parents=True)
    path = folder / "events.jsonl.gz"
    with path.open("wb") as file:
        file.truncate(size)  # no byte is written
    os.utime(path, (modified, modified))
    return str(folder)


def _lake(folder: Path, *, commit_time: float) -> str:
    log = folder / "bronze" / "progress" / "_delta_log"
    log.mkdir(parents=True)
    os.utime(log, (commit_time, commit_time))
    return str(folder)


def test_sail_runs_little_input_and_spark_runs_much(tmp_path: Path) -> None:
    little, much = _file(tmp_path / "little", size=MAX_SAIL_BYTES), _file(tmp_path / "much", size=MAX_SAIL_BYTES + 1)
    root = str(tmp_path / "lake")
    assert choose(EngineName.auto, root, [little]) is EngineName.sail
    assert choose(EngineName.auto, root, [much]) is EngineName.spark
    assert choose(EngineName.auto, root, [little, little]) is EngineName.spark
    assert choose(EngineName.auto, root) is EngineName.sail


def test_sources_that_are_files_or_have_linked_folders_count(tmp_path: Path) -> None:
    much = _file(tmp_path / "much", size=MAX_SAIL_BYTES + 1)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "linked").symlink_to(much)
    for source in (f"{much}/events.jsonl.gz", str(tmp_path / "source")):
        assert choose(EngineName.auto, str(tmp_path / "lake"), [source]) is EngineName.spark


def test_only_input_written_since_the_last_run_counts(tmp_path: Path) -> None:
    old = _file(tmp_path / "old", size=10 * MAX_SAIL_BYTES, modified=1_000_000_000)
    root = _lake(tmp_path / "lake", commit_time=1_500_000_000)
    assert choose(EngineName.auto, root, [old]) is EngineName.sail
    new = _file(tmp_path / "new", size=10 * MAX_SAIL_BYTES, modified=1_600_000_000)
    assert choose(EngineName.auto, root, [old, new]) is EngineName.spark


@pytest.mark.parametrize(
    ("root", "source", "report", "reason"),
    [
        ("lake", REMOTE, "", "this machine's files alone"),
        (REMOTE, "events", "", "this machine's files alone"),
        ("lake", "events", "http://127.0.0.1:7071", "runs in Spark"),
    ],
)
def test_spark_runs_orders_that_sail_cannot_run(root: str, source: str, report: str, reason: str) -> None:
    assert choose(EngineName.auto, root, [source], report=report) is EngineName.spark
    assert choose(EngineName.spark, root, [source], report=report) is EngineName.spark
    with pytest.raises(EngineUnsuitableError, match=reason):
        choose(EngineName.sail, root, [source], report=report)


@pytest.mark.parametrize("name", ["my lake", "käse", "100%", "a#b", "a<b", 'a"b', "a[b", "a?b", "a*b", "a{b", "a\\b"])
def test_spark_runs_a_lake_whose_folder_sail_would_write_under_another_name(name: str) -> None:
    assert choose(EngineName.auto, f"/data/{name}/lake", ["events"]) is EngineName.spark
    with pytest.raises(EngineUnsuitableError, match="folder of another name"):
        choose(EngineName.sail, f"/data/{name}/lake", ["events"])


def test_sail_reads_sources_of_any_name_into_a_lake_whose_folder_it_can_name() -> None:
    assert choose(EngineName.auto, "/data/a+b&c@d(e)=~:',._-!$;^|/lake", ["my events [é]"]) is EngineName.sail
