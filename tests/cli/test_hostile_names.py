"""Every command over names that a terminal would obey or show in another order: they are shown as escapes."""

import json
import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from unicodedata import category

import pytest

from shared.atlas.entities import PROCESS_TYPE, ProcessEntity
from shared.forwarding.rounds import mark_again
from shared.openlineage.selection import EventFilter
from shared.reading.reader import all_runs
from shared.settings.kinds import TextFile
from shared.settings.values import ForwardSettings
from shared.texts import visible, visible_lines
from tests.cli.test_output import commands
from tests.support.building import IDENTITY, Json, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.cli import Parts
from tests.support.events import run_id
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.support.receiving import receive

INJECTED = "INJECTED: all policies hold"
MARKS = {
    "a command of the terminal": "\x1b]0;owned\x07",
    "a colour": "\x1b[31mred\x1b[0m",
    "a command in C1": "\x9b2J",
    "another direction": "\u202egnp.exe",
    "an isolate": "\u2066left\u2069",
    "a line end": f"\n{INJECTED}",
    "a carriage return": f"\r{INJECTED}",
    "a separator of lines": f"\u2028{INJECTED}",
    "a zero": "\x00\x08",
    "what is not seen": "\u200b\ufeff\U000e0041",
}
HOSTILE = "x" + "".join(MARKS.values())
"""As the name of a column, a data set, an owner, as an expression …"""
HOSTILE_JOB = "".join(sign for sign in HOSTILE if category(sign) != "Cc")
"""The receiver refuses control characters in the names of jobs."""


def event(kind: str, job: str, source_name: str, target_name: str, *, minute: float) -> Json:
    edge = {**IDENTITY, "description": f"upper({HOSTILE})"}
    fields = columns_of({HOSTILE: [source(source_name, HOSTILE, edge)], "plain": [source(source_name, "mail")]})
    schema = {"fields": [{"name": name, "type": f"string{HOSTILE}"} for name in (HOSTILE, "plain", "lost")]}
    facets: Json = {
        "schema": schema,
        "columnLineage": fields,
        "ownership": {"owners": [{"name": f"team{HOSTILE}"}]},
        "documentation": {"description": HOSTILE},
        "tags": {"tags": [{"key": f"tag{HOSTILE}", "value": HOSTILE, "field": HOSTILE}]},
        "symlinks": {"identifiers": [{"namespace": "hive://h", "name": f"db.t{HOSTILE}", "type": "TABLE"}]},
    }
    event_body = body(
        kind,
        run=f"{job}{minute}",
        application=f"{job}{minute}",
        app_name=f"{job}{HOSTILE_JOB}",
        minute=minute,
        inputs=[dataset(source_name, schema=schema)],
        outputs=[dataset(target_name, **facets)],
    )
    statement = {"query": f"merge into `t{HOSTILE}` using r on x = 'a'"}
    return {**event_body, "job": {**event_body["job"], "facets": {**event_body["job"]["facets"], "sql": statement}}}


RAW, CLEAN, MART = (f"/{name}{HOSTILE}" for name in ("raw", "clean", "mart"))


@pytest.fixture
def parts() -> Parts:
    """Lineage over two steps, an ignored event, a dead letter and foreign blobs, all with hostile names."""
    loaded_parts = Parts()
    bodies: list[bytes] = []
    for minute, (job, source_name, target_name) in enumerate((("load", RAW, CLEAN), ("mart", CLEAN, MART))):
        bodies += [packed(event(kind, job, source_name, target_name, minute=minute)) for kind in ("START", "COMPLETE")]
    for place in post(loaded_parts.storage, *bodies):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, loaded_parts.catalog, loaded_parts.worker.publishing)
    ends = sorted(loaded_parts.catalog.assets)
    foreign_process = ProcessEntity(
        type=PROCESS_TYPE,
        qualified_name=f"script://{HOSTILE}",
        attributes=(("name", HOSTILE), ("columnMapping", "[]")),
        inputs=tuple(ends),
        outputs=tuple(ends[:1]),
    )
    loaded_parts.catalog.write_processes([foreign_process], loaded_parts.catalog.find(ends))
    runs = [(run.application, run.run_id) for run in all_runs(loaded_parts.storage)]
    mark_again(loaded_parts.storage, runs, datetime.now(UTC))
    rules, addresses = TextFile(place="forward.toml", text=FORWARD), (("m", "http://127.0.0.1:9"),)
    loaded_parts.worker = replace(loaded_parts.worker, forward_settings=ForwardSettings(rules=rules, targets=addresses))
    ignored = packed(event("START", "ignored", RAW, CLEAN, minute=9))
    receive(loaded_parts.storage, ignored, most_bytes=10**6, selection=EventFilter(ignore=("*",)))
    loaded_parts.storage.put_new("events", f"notes{HOSTILE}.txt", HOSTILE.encode("utf-8", "surrogatepass"))
    return loaded_parts


FORWARD = '[targets.m]\nkind = "marquez"\n'
RULES = f"""
[[classification]]
name = "PII"
[[tag]]
classification = "PII"
datasets = "*raw*"
[[term]]
name = "Customer"
datasets = "*clean*"
[[policy]]
name = {json.dumps(f"no one {HOSTILE}")}
datasets = "*mart*"
no_tag = "PII"
sources_only = "*nothing*"
masked_by = "*"
traced = 100
every_input = "certified"
[[policy]]
name = "nothing"
datasets = {json.dumps(f"gone{HOSTILE}")}
traced = 100
"""
CONTRACT = json.dumps(
    {
        "apiVersion": "v3.1.0",
        "kind": "DataContract",
        "name": f"orders{HOSTILE}",
        "servers": [{"server": f"lake{HOSTILE}", "type": "local", "path": f"/data/{HOSTILE}"}],
        "schema": [
            {"name": CLEAN, "properties": [{"name": f"gone{HOSTILE}", "transformSourceObjects": [f"other{HOSTILE}"]}]}
        ],
    }
)
_MODEL = {"unique_id": "model.shop.m", "resource_type": "model", "name": f"m{HOSTILE}", "schema": "s"}
_DBT_VERSION = "https://schemas.getdbt.com/dbt/manifest/v12.json"
MANIFEST = json.dumps(
    {
        "metadata": {"dbt_schema_version": _DBT_VERSION, "generated_at": "2026-11-26T10:00:00Z"},
        "nodes": {
            "seed.shop.raw": {**_MODEL, "unique_id": "seed.shop.raw", "resource_type": "seed"},
            "model.shop.m": {**_MODEL, "depends_on": {"nodes": ["seed.shop.raw"]}},
        },
    }
)
WATCH = '[channels.log]\nkind = "file"\npath = "messages.jsonl"\n[[rules]]\nto = ["log"]\n'
EACH = "{letter}"
"""Stands for the id of a dead letter."""
RUNS: dict[str, tuple[str, ...]] = {
    "translate": ("events.jsonl",),
    "translate as JSON": ("events.jsonl", "--json"),
    "translate by file": (".", "--by-file"),
    "translate by file, as JSON": (".", "--by-file", "--json"),
    "explain": (f"file{HOSTILE}", RAW),
    "send": ("events.jsonl", "--url", "http://127.0.0.1:9"),
    "status": (),
    "status by job": ("--by", "day,job"),
    "status of a table": ("--table", "*"),
    "status of no table": ("--table", f"gone{HOSTILE}"),
    "run": (run_id("load0"),),
    "events": (),
    "events at full width": ("--wide",),
    "events that were ignored": ("--ignored",),
    "view as Mermaid": (CLEAN, "--mermaid", "-"),
    "view as dot": (CLEAN, "--dot", "-"),
    "view as SVG": (CLEAN, "--svg", "-"),
    "view of a column": (CLEAN, "--column", f"no{HOSTILE}", "--svg", "-"),
    "view of nothing": (f"gone{HOSTILE}", "--svg", "-"),
    "view of many": ("x", "--svg", "-"),
    "search": ("x",),
    "search at full width": ("x", "--wide"),
    "search for nothing": (f"gone{HOSTILE}", "--tag", f"t{HOSTILE}"),
    "show": ("mart", "--columns"),
    "show many": ("x",),
    "show a column": (CLEAN, "--column", "plain"),
    "show no column": (CLEAN, "--column", f"no{HOSTILE}"),
    "show nothing": (f"gone{HOSTILE}",),
    "details": (),
    "details of nothing": (f"gone{HOSTILE}",),
    "shadow": (),
    "doctor": (),
    "canary": ("--url", f"http://127.0.0.1:9/{HOSTILE_JOB}"),
    "forward": ("--since", "2020-01-01"),
    "forward with a plan": ("--plan",),
    "watch": ("--once", "--rules", "watch.toml", "--policy", "rules.toml"),
    "watch with a plan": ("--plan", "--rules", "watch.toml", "--policy", "rules.toml"),
    "check": ("rules.toml",),
    "check for GitHub": ("rules.toml", "--annotations", "github"),
    "check for Azure": ("rules.toml", "--annotations", "azure"),
    "check as JUnit": ("rules.toml", "--junit", "-"),
    "check as SARIF": ("rules.toml", "--sarif", "-"),
    "check as JSON": ("rules.toml", "--json", "-"),
    "check one data set": ("rules.toml", "--dataset", f"gone{HOSTILE}"),
    "impact": (CLEAN, "--rules", "rules.toml"),
    "impact of a column": (f"{RAW}.plain", "--rename"),
    "impact of no column": (f"{CLEAN}.gone{HOSTILE}",),
    "impact as Markdown": (CLEAN, "--rules", "rules.toml", "--markdown"),
    "impact as SARIF": (CLEAN, "--sarif"),
    "impact as JSON": (CLEAN, "--json"),
    "impact of a range": ("--from-diff", f"gone{HOSTILE}", "--repo", f"no{HOSTILE}"),
    "report": ("--dataset", CLEAN, "--html", "report.html"),
    "report of a classification": ("--classification", "PII", "--rules", "rules.toml", "--csv", "report.csv"),
    "report of nothing": ("--dataset", f"gone{HOSTILE}"),
    "report of no classification": ("--classification", f"no{HOSTILE}", "--rules", "rules.toml"),
    "report that is none": ("--check", f"gone{HOSTILE_JOB}.html"),
    "contract check": ("contract.json",),
    "contract check for GitHub": ("contract.json", "--annotations", "github"),
    "contract check as SARIF": ("contract.json", "--sarif", "-"),
    "product apply": ("contract.json",),
    "product apply with a plan": ("contract.json", "--plan"),
    "product apply for no server": ("contract.json", "--server", f"gone{HOSTILE}"),
    "import dbt": (".", "--namespace", f"duckdb:{HOSTILE}", "--dry-run"),
    "import purview": ("--like", "*"),
    "import purview and apply": ("--like", "*", "--apply", "--yes"),
    "import dbt from nothing": (f"gone{HOSTILE}", "--dry-run"),
    "link mlflow": (f"gone{HOSTILE}", "--tracking-uri", f"ftp://h/{HOSTILE}", "--dry-run"),
    "replay": ("--all",),
    "replay with a plan": ("--all", "--plan"),
    "verify": (),
    "verify and mend": ("--fix", "--yes"),
    "publish": ("--missing",),
    "reconcile": (),
    "retire with a plan": ("--unseen-days", "1", "--plan"),
    "retire": ("--unseen-days", "1", "--yes"),
    "purge with a plan": ("--plan",),
    "purge": ("--yes",),
    "classify plan": ("--rules", "rules.toml", "--wide"),
    "classify apply": ("--rules", "rules.toml"),
    "classify explain": ("mart.plain", "--rules", "rules.toml"),
    "classify explain nothing": (f"mart.gone{HOSTILE}", "--rules", "rules.toml"),
    "deadletter list": (),
    "deadletter show": (EACH,),
    "deadletter replay": (EACH,),
    "deadletter discard": (EACH, "--yes"),
    "types plan": (),
    "types apply": (),
    "config": ("synapse",),
}
"""The command, and further words that tell it from others; with its arguments."""
NO_NAMES = {
    "demo": "its own jobs; prints what the commands print that are tried here",
    "up": "prints its own addresses",
    "purview grant": "names of a Purview account: its printing is the same function",
    "purview attributes": "the same",
    "prove": "takes names out of what it prints: tests/cli/prove",
    "mcp": "prints nothing; what it answers: tests/cli/test_mcp.py",
    "lake run": "prints counts",
    "lake compact": "prints counts",
    "lake publish": "prints counts",
    "lake impact": "tests/cli/test_hostile_lake.py",
    "lake coverage": "tests/cli/test_hostile_lake.py",
    "lake changes": "tests/cli/test_hostile_lake.py",
}


def acting_in(text: str) -> set[str]:
    """The marks in a text that a terminal obeys, or that are not seen."""
    return {sign for sign in text if category(sign) in {"Cc", "Cf", "Cs", "Zl", "Zp"}} - {"\n"}


def forged_in(text: str) -> list[str]:
    """The lines that a name makes."""
    return [line for line in text.splitlines() if line.lstrip(" │├└─").startswith(INJECTED)]


_GROUPS = frozenset({"classify", "contract", "deadletter", "import", "link", "product", "types", "lake", "purview"})


def command_of(title: str) -> tuple[str, ...]:
    words = title.split()
    return tuple(words[:2]) if words[0] in _GROUPS else tuple(words[:1])


def test_every_command_is_tried() -> None:
    tried = {command_of(title) for title in RUNS} | {tuple(command_name.split()) for command_name in NO_NAMES}
    leaves = {command for command in commands() if not any(other[:1] == command != other for other in commands())}
    assert leaves - tried == set()
    assert tried - leaves == set()


@pytest.mark.parametrize("title", RUNS)
def test_no_command_prints_a_mark_that_acts(
    parts: Parts, title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "watch.toml").write_text(WATCH)
    (tmp_path / "contract.json").write_text(CONTRACT)
    (tmp_path / "manifest.json").write_text(MANIFEST)
    (tmp_path / "events.jsonl").write_bytes(
        b"\n".join(packed(event(kind, "load", RAW, CLEAN, minute=0)) for kind in ("START", "COMPLETE"))
    )
    if title.startswith("deadletter") and title != "deadletter list":
        parts.run("verify", "--fix", "--yes")
    letters = [row.key for row in parts.storage.partition("deadletters", "event")]
    arguments = [argument.replace(EACH, letters[0] if letters else "none") for argument in RUNS[title]]
    result = parts.run(*command_of(title), *arguments)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    assert acting_in(result.output) == set(), re.sub(r"[^\x20-\x7e\n]", lambda sign: repr(sign[0]), result.output)
    assert forged_in(result.output) == []


def test_the_commands_show_the_names(parts: Parts) -> None:
    """As escapes, not only by leaving them out."""
    visible_name = visible(HOSTILE)
    assert visible_name in parts.run("show", "mart", "--columns").output
    assert visible_name in parts.run("details").output


@pytest.mark.parametrize("mark", MARKS.values(), ids=MARKS)
def test_marks_become_escapes_once(mark: str) -> None:
    visible_text = visible(f"a{mark}")
    assert visible_text.isprintable()
    assert visible(visible_text) == visible_text
    assert visible_text.encode().decode("unicode_escape") == f"a{mark}"


def test_line_ends_of_a_text_stay_and_joiners_too() -> None:
    assert visible_lines("a\n\x1bb\r\n") == "a\n\\x1bb\\r\n"
    for text in ("\u0645\u06cc\u200c\u062e\u0648", "👩\u200d🔬", "größe 10\u00a0m", "日本\u3000語"):
        assert visible(text) == text
