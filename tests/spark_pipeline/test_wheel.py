"""The wheel for clusters holds what it needs, and nothing of the functions."""

import zipfile
from pathlib import Path

from local.lake_wheel import build


def test_it_holds_the_core_and_the_pipeline(tmp_path: Path) -> None:
    with zipfile.ZipFile(build(tmp_path)) as wheel:
        names = wheel.namelist()
        metadata = next(wheel.read(name).decode() for name in names if name.endswith("METADATA"))
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == {"shared", "spark_pipeline"}
    wanted = sorted(line.partition(": ")[2] for line in metadata.splitlines() if line.startswith("Requires-Dist"))
    assert [each.partition("==")[0] for each in wanted] == ["msgspec", "sqlglot"]
    functions = (Path(__file__).parents[2] / "requirements/functions.in").read_text().splitlines()
    assert set(wanted) <= set(functions)


def test_it_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    assert build(tmp_path / "one").read_bytes() == build(tmp_path / "two").read_bytes()
