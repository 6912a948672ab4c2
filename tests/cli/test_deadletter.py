"""`throughline deadletter` and `throughline replay`: output, writes and exit codes."""

import gzip
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from shared.applications.processor import ApplicationProcessor
from shared.bootstrap import Worker, assemble
from shared.bootstrap_receiver import receiver_storage
from shared.errors import StorageUnavailable
from shared.events.dead_letters import DeadLetter, dead_letters
from shared.maintenance.replay import REPLAY
from shared.naming.names import BUILT_IN
from shared.publishing.context import PublishOptions
from shared.settings.reading import load
from shared.storage.memory import MemoryStorage
from shared.storage_layout import APPLICATIONS
from shared.sweeping.sweep import SweepOptions, sweep
from shared.texts import visible
from tests.support.dead_letters import RULE_WITH_UNKNOWN_GROUP, Stepped, replace_blob
from tests.support.events import run_id, write
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import UnreliableCatalog
from throughline.cli.main import app
from throughline.cli.records.dead_letters import pretty, unpacked

runner = CliRunner()


@pytest.fixture
def parts() -> Worker:
    """The adapters of the commands: storage and catalog in memory."""
    return Worker(
        storage=MemoryStorage(),
        catalog=UnreliableCatalog(),
        publishing=PublishOptions(),
        sweeping=SweepOptions(),
        names=BUILT_IN,
    )


@pytest.fixture
def storage(parts: Worker) -> MemoryStorage:
    """One damaged START; a run that could not be translated; a foreign name."""
    assert isinstance(parts.storage, MemoryStorage)
    start, end = post(parts.storage, *write("damaged", "app", "10:00", "/a"))
    replace_blob(parts.storage, start, b"hello\x1b[31m")
    deliver_event(parts.storage, end)
    post(parts.storage, *write("unusable", "other", "11:00", "/b", sink="/other"))
    ApplicationProcessor(storage=parts.storage, names=RULE_WITH_UNKNOWN_GROUP).fold(run_id("other"))
    parts.storage.put_new("events", "notes\x1b[2J.txt", b"hello")
    sweep(parts.storage, SweepOptions())
    return parts.storage


Run = Callable[..., Result]


def run_with(parts: Worker | None, *arguments: str) -> Result:
    return runner.invoke(app, arguments, obj=parts)


@pytest.fixture
def run(parts: Worker) -> Run:
    """Runs a command over these parts."""
    return partial(run_with, parts)


def ids(storage: MemoryStorage, reason: str) -> list[str]:
    return [letter.digest for letter in dead_letters(storage) if letter.reason == reason]


def repair(storage: MemoryStorage) -> None:
    for letter in dead_letters(storage):
        if letter.reason == "damaged bytes" and letter.place:
            replace_blob(storage, letter.place, gzip.compress(write("damaged", "app", "10:00", "/repaired")[0]))


def test_the_list_shows_every_dead_letter_and_counts_by_reason(run: Run, storage: MemoryStorage) -> None:
    result = run("deadletter", "list")
    assert result.exit_code == 0
    assert "4 dead letters: 2 unusable run, 1 damaged bytes, 1 foreign name" in result.output
    assert "\x1b" not in result.output
    for line in (
        f"job app.adaptive_spark_plan.out, run {run_id('damaged')}, START of 2026-11-21 10:00:00 UTC",
        "BadGzipFile: Not a gzipped file",
        "KeyError: 'host'",
        r"events/notes\x1b[2J.txt",
        ids(storage, "damaged bytes")[0][:12],
    ):
        assert line in result.output


def test_the_list_as_json_has_all_fields_and_can_be_filtered(run: Run, storage: MemoryStorage) -> None:
    report = json.loads(run("deadletter", "list", "--json", "--reason", "DAMAGED").stdout)
    (letter,) = report["dead_letters"]
    assert (report["count"], report["by_reason"]) == (1, {"damaged bytes": 1})
    assert letter.keys() >= {"id", "reason", "error", "job", "run", "first", "last", "count", "blob", "discarded"}
    assert (letter["run"], letter["event_type"], letter["count"]) == (run_id("damaged"), "START", 1)
    assert letter["id"] == ids(storage, "damaged bytes")[0]
    by_error = json.loads(run("deadletter", "list", "--json", "--reason", "keyerror").stdout)
    assert by_error["count"] == 2
    few = json.loads(run("deadletter", "list", "--json", "--most", "1").stdout)
    assert (len(few["dead_letters"]), few["count"]) == (1, 4)
    assert "3 not shown" in run("deadletter", "list", "--most", "1").output
    assert len(json.loads(run("deadletter", "list", "--json", "--most", "0").stdout)["dead_letters"]) == 4


def test_an_empty_list_of_dead_letters_ends_with_0(run: Run) -> None:
    result = run("deadletter", "list")
    assert (result.exit_code, result.output) == (0, "0 dead letters\n")


def test_show_escapes_control_sequences_of_the_event(run: Run, storage: MemoryStorage) -> None:
    damaged, unusable = ids(storage, "damaged bytes")[0], ids(storage, "unusable run")[0]
    result = run("deadletter", "show", damaged[:6])
    assert result.exit_code == 0
    assert damaged in result.output
    assert "no gzip" in result.output
    assert r"hello\x1b[31m" in result.output
    assert "\x1b" not in result.output
    text = run("deadletter", "show", unusable).stdout
    event = json.loads(text[text.index("{") :])
    assert event["run"]["runId"] == run_id("unusable")


def test_show_of_a_dead_letter_without_its_blob_shows_the_other_fields(run: Run, storage: MemoryStorage) -> None:
    (letter,) = (dead_letter for dead_letter in dead_letters(storage) if dead_letter.reason == "foreign name")
    del storage._blobs["events"][letter.blob]
    result = run("deadletter", "show", letter.digest)
    assert result.exit_code == 0
    assert "foreign name" in result.output
    assert "no longer holds it" in result.output


def test_replay_uses_repaired_dead_letters_and_keeps_the_others(
    run: Run, parts: Worker, storage: MemoryStorage
) -> None:
    repair(storage)
    result = run("deadletter", "replay", "--all")
    assert result.exit_code == 1, "the foreign name is left"
    assert "3 used, 1 failed again" in result.output or "1 failed again, 3 used" in result.output
    assert "its run is now contributed" in result.output
    assert "catalog: 2 written" in result.output
    assert [(letter.reason, letter.count) for letter in dead_letters(storage)] == [("foreign name", 2)]
    assert isinstance(parts.catalog, MemoryCatalog)
    inputs = {key[1] for process in parts.catalog.processes.values() for key in process.inputs}
    assert inputs == {"file:///a", "file:///repaired", "file:///b"}


def test_a_replay_with_new_dead_letters_counts_them_and_ends_with_1(run: Run, parts: Worker) -> None:
    storage = parts.storage
    assert isinstance(storage, MemoryStorage)
    places = post(storage, *write("good", "app", "10:00", "/a"))
    deliver_event(storage, places[-1])
    assert run("replay").exit_code == 0
    for place in places:
        replace_blob(storage, place, b"damaged")
    result = run("replay")
    assert result.exit_code == 1
    assert "dead letters: 2 events cannot be used; `throughline deadletter list` says why" in result.output
    assert "dead: none of its events can be used" in run("run", run_id("good")).output


def test_a_discarded_dead_letter_is_no_failure_of_a_replay(run: Run, storage: MemoryStorage) -> None:
    assert run("deadletter", "discard", ids(storage, "damaged bytes")[0], "--yes").exit_code == 0
    result = run("replay")
    assert (result.exit_code, "failed again" in result.output) == (0, False), result.output
    named = run("deadletter", "replay", ids(storage, "damaged bytes")[0])
    assert (named.exit_code, "1 failed again" in named.output) == (1, True), named.output


def test_a_discarded_dead_letter_is_no_failure_of_another_one_of_its_run(run: Run, parts: Worker) -> None:
    storage = parts.storage
    assert isinstance(storage, MemoryStorage)
    bodies = write("both", "app", "10:00", "/a")
    start, end = post(storage, *bodies)
    for place in (start, end):
        replace_blob(storage, place, b"damaged")
    deliver_event(storage, end)
    assert {letter.digest for letter in dead_letters(storage)} == {start.digest, end.digest}
    assert run("deadletter", "discard", start.digest, "--yes").exit_code == 0
    replace_blob(storage, end, gzip.compress(bodies[1]))
    result = run("deadletter", "replay", "--all")
    assert (result.exit_code, "1 used" in result.output) == (0, True), result.output
    assert [letter.digest for letter in dead_letters(storage)] == [start.digest]


def test_replay_by_id_and_by_reason(run: Run, storage: MemoryStorage) -> None:
    repair(storage)
    result = run("deadletter", "replay", ids(storage, "damaged bytes")[0][:8])
    assert (result.exit_code, ids(storage, "damaged bytes")) == (0, [])
    assert len(ids(storage, "unusable run")) == 2
    assert run("deadletter", "replay", "--reason", "unusable").exit_code == 0
    assert ids(storage, "unusable run") == []
    assert "nothing to replay" in run("deadletter", "replay", "--reason", "unusable").output


def test_discard_without_yes_only_plans(run: Run, storage: MemoryStorage) -> None:
    letter_ids = ids(storage, "unusable run")
    plan = run("deadletter", "discard", *letter_ids)
    assert (plan.exit_code, "2 would be discarded" in plan.output) == (0, True)
    assert not any(letter.discarded for letter in dead_letters(storage))
    result = run("deadletter", "discard", *letter_ids, "--yes")
    assert (result.exit_code, "2 discarded" in result.output) == (0, True)
    assert "2 dead letters: 1 damaged bytes, 1 foreign name" in run("deadletter", "list").output
    assert "2 discarded: 2 unusable run" in run("deadletter", "list", "--discarded").output
    run("deadletter", "replay", "--all")
    assert ids(storage, "unusable run") == letter_ids, "--all does not replay discarded dead letters"
    assert run("deadletter", "replay", letter_ids[0]).exit_code == 0
    assert ids(storage, "unusable run") == [], "its id does"


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["deadletter", "show", "zzzz"], 2, "is not an id"),
        (["deadletter", "show", "abc"], 2, "is not an id"),
        (["deadletter", "show", "0" * 32], 1, "no dead letter has an id"),
        (["deadletter", "discard", "0000", "--yes"], 1, "not unique"),
        (["deadletter", "replay"], 2, "name the dead letters"),
        (["deadletter", "replay", "0000", "--all"], 2, "name the dead letters"),
        (["replay", "--from", "yesterday"], 2, "--from must be a time"),
        (["replay", "--to", "2026-13-01"], 2, "--to must be a time"),
        (["replay", "--resume", "--job", "x"], 2, "--resume continues"),
        (["replay", "--resume"], 2, "nothing to resume"),
    ],
)
def test_a_wrong_argument_is_refused_with_one_line(
    run: Run, parts: Worker, arguments: list[str], code: int, sentence: str
) -> None:
    now = datetime.now(UTC)
    for digest in ("00001".ljust(32, "1"), "00002".ljust(32, "1")):
        letter = DeadLetter(digest=digest, blob="x", reason="foreign name", error="x", first=now, last=now)
        parts.storage.insert("deadletters", letter.row())
    result = run(*arguments)
    assert result.exit_code == code
    assert sentence in result.output
    assert len(result.output.strip().splitlines()) == 1
    assert not any(letter.discarded for letter in dead_letters(parts.storage))


def test_an_unavailable_catalog_delays_the_replay_and_loses_nothing(
    run: Run, parts: Worker, storage: MemoryStorage
) -> None:
    assert isinstance(parts.catalog, UnreliableCatalog)
    parts.catalog.away = True
    result = run("deadletter", "replay", "--reason", "unusable")
    assert result.exit_code == 1
    assert "no answer. Nothing is lost: 2 processes stay in the publish queue" in result.output
    assert ids(storage, "unusable run") == [], "they were used; their lineage is on record"
    result = run("replay")
    assert (result.exit_code, "Nothing is lost" in result.output) == (1, True)


COMMANDS = [
    ["deadletter", "list"],
    ["deadletter", "show", "0000"],
    ["deadletter", "replay", "--all"],
    ["deadletter", "discard", "0000", "--yes"],
    ["replay"],
    ["replay", "--resume"],
    ["replay", "--plan"],
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_unavailable_storage_is_reported_in_one_line(arguments: list[str]) -> None:
    """Real clients, and no server at the address. The receiver's storage fails as the others do but tries once."""
    unreachable_settings = load(
        catalog=True,
        environment={
            "AzureWebJobsStorage": "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;"
            "BlobEndpoint=http://127.0.0.1:9/a;TableEndpoint=http://127.0.0.1:9/a",
            "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9",
            "THROUGHLINE_CATALOG_TOKEN": "x",
        },
    )
    result = run_with(
        replace(assemble(unreachable_settings), storage=receiver_storage(unreachable_settings)), *arguments
    )
    assert result.exit_code == 1
    assert "Storage did not answer" in result.output
    assert len([line for line in result.output.splitlines() if line.strip()]) == 1, result.output


def test_replay_reports_its_work_and_writes_only_changes(run: Run, parts: Worker) -> None:
    for day in (20, 21):
        post(parts.storage, *write(f"r{day}", f"app{day}", f"2026-11-{day}T10:00", "/a", sink=f"/o{day}"))
    plan = run("replay", "--plan")
    assert (plan.exit_code, "2 applications would be computed again" in plan.output) == (0, True)
    assert [line.split() for line in plan.stdout.splitlines()][:3] == [
        ["application", "runs"],
        [run_id("app20"), "1"],
        ["app.adaptive_spark_plan.out"],
    ]
    assert "catalog: 0 written" in run("replay", "--from", "2026-11-22").output
    first_result = run("replay", "--from", "2026-11-21", "--to", "2026-11-22T00:00:00+00:00")
    assert (
        first_result.exit_code,
        "1 application computed again" in first_result.output,
        "catalog: 1 written" in first_result.output,
    ) == (
        0,
        True,
        True,
    )
    full_result = run("replay")
    assert ("2 applications computed again" in full_result.output, "catalog: 1 written" in full_result.output) == (
        True,
        True,
    )
    assert "    throughline:v1://tests/app/file/o20\n" in run("replay", "--plan", "--run", run_id("r20")).stdout
    job_result = run("replay", "--job", "app.*")
    assert "catalog: 0 written, 0 removed, 2 unchanged" in job_result.output
    assert "1 application computed again" in run("replay", "--run", run_id("r20").upper()).output


@pytest.fixture
def before_handler() -> Iterator[Any]:
    """The handler of Ctrl-C is the same afterwards."""
    previous_handler = signal.getsignal(signal.SIGINT)
    yield previous_handler
    assert signal.getsignal(signal.SIGINT) == previous_handler


@pytest.mark.usefixtures("before_handler")
def test_ctrl_c_stops_after_the_current_run_and_resume_continues() -> None:
    storage = Stepped(MemoryStorage())
    for number in range(5):
        post(storage.real, *write(f"r{number}", f"app{number}", f"1{number}:00", "/a", sink=f"/o{number}"))
    parts = Worker(
        storage=storage, catalog=MemoryCatalog(), publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )
    run = partial(run_with, parts)
    applications: list[str] = []

    def third(name: str, arguments: tuple[Any, ...]) -> None:
        if name == "transact" and arguments[0] == APPLICATIONS:
            applications.append(arguments[1][0].row.partition)
            if len(applications) == 3:
                signal.raise_signal(signal.SIGINT)

    storage.step_in = third
    stopped_result = run("replay", "--from", "2026-11-21")
    assert stopped_result.exit_code == 130
    assert "3 applications computed again" in stopped_result.output
    assert "in the hour 2026-11-21 12:00 UTC" in stopped_result.output
    assert "Traceback" not in stopped_result.output
    assert applications == [run_id(f"app{number}") for number in range(3)]
    stop = REPLAY.load(storage.real)
    assert stop
    assert stop.wanted.since == datetime(2026, 11, 21, tzinfo=UTC)
    resumed_result = run("replay", "--resume")
    assert (
        resumed_result.exit_code,
        "2 applications computed again" in resumed_result.output,
        "5 written" in resumed_result.output,
    ) == (
        0,
        True,
        True,
    )
    assert applications == [run_id(f"app{number}") for number in range(5)]


def test_an_outage_of_storage_names_the_command_that_continues() -> None:
    storage = Stepped(MemoryStorage())
    post(storage.real, *write("a", "app", "10:00", "/a"))
    parts = Worker(
        storage=storage, catalog=MemoryCatalog(), publishing=PublishOptions(), sweeping=SweepOptions(), names=BUILT_IN
    )
    run = partial(run_with, parts)

    def away(name: str, arguments: tuple[Any, ...]) -> None:
        if (name, arguments[0]) == ("transact", APPLICATIONS):
            raise StorageUnavailable("Storage answered 503")

    storage.step_in = away
    result = run("replay")
    assert (result.exit_code, "Storage answered 503. Nothing is lost" in result.output) == (1, True)
    assert "--resume" in result.output
    storage.step_in = lambda *_: None
    assert "catalog: 1 written" in run("replay", "--resume").output


@pytest.mark.parametrize("command", [["deadletter", "list"], ["replay"]], ids=" ".join)
def test_a_missing_world_is_refused_with_a_message(command: list[str], tmp_path: Path) -> None:
    result = run_with(None, *command, "--home", str(tmp_path))
    assert (result.exit_code, "throughline up" in result.output) == (2, True)


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b'{"a":[1,"\xc3\xbc"]}', '{\n  "a": [\n    1,\n    "ü"\n  ]\n}'),
        (b'{"a": "x\xe2\x80\xaey"}', '{\n  "a": "x\\u202ey"\n}'),
        (b"\xff\x1b]0;x\x07\r\n\tno", "\\xff\\x1b]0;x\\x07\\r\n\\tno"),
        (b"[" * 100_000, "[" * 100_000),
        (b"", ""),
    ],
    ids=["JSON", "a mark that turns the direction", "escapes", "very deep", "nothing"],
)
def test_an_event_is_shown_unchanged_except_for_control_characters(data: bytes, text: str) -> None:
    assert pretty(data) == text


def test_line_breaks_in_a_value_are_escaped() -> None:
    assert visible("a\nb\u2028c ü \x9b") == r"a\nb\u2028c ü \x9b"


def test_the_content_before_the_damaged_part_is_shown() -> None:
    data = b"".join(f"line {number}\n".encode() for number in range(2000))
    packed_data = gzip.compress(data)
    assert unpacked(packed_data) == (data, "")
    readable_part, trouble = unpacked(packed_data[: len(packed_data) // 2])
    assert (data.startswith(readable_part), len(readable_part) > 100, "cut off" in trouble) == (True, True, True)
    readable_part, trouble = unpacked(packed_data[:1024] + bytes(200) + packed_data[1224:])
    assert (data.startswith(readable_part[:1000]), "before the damage" in trouble) == (True, True)
    bomb = gzip.compress(bytes(64 * 1024 * 1024))
    readable_part, trouble = unpacked(bomb)
    assert (len(readable_part), "longer than" in trouble) == (16 * 1024 * 1024, True)


def test_a_replay_names_what_it_wrote_and_removed(run: Run, parts: Worker) -> None:
    assert isinstance(parts.storage, MemoryStorage)
    assert isinstance(parts.catalog, UnreliableCatalog)
    for place in post(parts.storage, *write("one", "app", "10:00", "/a")):
        deliver_event(parts.storage, place)
    lines = run("replay").output.splitlines()
    named = lines[lines.index("catalog: 1 written, 0 removed, 0 unchanged") + 1 :]
    (process,) = parts.catalog.processes
    assert named == [f"  + {process}"]
    assert "  +" not in run("replay").output
    assert f"  - {process}" in run("retire", "--unseen-days", "1", "--yes").output.splitlines()


def test_the_names_of_many_changes_are_counted(run: Run, parts: Worker) -> None:
    assert isinstance(parts.storage, MemoryStorage)
    for number in range(23):
        for place in post(parts.storage, *write(f"r{number}", "app", "10:00", "/a", sink=f"/b{number}")):
            deliver_event(parts.storage, place)
    output = run("replay").output
    assert "23 written" in output
    assert output.count("  + ") == 20
    assert output.endswith("  and 3 more\n")
