"""docs/reference/python.md: its code runs, on captured events and on a record in Azurite."""

import re
import shutil
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import throughline
from shared.publishing.context import PublishOptions
from shared.query.published_document import publish_document
from tests.support.azurite import on_azurite
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import Clock, publish
from throughline.project import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/reference/python.md").read_text(), re.DOTALL)
GOLDEN = ROOT / "tests/golden/spark35-ol1.53"
DEMO = [GOLDEN / job / "events.jsonl" for job in ("customer_master", "customer_merge")]
"""What the demo's world holds, on which the page's examples are written."""


@pytest.mark.azurite
def test_the_code_of_the_page_runs_unchanged(
    empty_account: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(DEMO[0], tmp_path / "events.jsonl")
    monkeypatch.chdir(tmp_path)
    storage = on_azurite(empty_account)
    catalog, options = MemoryCatalog(), PublishOptions(documents=True)
    for job, day in zip(DEMO, (1, 20), strict=True):
        for place in post(storage, *job.read_bytes().splitlines()):
            deliver_event(storage, place)
        publish(storage, catalog, options)
        clock = Clock(datetime(2026, 11, day, tzinfo=UTC))
        publish_document(storage, replace(options, now=clock), timedelta(days=400))
    monkeypatch.setenv("AzureWebJobsStorage", empty_account)
    monkeypatch.setenv("THROUGHLINE_CATALOG_ENDPOINT", "http://127.0.0.1:9")
    names: dict[str, object] = {}
    policy = '[[policy]]\nname = "traced"\ndatasets = "delta/*"\ntraced = 80\n'
    (tmp_path / "policy.toml").write_text(policy)
    assert len(BLOCKS) == 5
    for block in BLOCKS:
        exec(block, names)  # noqa: S102 - the page's own code
    printed = capsys.readouterr().out
    assert "azure_datalake_gen2_path" in printed
    lineage = names["found"]
    assert isinstance(lineage, throughline.Lineage)
    assert lineage.steps
