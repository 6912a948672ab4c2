"""Compare what events declare of data sets, jobs and runs with the scenario's truth: `declared` in its file."""

import json
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from shared.naming.names import BUILT_IN
from shared.naming.stores.families import NO_ENVIRONMENT
from shared.openlineage.decoding import Event
from shared.openlineage.merging import merge
from shared.openlineage.run import MergedRun
from shared.translation.run.datasets import TEST, Place, quality_results
from shared.translation.run.facts import facts_of
from tests.capture.scenario import scenarios
from tests.capture.truth import holds

KINDS = ("tests", "measures", "tags", "owners", "descriptions", "levels", "stated")
_ROOT = "/data/throughline/"
_CLIENT_VERSION_TAG = "openlineage_client_version"
_PLACE = Place(names=BUILT_IN, environment=NO_ENVIRONMENT)

Row = tuple[Any, ...]
Declared = dict[str, set[Row]]


@cache
def declared_truth(folder: Path) -> Declared:
    """Return the declarations in a capture's events by its truth.

    Raises ValueError when `not_declared` removes something that is not declared.
    """
    declarations = json.loads(scenarios()[folder.name].truth.read_text()).get("declared", {})
    declared_rows = {kind: set(map(tuple, declarations.get(kind, ()))) for kind in KINDS}
    for gap in declarations.get("not_declared", ()):
        if holds(gap, folder.parent.name):
            for kind in KINDS:
                missing = set(map(tuple, gap.get(kind, ())))
                if not missing <= declared_rows[kind]:
                    raise ValueError(f"{folder}: not_declared removes {kind} that are not declared")
                declared_rows[kind] -= missing
    return declared_rows


def declared_of(events: Iterable[Event]) -> Declared:
    """Return what events declare by the translation."""
    ordered = sorted((event for event in events if event.body), key=lambda event: event.run_id)
    declared_rows: Declared = {kind: set() for kind in KINDS}
    for event in ordered:
        for quality_result in quality_results(event.body, _PLACE) if event.body else ():
            kind, value = (
                ("tests", quality_result.success) if quality_result.kind == TEST else ("measures", quality_result.value)
            )
            declared_rows[kind].add(
                (quality_result.dataset.removeprefix(_ROOT), quality_result.column, quality_result.name, value)
            )
    for _, own_events in groupby(ordered, key=lambda event: event.run_id):
        run_events = list(own_events)
        run = merge(run_events)
        for kind, row in _of_run(run):
            declared_rows[kind].add(row)
        stated = facts_of(run, run_events).stated
        declared_rows["stated"].update((title.replace(_ROOT, ""), text.replace(_ROOT, "")) for title, text in stated)
    return declared_rows


def _of_run(run: MergedRun) -> Iterator[tuple[str, Row]]:
    job = f"job {run.job.name}"
    named = [
        (job, run.job_tags, run.owners, run.description),
        (f"run {run.job.name}", run.tags, (), ""),
        *(
            (
                merged_dataset.name.removeprefix(_ROOT),
                merged_dataset.tags,
                merged_dataset.owners,
                merged_dataset.description,
            )
            for merged_dataset in run.inputs
        ),
        *((output.name.removeprefix(_ROOT), output.tags, output.owners, output.description) for output in run.outputs),
    ]
    for name, tags, owners, description in named:
        for key, value, column in tags:
            if key != _CLIENT_VERSION_TAG:
                yield "tags", (name, column, key, value)
        for owner in owners:
            yield "owners", (name, owner)
        if description:
            yield "descriptions", (name, description)
    for dataset in (*run.inputs, *run.outputs):
        if dataset.levels:
            yield "levels", (dataset.name, *(f"{type_} {name}" for type_, name in dataset.levels))
