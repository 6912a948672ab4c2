"""The sweeper's function watches where THROUGHLINE_WATCH names rules: on Azurite, to a real HTTP receiver."""

import gc
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

import sweeper_function
from shared.announcing.outbox import note_look, standing
from shared.bootstrap import worker
from shared.records.control import RECONCILE
from shared.storage.port import Storage
from tests.support.building import IDENTITY, body, dataset, packed, source
from tests.support.building import lineage as columns_of
from tests.support.memory_catalog import MemoryCatalog
from tests.support.outbox import messages_on_record
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish, publish_options
from tests.support.webhook_server import webhook_server

RULES = """
[channels.team]
kind = "slack"
[channels.platform]
kind = "teams"
[channels.mail]
kind = "telemetry"
[[rules]]
to = ["team", "platform", "mail"]
"""


def run(storage: Storage, name: str, minute: float, *columns: str) -> None:
    """A run of a job that copies these columns of `raw`, published to a catalog of its own."""
    schema = {"fields": [{"name": column, "type": "string"} for column in columns]}
    edges = columns_of({column: [source("raw", column, IDENTITY)] for column in columns})
    input_dataset, output_dataset = dataset("raw", schema=schema), dataset("clean", schema=schema, columnLineage=edges)
    event = packed(body(run=name, application=name, minute=minute, inputs=[input_dataset], outputs=[output_dataset]))
    for place in post(storage, event):
        deliver_event(storage, place)
    publish(storage, MemoryCatalog(), publish_options(Clock()))


def sweep() -> None:
    sweeper_function.main(SimpleNamespace(past_due=False))  # type: ignore[arg-type]  # stands for a timer's request


def test_the_sweeper_announces_a_change_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, empty_account: str
) -> None:
    rules = tmp_path / "watch.toml"
    rules.write_text(RULES, encoding="utf-8")
    with webhook_server() as server:
        environment = {
            "AzureWebJobsStorage": empty_account,
            "THROUGHLINE_CATALOG_ENDPOINT": "http://127.0.0.1:9/datamap/api/atlas/v2",
            "THROUGHLINE_CATALOG_TOKEN": "none",
            "THROUGHLINE_WATCH": str(rules),
            "THROUGHLINE_WATCH_WEBHOOKS": f"team={server.url('slack')} platform={server.url('teams')}",
        }
        for name, text in environment.items():
            monkeypatch.setenv(name, text)
        worker.cache_clear()
        collector = gc.get_threshold()
        try:
            storage = worker().storage
            RECONCILE.save(storage, datetime.now(UTC) + timedelta(days=9))  # no catalog answers here
            run(storage, "one", 0, "a", "b")
            sweep()
            run(storage, "two", 30, "a")
            sweep()
            assert list(messages_on_record(storage)) == [], "the second look is not due"
            for _ in range(3):
                assert note_look(storage, standing(storage, "record"), datetime.now(UTC) - timedelta(hours=1))
                with caplog.at_level("INFO", logger="throughline"):
                    sweep()
        finally:
            worker.cache_clear()
            gc.unfreeze()
            gc.set_threshold(*collector)
        decided = {message.message.subject.name: message for message in messages_on_record(storage)}
    assert sorted(decided) == ["clean", "raw"]
    assert all(not decided_message.open and not decided_message.refused for decided_message in decided.values())
    assert server.wrong == []
    titles = sorted(decided_message.message.title for decided_message in decided.values())
    assert sorted(message_body["text"].partition(" ")[2] for message_body in server.bodies("slack")) == titles
    cards = [message_body["attachments"][0]["content"]["body"][0]["text"] for message_body in server.bodies("teams")]
    assert sorted(cards) == titles
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("announcement ")]
    assert len(lines) == 2
    assert all(any(json.dumps(title)[1:-1] in line for line in lines) for title in titles)
