"""Real events of real Spark jobs, compared with their authors' truth and with golden entities, in any order."""

import json
import random
from collections.abc import Iterable
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from shared.atlas.entities import asset_entity, process_entity
from shared.model import EdgeKind, Process
from shared.openlineage.merging import merge
from shared.openlineage.selection import Ignore, select
from shared.publishing.placeholders import merged_schema
from shared.translation.reference import History, translate_history
from tests.capture.scenario import LISTENERS, scenarios
from tests.capture.truth import ListenerVersion, Truth
from tests.support.declared import declared_truth
from tests.support.golden import FOLDERS, _events
from tests.support.golden_entities import condensed, expanded, scenario_file, text_of

every_scenario = pytest.mark.parametrize("folder", FOLDERS.values(), ids=FOLDERS)


@cache
def _history(folder: Path) -> History:
    return translate_history(_events(folder))


def _truth(folder: Path) -> Truth:
    capture = folder.parent.name
    return Truth.read(scenarios()[folder.name].truth, capture=capture).as_reported_by(
        ListenerVersion.read(LISTENERS, capture=capture)
    )


def test_there_are_golden_events() -> None:
    assert len(FOLDERS) >= 10


@every_scenario
def test_the_lineage_matches_the_truth(folder: Path) -> None:
    assert _truth(folder).differences(_history(folder).processes) == []


@every_scenario
def test_no_part_of_a_real_event_is_omitted(folder: Path) -> None:
    assert [event.omitted for event in _events(folder) if event.omitted] == []
    ignored = [event.body for event in _events(folder) if isinstance(select(event), Ignore)]
    assert [body for body in ignored if body is None or body.inputs or body.outputs] == []


@every_scenario
def test_the_truth_detects_missing_and_unexpected_lineage(folder: Path) -> None:
    """Otherwise a truth that compares nothing would always pass."""
    truth, processes = _truth(folder), _history(folder).processes
    for index, process in enumerate(processes):
        other_processes = processes[:index] + processes[index + 1 :]
        assert truth.differences(other_processes)
        for changed in _changed_processes(process):
            assert truth.differences([*other_processes, changed]), changed


def _changed_processes(process: Process) -> Iterable[Process]:
    yield replace(process, operations=(*process.operations, "more"))
    yield replace(process, inputs=process.inputs[1:], columns=())
    yield replace(process, inputs=(*process.inputs, replace(process.inputs[0], qualified_name="x", name="x")))
    if process.columns:
        first = process.columns[0]
        yield replace(process, columns=process.columns[1:])
        yield replace(process, columns=(replace(first, masked=not first.masked), *process.columns[1:]))


def _document(history: History) -> dict[str, Any]:
    """Return the Atlas entities by qualified name, with column mappings unpacked."""
    assets = {
        asset.qualified_name: asset for process in history.processes for asset in (*process.inputs, *process.outputs)
    }
    declared = {key: merged_schema(asset.key, history.processes).declared for key, asset in assets.items()}
    processes: dict[str, dict[str, Any]] = {}
    for process in history.processes:
        entity = msgspec.to_builtins(process_entity(process))
        assert not entity.pop("facts"), "of no single run"
        owner = entity.pop("owner")
        entity["attributes"] = dict(entity["attributes"]) | ({"owner": owner} if owner else {})
        entity["attributes"]["columnMapping"] = json.loads(entity["attributes"]["columnMapping"])
        processes[entity.pop("qualified_name")] = entity
    assert len(processes) == len(history.processes)
    assert [*processes] == sorted(processes)
    entities = [asset_entity(asset, declared=declared[name]) for name, asset in assets.items()]
    return {
        "assets": {
            entity.qualified_name: {"type": entity.type, "attributes": dict(entity.attributes)} for entity in entities
        },
        "processes": processes,
    }


@pytest.mark.parametrize("scenario", sorted({folder.name for folder in FOLDERS.values()}))
def test_the_entities_are_golden(scenario: str, *, rewrite_golden: bool) -> None:
    """`pytest tests/test_golden.py --rewrite-golden` rewrites them: review the difference before you commit it."""
    folders = [folder for folder in FOLDERS.values() if folder.name == scenario]
    documents = {folder.parent.name: _document(_history(folder)) for folder in folders}
    file = scenario_file(scenario)
    if rewrite_golden:
        file.write_text(text_of(condensed(documents)))
    golden = json.loads(file.read_text())
    for capture, document in documents.items():
        assert text_of(document) == text_of(expanded(golden, capture=capture)), capture


def test_every_version_gives_the_same_entities() -> None:
    """An update of Spark or the listener must not create new processes and assets for a job.

    Names are the same for all versions, and the rest for all versions that report the same. Facts that only newer ones
    report (masks, conditions on all rows) are part of an entity only with an option.
    """
    names: dict[tuple[str, str], set[str]] = {}
    entities: dict[tuple[Any, ...], set[str]] = {}
    for folder in FOLDERS.values():
        truth = _truth(folder)
        expected_by_output = {process.output: process for process in truth.processes}
        for process in _history(folder).processes:
            expected = expected_by_output.get(truth.called(process)[process.outputs[0].qualified_name])
            if expected is None:  # an unexpected process: another test reports it
                continue
            direct = frozenset(edge[:3] for edge in expected.edges if edge[2] != EdgeKind.INDIRECT)
            job = (folder.name, expected.output)
            names.setdefault(job, set()).add(process.qualified_name)
            owners = frozenset(declared_truth(folder)["owners"])
            entities.setdefault((*job, expected.operations, expected.inputs, direct, owners), set()).add(
                json.dumps(msgspec.to_builtins(process_entity(process)), sort_keys=True)
            )
    assert {job: variants for job, variants in names.items() if len(variants) > 1} == {}
    assert {key[:2]: variants for key, variants in entities.items() if len(variants) > 1} == {}


@settings(max_examples=2)
@given(seed=st.integers(0, 2**32))
def test_the_lineage_of_all_jobs_does_not_depend_on_the_order_of_events(seed: int) -> None:
    """Several listeners' runs of one job share processes: old runs are superseded in any order."""
    events = [event for folder in FOLDERS.values() for event in _events(folder)]
    full_translation = _everything()
    random.Random(seed).shuffle(events)
    assert translate_history(events) == full_translation


@cache
def _everything() -> History:
    return translate_history([event for folder in FOLDERS.values() for event in _events(folder)])


@every_scenario
def test_merging_is_idempotent(folder: Path) -> None:
    events = sorted(_events(folder), key=lambda event: event.run_id)
    for _, group in groupby(events, key=lambda event: event.run_id):
        own_events = list(group)
        once = merge(own_events)
        assert merge([*own_events, *own_events]) == once
        assert merge([*reversed(own_events), own_events[0]]) == once
