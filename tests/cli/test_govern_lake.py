"""`check`, `classify plan`, `watch --policy` and `throughline.require` on a real lake: the same output as for the
record of the same events, and facts that only a lake has.
"""

import csv
import json
import os
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import throughline
from tests.support.building import IDENTITY, START, Json, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.command_process import ProcessOfCommands
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from throughline.lake.engine.opening import opened
from throughline.lake.engine.session import Local
from throughline.lake.tables.lake import Lake
from throughline.local.toolchain.versions import SPARK_3

MASKED = step("DIRECT", "TRANSFORMATION", masking=True)
LAST = datetime.now(UTC).replace(microsecond=0) - timedelta(minutes=1)
"""The time of the last event: overdue jobs depend on the clock, which commands read."""

TAG = """\
[[tag]]
classification = "PII"
datasets = "/raw"
columns = "mail"

[[certified]]
datasets = "/raw"
"""
DEMANDS = {
    "no_tag": 'no_tag = "PII"',
    "sources_only": 'sources_only = "/raw"',
    "masked_by": 'masked_by = "*"',
    "fresh_within": 'fresh_within = "1h"',
    "every_input": 'every_input = "certified"',
    "no_failed_upstream": "no_failed_upstream = true",
    "traced": "traced = 100",
}
LAKE_DEMANDS = {
    "quality_passed": "quality_passed = true",
    "unchanged_since": f"unchanged_since = {(LAST - timedelta(days=2)).date()}",
}


def policies(*demands: str, **extra_demands: str) -> str:
    """A rules file that demands each of these of `/clean` and of `/mart`."""
    named = {**{demand: demand for demand in demands}, **extra_demands}
    return TAG + "".join(
        f'\n[[policy]]\nname = "{name} {layer}"\ndatasets = "/{layer}"\n{({**DEMANDS, **LAKE_DEMANDS})[demand]}\n'
        for name, demand in named.items()
        for layer in ("clean", "mart")
    )


def job(name: str, day: float, read: str, target: str, columns: dict[str, Json], *, end: str = "COMPLETE") -> Json:
    """A run that makes columns of `target` of those of the same name, so many days before the last event."""
    schema = {"fields": [{"name": name, "type": "string"} for name in columns]}
    edges = lineage({name: [source(read, name, transformation)] for name, transformation in columns.items()})
    written_dataset = dataset(target, schema=schema, columnLineage=edges)
    return body(
        end,
        run=f"{name} {day}",
        application=f"application {name} {day}",
        app_name=name,
        minute=_minute(day),
        inputs=[dataset(read, schema=schema)],
        outputs=[written_dataset],
    )


def quality_run(day: float, *, success: bool) -> Json:
    """A run that tests a column of `/clean`."""
    assertion = {"assertion": "not_null", "column": "id", "success": success}
    tested_dataset = {**dataset("/clean"), "inputFacets": {"dataQualityAssertions": {"assertions": [assertion]}}}
    return body(
        run=f"dq {day}",
        application=f"dq {day}",
        app_name="dq",
        job="test",
        minute=_minute(day),
        inputs=[tested_dataset],
    )


def _minute(day: float) -> float:
    return (LAST - START) / timedelta(minutes=1) - day * 24 * 60


FIRST = (
    *(job("load", day, "/raw", "/clean", {"id": IDENTITY, "mail": MASKED}) for day in range(9, 3, -1)),
    job("mart", 4, "/clean", "/mart", {"id": IDENTITY, "mail": IDENTITY}),
    quality_run(4, success=True),
)
"""A daily job that masks, and a job that reads its table."""
LATER = (
    job("leak", 1, "/raw", "/mart", {"mail": IDENTITY}),
    quality_run(1, success=False),
    job("mart", 0, "/clean", "/mart", {"id": IDENTITY, "mail": IDENTITY}, end="FAIL"),
)
"""The daily job has stopped. A new one writes the plain value, one fails, and so does a test."""


@dataclass(slots=True)
class Places:
    """One history on record and in a lake, by the same commands."""

    folder: Path
    parts: Parts = field(default_factory=Parts)

    @property
    def lake(self) -> tuple[str, str]:
        """The option that names the lake."""
        return "--lake", str(self.folder / "lake")

    def add(self, name: str, events: tuple[Json, ...]) -> None:
        """The events come to the record and to the lake."""
        for event in events:
            for place in post(self.parts.storage, packed(event)):
                deliver_event(self.parts.storage, place)
        publish(self.parts.storage, self.parts.catalog, self.parts.worker.publishing)
        (self.folder / "events").mkdir(exist_ok=True)
        (self.folder / "events" / f"{name}.jsonl").write_bytes(b"\n".join(map(packed, events)))
        self.run("lake", "run", str(self.folder / "events"), *self.lake, "--engine", "sail")

    def run(self, *arguments: str, code: int = 0) -> str:
        result = self.parts.run(*arguments)
        assert result.exit_code == code, result.output
        return result.output

    def both(self, *arguments: str, code: int = 0) -> tuple[str, str]:
        """The output of a command for the record, and for the lake."""
        return self.run(*arguments, code=code), self.run(*arguments, *self.lake, code=code)

    def report(self, rules: str, *arguments: str) -> list[tuple[str, ...]]:
        """The table of evidence about the tagged columns, without the times of edges, which only a lake has."""
        self.run("report", "--classification", "PII", "--rules", rules, *arguments, "--csv", "report.csv")
        times = {"valid_from", "valid_to", "as_of"}
        with Path("report.csv").open(encoding="utf-8", newline="") as file:
            return [tuple(cell for name, cell in row.items() if name not in times) for row in csv.DictReader(file)]


def outputs_of_history(folder: Path) -> dict[str, Any]:
    """Take both places through the history; return the outputs for the record and for the lake. The commands run in the
    folder, where no command has made anything yet, as after an installation.
    """
    os.chdir(folder)
    places = Places(folder)
    for name, text in {
        "policy": policies(*DEMANDS),
        "lake": policies(*LAKE_DEMANDS),
        "gate": policies("no_tag", "no_failed_upstream"),
    }.items():
        (folder / f"{name}.toml").write_text(text)
    policy, of_lake, gate = (str(folder / f"{name}.toml") for name in ("policy", "lake", "gate"))
    watches = {}
    for name in ("record", "lake"):
        log = (folder / f"{name}.jsonl").as_posix()
        watches[name] = str(folder / f"{name}-watch.toml")
        Path(watches[name]).write_text(f'[channels.log]\nkind = "file"\npath = "{log}"\n[[rules]]\nto = ["log"]\n')

    def watch(now: datetime) -> tuple[str, str]:
        """A look at both; at the record at this time, which the lake takes from its last event."""
        arguments, usual = ("watch", "--once", "--policy", gate, "--rules"), places.parts.worker
        places.parts.worker = replace(usual, publishing=replace(usual.publishing, now=lambda: now))
        printed = places.run(*arguments, watches["record"]), places.run(*arguments, watches["lake"], *places.lake)
        places.parts.worker = usual
        return printed

    places.add("first", FIRST)
    outputs: dict[str, Any] = {
        "check before": places.both("check", policy, "--json", "-", code=3),
        "of lakes before": places.run("check", of_lake, *places.lake, "--json", "-", code=4),
        "looked": watch(LAST - timedelta(days=4)),
    }
    places.add("then", LATER)
    with opened(_session(folder), "sail") as session:
        lake = Lake.at(session, places.lake[1])
        for name in ("policy", "lake"):
            with pytest.raises(throughline.PolicyError) as refused:
                throughline.require(folder / f"{name}.toml", lake=lake)
            outputs[f"require {name}"] = str(refused.value)
    return outputs | {
        "check": places.both("check", policy, "--json", "-", code=3),
        "check text": places.both("check", policy, code=3),
        "of lakes": places.run("check", of_lake, *places.lake, code=3),
        "plan": places.both("classify", "plan", "--rules", gate, "--json", code=3),
        "reports": [places.report(gate), places.report(gate, *places.lake)],
        "report before": places.report(gate, "--as-of", (LAST - timedelta(days=2)).isoformat(), *places.lake),
        "announced": watch(LAST),
        "announced again": watch(LAST),
    }


def _session(folder: Path) -> Local:
    return Local(
        cores=2, memory="1g", delta_package=SPARK_3.delta_package, scratch=str(folder / "scratch"), brief=True, more={}
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory, sail_process: ProcessOfCommands) -> tuple[Path, dict[str, Any]]:
    """The folder, and the outputs."""
    folder = tmp_path_factory.mktemp("govern")
    return folder, sail_process.call(outputs_of_history, folder)


def test_check_and_classify_plan_print_the_same_for_the_record_and_a_lake(history: tuple[Path, dict[str, Any]]) -> None:
    _, outputs = history
    for name in ("check before", "check", "check text", "plan"):
        of_record, of_lake = outputs[name]
        assert of_lake == of_record, name
    verdicts = {
        check_result["policy"]: check_result["verdict"] for check_result in json.loads(outputs["check"][1])["results"]
    }
    assert verdicts.keys() == {f"{demand} {layer}" for demand in DEMANDS for layer in ("clean", "mart")}
    assert {name for name, verdict in verdicts.items() if verdict == "holds"} == {
        *(f"{demand} clean" for demand in DEMANDS if demand not in {"masked_by", "fresh_within"})
    }
    verdicts_before = {
        check_result["policy"]: check_result["verdict"]
        for check_result in json.loads(outputs["check before"][1])["results"]
    }
    assert verdicts_before["no_tag mart"] == verdicts_before["no_failed_upstream mart"] == "holds"
    assert verdicts["no_tag mart"] == verdicts["no_failed_upstream mart"] == "broken"


def test_a_report_is_the_same_for_the_record_and_a_lake_which_also_knows_an_earlier_time(
    history: tuple[Path, dict[str, Any]],
) -> None:
    _, outputs = history
    of_record, of_lake = outputs["reports"]
    assert of_lake == of_record, "on the same events too"
    parts = [(row[0], row[3].rpartition("/")[2], row[4]) for row in of_lake]
    masked = [("begins", "raw", "mail"), ("masked", "clean", "mail")]
    assert parts == [*masked, ("went to", "mart", "mail"), ("not known", "mart", "id")], "the leak tells one column"
    rows_before = [(row[0], row[3].rpartition("/")[2], row[4]) for row in outputs["report before"]]
    assert rows_before == masked, "before the leak"


def test_require_raises_the_text_that_check_prints(history: tuple[Path, dict[str, Any]]) -> None:
    _, outputs = history
    assert outputs["require policy"] == outputs["check text"][1]
    assert outputs["require lake"] == outputs["of lakes"]


def test_a_lake_knows_quality_tests_and_the_times_of_changes(history: tuple[Path, dict[str, Any]]) -> None:
    _, outputs = history
    verdicts_before = {
        check_result["policy"]: check_result["verdict"]
        for check_result in json.loads(outputs["of lakes before"])["results"]
    }
    assert verdicts_before == {
        "quality_passed clean": "holds",
        "quality_passed mart": "not known",  # it has no tests
        "unchanged_since clean": "holds",
        "unchanged_since mart": "holds",
    }
    printed = outputs["of lakes"]
    assert "BROKEN  quality_passed clean: quality_passed\n  not_null failed on clean.id\n" in printed
    assert "HOLDS  unchanged_since clean" in printed
    assert "  raw.mail → mart.mail came at " in printed
    assert "clean.mail → mart.mail came" not in printed, "it came before"


def test_the_watch_announces_the_same_for_the_record_and_a_lake(history: tuple[Path, dict[str, Any]]) -> None:
    """But for quality tests, of which only the lake knows."""
    folder, outputs = history
    for place, output in zip(("record", "lake"), outputs["looked"], strict=True):
        assert output.startswith(f"first snapshot: the {place} is stored as it is now")
        assert output.endswith("0 messages decided, 0 sent\n")
    assert outputs["announced again"] == ("0 messages decided, 0 sent\n",) * 2
    of_record, of_lake = (_announced(folder / f"{name}.jsonl") for name in ("record", "lake"))
    assert of_lake.pop(("quality", "clean"))["changes"][0]["text"] == "the test not_null failed on column id"
    assert of_lake == of_record
    assert of_lake.keys() == {
        ("gate", "no_tag mart"),
        ("gate", "no_failed_upstream mart"),
        ("mask", "raw"),
        ("lineage", "mart"),
        ("overdue", "load → clean"),
    }


def _announced(log: Path) -> dict[tuple[str, str], Any]:
    """The messages in a file by topic and subject, without id and time."""
    messages = [json.loads(line) for line in log.read_text().splitlines()]
    own_keys = {"id", "decided"}
    return {
        (message["topic"], message["subject"]["name"]): {
            key: value for key, value in message.items() if key not in own_keys
        }
        for message in messages
    }
