"""The arguments of spark-submit."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from throughline.lake.submit import order_of


def test_arguments_give_the_sources_and_settings_of_the_order(tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    names.write_text("")
    root, order = order_of(
        ["a", "b", "--lake", "l", "--as-of", "2026-11-21T13:00Z", "--quiet-minutes", "5", "--names", str(names)]
    )
    assert (root, order.sources) == ("l", ("a", "b"))
    assert order.meaning.as_of == datetime(2026, 11, 21, 13, tzinfo=UTC)
    assert order.meaning.quiet == timedelta(minutes=5)
    assert order.meaning.names == ("", str(names))


def test_as_of_never_gives_no_time() -> None:
    assert order_of(["a", "--lake", "l", "--as-of", "never"])[1].meaning.as_of is None


@pytest.mark.parametrize("arguments", [["a"], ["--lake", "l"], ["a", "--lake", "l", "--as-of", "soon"]])
def test_missing_or_wrong_arguments_are_reported(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        order_of(arguments)
    assert stop.value.code == 2
    assert "submit.py: error" in capsys.readouterr().err
