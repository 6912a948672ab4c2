"""The library without a server: the same lineage as the core, in values of its own."""

import dataclasses
import doctest
import gzip
import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

import throughline
import throughline.translation
from shared.openlineage.decoding import decode
from shared.translation.reference import translate_history

EVENTS = Path(__file__).parents[1] / "golden/spark35-ol1.53/customer_master/events.jsonl"


def test_files_bytes_text_and_objects_give_the_same() -> None:
    lines = EVENTS.read_bytes().splitlines()
    with EVENTS.open("rb") as file:
        translation = throughline.translate(file)
    assert translation.processes
    assert translation == throughline.translate(line.decode() for line in lines)
    assert translation == throughline.translate(json.loads(line) for line in reversed(lines))


def test_a_path_gives_the_same_as_its_events(tmp_path: Path) -> None:
    lines = EVENTS.read_bytes().splitlines()
    lineage = throughline.translate(lines)
    array, packed_path = tmp_path / "array.json", tmp_path / "events.jsonl.gz"
    array.write_bytes(b"[" + b",".join(lines) + b"]")
    packed_path.write_bytes(gzip.compress(EVENTS.read_bytes()))
    for path in (EVENTS, array, packed_path):
        assert throughline.translate(path) == lineage


def test_a_notebook_shows_a_table_of_the_columns() -> None:
    """Names of others cannot be markup, and marks that act are shown as escapes."""
    text = EVENTS.read_text().replace("email_hash", "<b>hash\u202e")
    html = throughline.translate(text.splitlines())._repr_html_()
    table = ET.fromstring(f"<all>{html}</all>")  # noqa: S314 - the text is ours
    captions = [element.text for element in table.iter("caption")]
    assert captions == ["customer_master → files/customer_master (insert)", "runs"]
    rows = [[cell.text for cell in row] for row in table.iter("tr")]
    assert ["customer.email", "<b>hash\\u202e", "transformation, masked", None] in rows
    assert ["number", "state", "reason"] in rows


def test_several_paths_and_events_are_taken_together(tmp_path: Path) -> None:
    first, *rest = EVENTS.read_bytes().splitlines()
    (tmp_path / "one.jsonl").write_bytes(b"\n".join(rest[::2]))
    (tmp_path / "two.jsonl").write_bytes(b"\n".join(rest[1::2]))
    lineage = throughline.translate([tmp_path / "one.jsonl", first, tmp_path / "two.jsonl"])
    assert lineage == throughline.translate(EVENTS)


def test_the_name_of_a_file_as_text_says_how_to_read_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "events.jsonl").touch()
    with pytest.raises(ValueError, match=r"'events.jsonl' is a file: translate\(Path\('events.jsonl'\)\)"):
        throughline.translate("events.jsonl")
    (tmp_path / "events").mkdir()
    with pytest.raises(ValueError, match=r"'events' is a folder: translate\(Path\('events'\)\)"):
        throughline.translate("events")


@pytest.mark.parametrize("events", ["gone.jsonl", "{}", b"{}", {"eventType": "START"}, "x" * 10_000, "\ud800", "\0"])
def test_one_event_instead_of_several_is_a_wrong_argument(events: Any) -> None:
    with pytest.raises(ValueError, match="several events, or the Path of a file"):
        throughline.translate(events)


def test_an_error_in_a_file_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_bytes(EVENTS.read_bytes().splitlines()[0] + b"\n{}\n")
    with pytest.raises(throughline.InvalidEvent, match=r"events\.jsonl:2: "):
        throughline.translate(path)
    with pytest.raises(throughline.InvalidEvent, match=r"gone\.jsonl can't be read"):
        throughline.translate(tmp_path / "gone.jsonl")


def test_an_invalid_event_has_the_name_that_the_library_exports() -> None:
    with pytest.raises(throughline.InvalidEvent, match="event 1: ") as raised:
        throughline.translate([b"x"])
    assert type(raised.value) is throughline.InvalidEvent
    assert type(raised.value).__name__ in throughline.__all__


def test_the_page_lists_the_fields_of_all_results() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/python.md").read_text()
    listed: dict[str, list[str]] = {}
    for line in page.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and (name := cells[0].strip("`")):
            value = name
        if line.startswith("|") and cells[1].startswith("`"):
            listed.setdefault(value, []).extend(field.strip(" `") for field in cells[1].split(","))
    results = (
        throughline.Process,
        throughline.Dataset,
        throughline.ColumnEdge,
        throughline.Column,
        throughline.Run,
    )
    fields = {result.__name__: {field.name for field in dataclasses.fields(result)} for result in results}
    assert {name: set(names) for name, names in listed.items()} == fields


def test_the_library_gives_the_lineage_of_the_core() -> None:
    lines = EVENTS.read_bytes().splitlines()
    core = translate_history(map(decode, lines))
    lineage = throughline.translate(lines)
    assert [process.qualified_name for process in lineage.processes] == [
        process.qualified_name for process in core.processes
    ]
    for our_process, their_process in zip(lineage.processes, core.processes, strict=True):
        assert [
            (edge.input.dataset, edge.input.column, edge.output.column, edge.masked) for edge in our_process.columns
        ] == [
            (edge.input.qualified_name, edge.input.column, edge.output.column, edge.masked)
            for edge in their_process.columns
        ]
    assert [(run.run_id, run.state) for run in lineage.runs] == [(run.run_id, run.state) for run in core.runs]
    assert {run.job.partition(".")[0] for run in lineage.runs} == {"customer_master"}


def test_what_code_makes_is_an_upper_bound() -> None:
    events = Path(__file__).parents[1] / "golden/spark41-ol1.53-plan/pandas_functions/events.jsonl"
    columns = {
        process.name.rpartition(" ")[2]: {(edge.kind, edge.opaque, "OPAQUE" in edge.steps) for edge in process.columns}
        for process in throughline.translate(events).processes
    }
    assert columns["gross"] == {("DIRECT", False, False)}
    assert columns["rounded"] == {("DIRECT", True, True), ("INDIRECT", False, False)}


def test_a_run_s_job_is_that_of_its_first_event_in_any_order_of_them() -> None:
    first, *other_events = (json.loads(line) for line in EVENTS.read_bytes().splitlines())
    run = first["run"]["runId"]
    (end,) = (event for event in other_events if event["run"]["runId"] == run and event["eventType"] == "COMPLETE")
    later_event = {**end, "job": {**end["job"], "name": "renamed"}}
    for events in ((first, later_event), (later_event, first)):
        (translated_run,) = throughline.translate(events).runs
        assert translated_run.job == first["job"]["name"]


def test_results_are_frozen() -> None:
    lineage = throughline.translate(EVENTS.read_bytes().splitlines())
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(lineage.processes[0], "name", "other")  # noqa: B010 - mypy forbids the plain assignment, which is the point


def test_an_invalid_event_raises_an_error_that_names_the_field() -> None:
    with pytest.raises(throughline.InvalidEvent, match="eventTime"):
        throughline.translate([b'{"eventType": "COMPLETE", "run": {"runId": "x"}}'])


@pytest.mark.parametrize("text", ["\ud800", '{"a": "\ud800"}'])
def test_a_text_with_half_a_surrogate_pair_is_an_invalid_event(text: str) -> None:
    with pytest.raises(throughline.InvalidEvent):
        throughline.translate([text])


def test_a_file_of_names_is_applied(tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    names.write_text(
        '[[rules]]\nrule = "mine"\nnamespace = "file"\nname = "(?P<path>.*)"\n'
        'type = "fs_path"\nqualified_name = "m:{path}"\n'
    )
    assert throughline.explain("file", "/data/t", names=names).dataset.qualified_name.startswith("m:")
    names.write_text("[[rules]]\nname = 1\n")
    with pytest.raises(throughline.Misconfigured):
        throughline.explain("file", "/data/t", names=names)


@pytest.mark.parametrize("kind", ["missing", "a folder", "no text"])
def test_a_file_of_names_that_cannot_be_read_is_misconfigured(kind: str, tmp_path: Path) -> None:
    names = tmp_path / "names.toml"
    if kind == "a folder":
        names.mkdir()
    elif kind == "no text":
        names.write_bytes(b"\xff")
    with pytest.raises(throughline.Misconfigured, match=r"names\.toml"):
        throughline.explain("file", "/data/t", names=names)
    with pytest.raises(throughline.Misconfigured, match=r"names\.toml"):
        throughline.translate([], names=str(names))


def test_the_examples_in_the_docstrings_work() -> None:
    result = doctest.testmod(throughline.translation)
    assert result.attempted >= 4
    assert result.failed == 0
