"""Decoded events in bronze: unchanged when they are read back, and decoded again when the code changes."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from shared.openlineage.decoding import Event, decode
from shared.openlineage.merging import merge
from tests.lake.files import OF_SPARK
from tests.support.events import event
from tests.support.golden import FOLDERS, _events
from throughline.lake.bronze import decoded_events as decoded
from throughline.lake.bronze.decoded_events import DECODER, contents, event_of, kept

pytestmark = OF_SPARK

ROWS = "digest string, text string, decoded binary, decoded_by string"
TEXT = event("a", "COMPLETE", "10:00:00", inputs=["/a"], outputs=["/b"])


def _read(rows: list[Any]) -> dict[str, tuple[Event, bool]]:
    return {row.digest: (event_of(row), row.plain) for row in rows}


@pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)
def test_every_captured_event_is_read_back_unchanged(folder: Any) -> None:
    """Also by their `repr`: it decides the order of events of one instant."""
    events = list(_events(folder))
    unpacked_events = [decoded._unpack(kept(each) or b"") for each in events]
    assert unpacked_events == events
    assert list(map(repr, unpacked_events)) == list(map(repr, events))


def test_events_of_one_instant_merge_as_their_texts_do() -> None:
    """Differences between them are decided by their content, including the order of its keys."""
    events = []
    for properties in ({"b": 1, "a": 2}, {"a": 3, "b": 1}):
        content = json.loads(event("a", "RUNNING", "10:00:00", inputs=["/a"], outputs=["/b"]))
        content["run"]["facets"] = {"environment-properties": {"environment-properties": properties}}
        events.append(decode(json.dumps(content).encode()))
    assert merge([decoded._unpack(kept(each) or b"") for each in events]) == merge(events)


def test_an_event_decoded_by_other_code_is_decoded_again(spark: SparkSession) -> None:
    packed_event = kept(decode(TEXT))
    known_rows = [
        ("ours", "not even looked at", packed_event, DECODER),
        ("another's", TEXT.decode(), b"what an older core thought", "0" * 32),
        ("nobody's", TEXT.decode(), None, None),
    ]
    rows = contents(spark.createDataFrame(known_rows, ROWS)).collect()
    assert _read(rows) == {
        "ours": (decode(TEXT), False),
        "another's": (decode(TEXT), True),
        "nobody's": (decode(TEXT), True),
    }


def test_an_event_with_too_large_a_number_is_kept_only_as_text() -> None:
    content = json.loads(TEXT)
    properties = {"spark.databricks.job.id": 2**70}
    content["run"]["facets"] = {"environment-properties": {"environment-properties": properties}}
    assert kept(decode(json.dumps(content).encode())) is None


def test_the_digest_of_the_decoder_follows_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    assert decoded._code() == DECODER
    monkeypatch.setattr("msgspec.__version__", "another")
    assert decoded._code() != DECODER
