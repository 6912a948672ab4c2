"""Real events of real Spark jobs: held to the truth that their authors wrote, to golden entities, and to any order."""

import json
import random
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from local.capture.runner import scenarios
from local.truth import Listener, Truth
from shared.atlas import asset_entity, process_entity
from shared.errors import Refused
from shared.model import Process
from shared.openlineage import Event, Ignore, decode, merge, select
from shared.translation import History, translate_history

GOLDEN = Path(__file__).parent / "golden"
LISTENERS = Listener.read(GOLDEN / "listeners.json")
FOLDERS = {
    f"{path.parent.parent.name}/{path.parent.name}": path.parent for path in sorted(GOLDEN.glob("*/*/events.jsonl"))
}

every_scenario = pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)


@cache
def _lines(folder: Path) -> tuple[bytes, ...]:
    return tuple((folder / "events.jsonl").read_bytes().splitlines())


@cache
def _events(folder: Path) -> tuple[Event, ...]:
    return tuple(decode(line) for line in _lines(folder))


@cache
def _history(folder: Path) -> History:
    return translate_history(_events(folder))


def _truth(folder: Path) -> Truth:
    return Truth.read(folder / "truth.json").as_told_by(LISTENERS[folder.parent.name.rpartition("-ol")[2]])


def test_there_are_golden_events() -> None:
    assert len(FOLDERS) >= 10
    assert {folder.parent.name.rpartition("-ol")[2] for folder in FOLDERS.values()} == set(LISTENERS)


@every_scenario
def test_the_lineage_is_the_truth(folder: Path) -> None:
    assert _truth(folder).differences(_history(folder).processes) == []


@every_scenario
def test_the_truth_is_the_one_beside_the_job(folder: Path) -> None:
    assert (folder / "truth.json").read_text() == scenarios()[folder.name].truth.read_text()


@every_scenario
def test_nothing_of_a_real_event_is_left_out(folder: Path) -> None:
    assert [event.omitted for event in _events(folder) if event.omitted] == []
    assert [event.run_id for event in _events(folder) if isinstance(select(event), Ignore)] == []


@every_scenario
def test_a_truth_would_notice_anything_missing_or_too_much(folder: Path) -> None:
    """Without this, a truth that compares nothing would pass for ever."""
    truth, processes = _truth(folder), _history(folder).processes
    for index, process in enumerate(processes):
        others = processes[:index] + processes[index + 1 :]
        assert truth.differences(others)
        for changed in _spoiled(process):
            assert truth.differences([*others, changed]), changed


def _spoiled(process: Process) -> Iterable[Process]:
    yield replace(process, operations=(*process.operations, "more"))
    yield replace(process, inputs=process.inputs[1:], columns=())
    yield replace(process, inputs=(*process.inputs, replace(process.inputs[0], qualified_name="x", name="x")))
    if process.columns:
        first = process.columns[0]
        yield replace(process, columns=process.columns[1:])
        yield replace(process, columns=(replace(first, masked=not first.masked), *process.columns[1:]))


def _document(history: History) -> dict[str, Any]:
    """The Atlas entities, in an order of their own, column mappings unpacked."""
    assets = {
        asset.qualified_name: asset for process in history.processes for asset in (*process.inputs, *process.outputs)
    }
    processes: list[dict[str, Any]] = [msgspec.to_builtins(process_entity(process)) for process in history.processes]
    for entity in processes:
        entity["attributes"] = dict(entity["attributes"])
        entity["attributes"]["columnMapping"] = json.loads(entity["attributes"]["columnMapping"])
    return {
        "assets": [
            {"type": entity.type, "qualified_name": entity.qualified_name, "attributes": dict(entity.attributes)}
            for _, entity in sorted((name, asset_entity(asset)) for name, asset in assets.items())
        ],
        "processes": processes,
    }


@every_scenario
def test_the_entities_are_golden(folder: Path, *, rewrite_golden: bool) -> None:
    """`pytest tests/test_golden.py --rewrite-golden` writes them anew: look at the difference before you commit it."""
    golden = folder / "entities.json"
    text = json.dumps(_document(_history(folder)), indent=1, ensure_ascii=False, sort_keys=True) + "\n"
    if rewrite_golden:
        golden.write_text(text)
    assert json.loads(text) == json.loads(golden.read_text())


def test_every_listener_gives_the_same_entities() -> None:
    """Who updates the listener must not find all processes and assets of a job anew. What only a newer one tells
    (masks, what concerns all rows) is not part of an entity unless it is asked for.
    """
    for scenario, folders in groupby(
        sorted(FOLDERS.values(), key=lambda folder: folder.name), key=lambda folder: folder.name
    ):
        documents = {json.dumps(_document(_history(folder)), sort_keys=True) for folder in folders}
        assert len(documents) == 1, scenario


def _split(events: Sequence[Event], chance: random.Random) -> list[Event]:
    """Some events as two, each with a part of the data sets."""
    found: list[Event] = []
    for event in events:
        if event.body is None or chance.random() < 0.5:
            found.append(event)
            continue
        sides: list[tuple[list[Any], list[Any]]] = [([], []), ([], [])]
        for place, datasets in enumerate((event.body.inputs, event.body.outputs)):
            for dataset in datasets or ():
                chance.choice(sides)[place].append(dataset)
        found += [
            replace(event, body=msgspec.structs.replace(event.body, inputs=tuple(inputs), outputs=tuple(outputs)))
            for inputs, outputs in sides
        ]
    return found


@every_scenario
@settings(max_examples=100)
@given(seed=st.integers(0, 2**32))
def test_no_order_repetition_or_split_changes_the_lineage(folder: Path, seed: int) -> None:
    chance = random.Random(seed)
    events = list(_events(folder))
    events += chance.choices(events, k=chance.randrange(len(events)))
    chance.shuffle(events)
    whole = _history(folder)
    assert translate_history(events) == whole
    parts = _split(events, chance)
    chance.shuffle(parts)
    split = translate_history(parts)
    assert (split.runs, split.processes) == (whole.runs, whole.processes)


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32))
def test_all_jobs_together_do_not_depend_on_the_order_either(seed: int) -> None:
    """Several listeners' runs of one job share their processes: here old runs are superseded, in any order."""
    events = [event for folder in FOLDERS.values() for event in _events(folder)]
    whole = _everything()
    random.Random(seed).shuffle(events)
    assert translate_history(events) == whole


@cache
def _everything() -> History:
    return translate_history([event for folder in FOLDERS.values() for event in _events(folder)])


@every_scenario
def test_merging_is_idempotent(folder: Path) -> None:
    events = sorted(_events(folder), key=lambda event: event.run_id)
    for _, group in groupby(events, key=lambda event: event.run_id):
        own = list(group)
        once = merge(own)
        assert merge([*own, *own]) == once
        assert merge([*reversed(own), own[0]]) == once


JUNK = (
    *(
        "null",
        "true",
        "0",
        "-1",
        "1.5",
        '""',
        '"x"',
        '"\\u0000"',
        '"\\ud7ff"',
        "[]",
        "{}",
        "[null]",
        '{"a": null}',
        "[[]]",
    ),
    *('"2026-11-21T10:00:00Z"', '"COMPLETE"', '{"namespace": "file", "name": "/x"}'),
)
"""JSON values that do not belong where they will be put."""


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterable[tuple[str | int, ...]]:
    if path:
        yield path
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield from _places(inner, (*path, key))


def _survives(raw: bytes) -> None:
    """Garbage is refused or understood: nothing else may be raised, here or by what comes after."""
    try:
        event = decode(raw)
    except Refused:
        return
    select(event)
    processes = translate_history([event, event]).processes
    for process in processes:
        assert process_entity(process).fingerprint
        for asset in (*process.inputs, *process.outputs):
            assert asset_entity(asset).qualified_name.isprintable()


@settings(max_examples=1000)
@given(data=st.data())
def test_real_events_with_a_wrong_part_are_refused_or_understood(data: st.DataObject) -> None:
    folder = data.draw(st.sampled_from(list(FOLDERS.values())))
    event = json.loads(data.draw(st.sampled_from(_lines(folder))))
    for _ in range(data.draw(st.integers(1, 3))):
        places = list(_places(event))
        if not places:
            break
        *way, last = data.draw(st.sampled_from(places))
        holder = event
        for key in way:
            holder = holder[key]
        if data.draw(st.booleans()):
            holder[last] = json.loads(data.draw(st.sampled_from(JUNK)))
        else:
            del holder[last]
    _survives(json.dumps(event).encode())


@settings(max_examples=1000)
@given(data=st.data())
def test_real_events_with_broken_bytes_are_refused_or_understood(data: st.DataObject) -> None:
    folder = data.draw(st.sampled_from(list(FOLDERS.values())))
    raw = bytearray(data.draw(st.sampled_from(_lines(folder))))
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw)))
        raw[place : place + data.draw(st.integers(0, 8))] = data.draw(st.binary(max_size=4))
    _survives(bytes(raw))


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_arbitrary_bytes_crash_nothing(raw: bytes) -> None:
    _survives(raw)
