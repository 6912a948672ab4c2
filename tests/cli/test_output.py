"""Output at 80 columns: help, tables and trees without loss of text."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from typer.testing import CliRunner

from shared.texts import nearest
from tests.support.cli import Parts
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.cli.main import GROUPS, app
from throughline.cli.ui import tables
from throughline.cli.ui.console import out
from throughline.cli.ui.tables import fold, print_table
from throughline.cli.ui.teaching import WIDTH, folded, shaped

CAPTURED = Path(__file__).parents[1] / "golden" / "spark35-ol1.53" / "queries" / "events.jsonl"
LONG = "abfss://raw@contosodatalake.dfs.core.windows.net/sales/europe/orders_of_all_the_years/by_customer_and_day"


ROOT: Any = typer.main.get_command(app)


def commands() -> Iterator[tuple[str, ...]]:
    for name, command in ROOT.commands.items():
        yield (name,)
        yield from ((name, sub) for sub in getattr(command, "commands", {}))


@pytest.fixture(autouse=True)
def terminal_of_80_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@cache
def help_of(*arguments: str) -> str:
    result = CliRunner().invoke(app, [*arguments, "--help"])
    assert result.exit_code == 0
    return result.output


@pytest.mark.parametrize("arguments", list(commands()), ids=" ".join)
def test_help_fits_80_columns_without_truncation(arguments: tuple[str, ...]) -> None:
    text = help_of(*arguments)
    assert [line for line in text.splitlines() if len(line) > 80] == []
    assert "…" not in text
    assert "<bool>" not in text


def test_usage_names_arguments_in_capitals() -> None:
    assert " lake impact [OPTIONS] ASSET COLUMN " in help_of("lake", "impact")
    assert " lake run [OPTIONS] SOURCE... " in help_of("lake", "run")


@pytest.mark.parametrize("arguments", list(commands()), ids=" ".join)
def test_examples_can_be_copied_from_help(arguments: tuple[str, ...]) -> None:
    """A line of an example ends where its command ends, or in a backslash."""
    command = ROOT.commands[arguments[0]]
    command = command.commands[arguments[1]] if len(arguments) > 1 else command
    examples = [paragraph for paragraph in (command.help or "").split("\n\n") if paragraph.startswith("\b")]
    help_lines = [line.strip() for line in help_of(*arguments).splitlines()]
    for line in (line for example in examples for line in example.splitlines()[1:]):
        assert line.strip() in help_lines


def test_help_lists_commands_in_groups() -> None:
    text = help_of()
    places = [text.index(f"─ {title} ─") for title in GROUPS]
    assert places == sorted(places)
    assert "--version" in text
    assert CliRunner().invoke(app, ["--version"]).output.startswith("throughline ")


def test_a_long_example_wraps_between_words_only() -> None:
    example = (
        "throughline explain 'sqlserver://srv.database.windows.net:1433;database=db' dbo.orders --names names.toml"
    )
    lines = folded(example).splitlines()
    assert all(len(line) <= WIDTH for line in lines)
    assert " ".join(line.removesuffix("\\").strip() for line in lines) == example
    assert shaped("Do it.\n\n    throughline x\n\nMore\nof it.") == "Do it.\n\n\b\nthroughline x\n\nMore of it."


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(out, "_force_terminal", True)


@pytest.mark.parametrize("width", range(30))
def test_text_is_folded_between_words_alone(width: int) -> None:
    lines = fold(f"a b {LONG} {LONG} c", width)
    assert " ".join(lines) == f"a b {LONG} {LONG} c"
    assert lines.count(LONG) == 2


def printed(titles: tuple[str, ...], rows: list[list[str]], **options: Any) -> str:
    with out.capture() as capture:
        print_table(titles, rows, **options)
    return capture.get()


@pytest.mark.usefixtures("terminal")
def test_a_table_fits_80_columns_and_keeps_names_whole() -> None:
    numbers = tuple(f"count {name}" for name in ("read", "written", "columns"))
    rows = [
        [LONG, "1,234", "5", "67", f"throughline:v1://{LONG}", "a reason of a few words " * 3],
        [LONG, "8", "9", "10", f"throughline:v1://{LONG}", "none"],
    ]
    lines = printed(("data set", *numbers, "process", "reason"), rows, numbers=numbers).splitlines()
    assert [line.split() for line in lines[:4]] == [
        ["data", "set"],
        ["process"],
        ["count", "count", "count", "reason"],
        ["read", "written", "columns"],
    ]
    assert lines[4:6] == [LONG, f"throughline:v1://{LONG}"]
    assert lines[6].startswith("    1,234        5       67  a reason")
    assert max(map(len, lines[6:])) <= 80, "both rows are of these names"
    assert lines[-1].split() == ["8", "9", "10", "none"]
    assert sum("words" in line for line in lines) > 1, "the reason is folded"


@pytest.mark.usefixtures("terminal")
def test_a_table_that_fits_keeps_its_names_in_their_column() -> None:
    lines = printed(("data set", "rows"), [[LONG[:60], "1"], ["short", "12"]], numbers=("rows",)).splitlines()
    assert lines == [f"{'data set':60}  rows", f"{LONG[:60]}     1", f"{'short':60}    12"]


def test_a_table_in_a_pipe_has_one_line_for_each_row() -> None:
    text = printed(("data set", "process", "more"), [[LONG, LONG, "x"]], notes=[["a note " * 20]], only_wide=1)
    assert [len(line.split()) for line in text.splitlines()] == [3, 2, 40]


def test_a_wide_table_has_one_line_for_each_row() -> None:
    text = printed(("data set", "columns"), [[LONG, "1"], [LONG, "2"]], numbers=("columns",), wide=True)
    assert len(text.splitlines()) == 3
    assert text.count(LONG) == 2


def test_notes_are_printed_below_their_row() -> None:
    text = printed(("job",), [["a"], ["b"]], notes=[["why a"], ["why b"]])
    assert text.splitlines() == ["job", "a", f"{' ' * tables.INDENT}why a", "b", f"{' ' * tables.INDENT}why b"]


@pytest.fixture
def parts() -> Parts:
    """Real runs, with masks, conditions and long names."""
    loaded_parts = Parts()
    for place in post(loaded_parts.storage, *CAPTURED.read_bytes().splitlines()):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    return loaded_parts


@pytest.mark.parametrize("command", [("details",), ("translate", str(CAPTURED))], ids=lambda command: command[0])
def test_a_tree_written_to_a_pipe_is_not_truncated(parts: Parts, command: tuple[str, ...]) -> None:
    """Each fact of an edge is on the line of its columns, and none is cut off."""
    text = parts.run(*command).output
    assert "masked" in text
    assert "⇢ all rows (" in text
    assert "…" not in text
    cut = [line for line in text.splitlines() if ("→" in line or "⇢" in line) and line.rstrip().endswith(("→", "⇢"))]
    assert cut == []
    long = max(text.splitlines(), key=len)
    assert len(long) > 80, "the fixture has a line that a terminal of 80 columns would cut"


@pytest.mark.parametrize(
    "arguments", [("status",), ("status", "--by", "job"), ("status", "--by", "day,job"), ("events",)]
)
@pytest.mark.usefixtures("terminal")
def test_tables_of_real_runs_fit_80_columns_but_for_names(parts: Parts, arguments: tuple[str, ...]) -> None:
    text = parts.run(*arguments).output
    assert "…" not in text
    assert [line for line in text.splitlines() if len(line) > 80 and len(line.split()) > 1] == []
    names = parts.run("status", "--json", "--by", "job").stdout
    jobs = [row["job"] for row in json.loads(names)["by"] if row["job"]]
    assert all(job in text for job in jobs) or "job" not in " ".join(arguments)


@pytest.mark.usefixtures("terminal")
@pytest.mark.parametrize("command", [("show", "file"), ("details",), ("search", "id")], ids=lambda command: command[0])
def test_paths_are_whole_at_a_terminal(parts: Parts, command: tuple[str, ...]) -> None:
    """Without its line ends, the text has each path as often as on single lines."""
    text = parts.run(*command).output
    paths = {match["dataset"] for match in json.loads(parts.run("search", "file", "--most", "0", "--json").stdout)}
    squeezed = "".join(line.strip(" │├└─") for line in text.splitlines())
    assert any(path in text for path in paths)
    assert [path for path in paths if squeezed.count(path) != text.count(path)] == []


def test_the_nearest_names_are_suggested() -> None:
    names = ["file:///data/customer_master", "file:///data/orders", "hive://m/sales.orders"]
    assert nearest("customer_mastr", names) == ("file:///data/customer_master",)
    assert nearest("sales.order", names)[0] == "hive://m/sales.orders"
    assert nearest("zzz", names) == ()


@pytest.mark.parametrize(
    ("text", "known_name", "is_similar"),
    [
        ("nosuch", "https://throughlinedoctor.dfs.core.windows.net/doctor/source", False),
        ("order", "https://throughlinedoctor.dfs.core.windows.net/doctor/source", False),
        ("phone", "payments", False),
        ("custmer", "file:///data/customer_master", True),
        ("ordesr", "file:///data/orders", True),
        ("sales/order", "file:///lake/sales/orders", True),
        ("dbo.order", "sqlserver://srv:1433/db/dbo.orders", True),
        ("emial", "email", True),
        ("storre", "store", True),
        ("databricks", "databricks-uc", True),
    ],
)
def test_only_similar_names_are_suggested(text: str, known_name: str, *, is_similar: bool) -> None:
    assert nearest(text, [known_name]) == ((known_name,) if is_similar else ())


def test_a_data_set_that_does_not_exist_is_an_error_that_suggests_the_nearest(parts: Parts) -> None:
    name = next(name for _, name in parts.catalog.assets)
    for command in (("show",), ("details",), ("impact",), ("report", "--dataset"), ("view", "--csv", "-")):
        result = parts.run(*command, f"{name.rstrip('/')}x")
        assert (result.exit_code, name.rstrip("/") in result.output.replace(f"{name.rstrip('/')}x", "")) == (1, True)


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "zzz"),
        ("run", "zzz"),
        ("events", "--run", "zzz"),
        ("events", "--job", "zzz"),
        ("events", "--output", "zzz"),
        ("status", "--table", "zzz"),
        ("replay", "--plan", "--run", "zzz"),
        ("deadletter", "show", "0000"),
    ],
    ids=" ".join,
)
def test_a_name_that_nothing_has_is_exit_code_1(parts: Parts, arguments: tuple[str, ...]) -> None:
    assert parts.run(*arguments).exit_code == 1


def test_an_ambiguous_name_is_answered_by_the_names_alone(parts: Parts) -> None:
    result = parts.run("show", "file")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[0].endswith("data sets match 'file'; use one of these names:")
    assert result.stderr.splitlines()[-1].startswith("  ")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("show", "x", "--depth", "x"), "Invalid value for '--depth': write a whole number from 1 to 20"),
        (("show", "x", "--depth", "99"), "Invalid value for '--depth': write a whole number from 1 to 20"),
        (("view", "x", "--depth", "1.5"), "Invalid value for '--depth': write a whole number of at least 0"),
    ],
)
def test_a_wrong_number_says_which_numbers_are_right(parts: Parts, arguments: tuple[str, ...], sentence: str) -> None:
    result = parts.run(*arguments)
    assert result.exit_code == 2
    assert sentence in result.output
