"""`python -m tests.e2e.marquez URL`: forward captured jobs to a running Marquez, and compare what it shows.

For each run that was delivered, its state, inputs and outputs are asked of Marquez' own API and compared with the event
that was sent; for each data set that a run wrote, its column lineage with that of all events that wrote it. Marquez
keeps an edge between columns that the event's schemas name (`OpenLineageDao.upsertColumnLineage`), and of any run. Of
the others of `fields` it keeps those whose source it knows from another event about the same version: they are counted.
`dataset` is not kept at all. Marquez has no package that a test could install: build it from its sources (0.51 was),
with a PostgreSQL of its own, or use one that runs.
"""

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from http import HTTPStatus
from typing import Any
from urllib.parse import quote

import requests

from shared.forwarding.content import OutgoingEvent
from shared.forwarding.http_target import HttpTarget
from shared.forwarding.rules import TargetKind
from shared.http_errors import TAKEN, Answer
from tests.support.forwarding import ForwardWorld
from tests.support.golden import FOLDERS

_TIMEOUT = 30.0


class _Marquez:
    """Marquez' API: forwards to it what a world sends, and asks it."""

    def __init__(self, url: str) -> None:
        self._url, self._session = url.rstrip("/"), requests.Session()
        self._target = HttpTarget(url=url, kind=TargetKind.MARQUEZ)
        self.answers: list[Answer] = []

    def send(self, event: OutgoingEvent) -> Answer:
        self.answers.append(self._target.send(event))
        return self.answers[-1]

    def get(self, path: str, **query: str) -> Any:
        """The JSON of an answer; None where Marquez knows no such thing."""
        response = self._session.get(f"{self._url}/api/v1/{path}", params=query, timeout=_TIMEOUT)
        if response.status_code == HTTPStatus.NOT_FOUND:
            return None
        response.raise_for_status()
        return response.json()


def _names(datasets: Any) -> set[tuple[str, str]]:
    return {(dataset["namespace"], dataset["name"]) for dataset in datasets}


def differences(marquez: _Marquez, event: Any) -> Iterator[str]:
    """What Marquez shows otherwise of a run than was sent."""
    run = marquez.get(f"jobs/runs/{event['run']['runId']}")
    if run is None:
        yield "no such run"
        return
    outputs = [version["datasetVersionId"] for version in run["outputDatasetVersions"]]
    inputs = [version["datasetVersionId"] for version in run["inputDatasetVersions"]]
    if _names(inputs) != _names(event["inputs"]):
        yield f"inputs {_names(inputs) ^ _names(event['inputs'])}"
    if _names(outputs) != _names(event["outputs"]):
        yield f"outputs {_names(outputs) ^ _names(event['outputs'])}"
    if run["state"] != "COMPLETED":
        yield f"state {run['state']}"


Column = tuple[str, str, str]
"""Namespace and name of a data set, and a column of it."""
Edges = set[tuple[Column, Column]]
"""Pairs of a source and what is made of it."""


def sent_columns(events: Iterable[Any]) -> tuple[dict[tuple[str, str], Edges], Edges]:
    """By data set that a run wrote, the edges between columns that Marquez has to keep; and those that it may, since a
    schema of their event lacks one of their ends.
    """
    kept: dict[tuple[str, str], Edges] = {}
    rest: Edges = set()
    for event in events:
        of_inputs = {column for dataset in event["inputs"] for column in _columns(dataset)}
        for output in event["outputs"]:
            key, of_output = (output["namespace"], output["name"]), _columns(output)
            edges = kept.setdefault(key, set())
            fields = output.get("facets", {}).get("columnLineage", {}).get("fields", {})
            for name, field in fields.items():
                for source in field["inputFields"]:
                    edge = (source["namespace"], source["name"], source["field"]), (*key, name)
                    (edges if edge[0] in of_inputs and edge[1] in of_output else rest).add(edge)
    return kept, rest - {edge for edges in kept.values() for edge in edges}


def _columns(dataset: Any) -> set[Column]:
    fields = dataset.get("facets", {}).get("schema", {}).get("fields", ())
    return {(dataset["namespace"], dataset["name"], field["name"]) for field in fields}


def shown_columns(marquez: _Marquez, namespace: str, name: str) -> Edges:
    """The edges into the columns of a data set as Marquez shows them with it.

    `/column-lineage` shows less: 500 for a name with `#`, and of a column that two versions have the sources of one.
    """
    dataset = marquez.get(f"namespaces/{quote(namespace, safe='')}/datasets/{quote(name, safe='')}")
    return {
        ((source["namespace"], source["dataset"], source["field"]), (namespace, name, column["name"]))
        for column in (dataset or {}).get("columnLineage") or ()
        for source in column["inputFields"]
    }


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return 0 when Marquez shows what was sent, else 1."""
    parser = argparse.ArgumentParser(prog="python -m tests.e2e.marquez", description=__doc__)
    parser.add_argument("url", metavar="URL", help="Marquez' address, such as http://127.0.0.1:5000")
    parser.add_argument(
        "--captured", default="spark41-ol1.53/", help="The beginning of the folders' names in tests/golden"
    )
    options = parser.parse_args(arguments)
    marquez = _Marquez(options.url)
    world, events = ForwardWorld(), list[OutgoingEvent]()

    def keep(event: OutgoingEvent) -> Answer:
        answer = marquez.send(event)
        events.extend([event] if answer is TAKEN else [])
        return answer

    world.targets["marquez"].answer = keep
    for folder in (path for name, path in FOLDERS.items() if name.startswith(options.captured)):
        world.receive(*map(json.loads, (folder / "events.jsonl").read_bytes().splitlines()))
    world.round(minutes=10)
    while world.round(minutes=60).targets[0].waiting:
        pass
    wrong = 0
    sent = [json.loads(event.body) for event in events]
    last = {event["run"]["runId"]: event for event in sent}
    for run_id, event in last.items():
        for difference in differences(marquez, event) if event["eventType"] == "COMPLETE" else ():
            wrong += 1
            sys.stdout.write(f"{event['job']['name']} {run_id}: {difference}\n")
    columns, rest = sent_columns(event for event in sent if event["eventType"] == "COMPLETE")
    number_shown = 0
    for (namespace, name), edges in columns.items():
        shown_edges = shown_columns(marquez, namespace, name)
        number_shown += len(shown_edges & rest)
        if different := (shown_edges - rest) ^ edges:
            wrong += 1
            sys.stdout.write(f"columns of {namespace} {name}: {sorted(different)}\n")
    refused = sum(answer is not TAKEN for answer in marquez.answers)
    sys.stdout.write(f"{len(last):,} runs delivered, {refused:,} answers that were no 2xx, {wrong:,} differences\n")
    compared = sum(map(len, columns.values()))
    sys.stdout.write(f"{compared:,} edges of columns of {len(columns):,} data sets compared, {len(rest):,} left out, ")
    sys.stdout.write(f"of which it shows {number_shown:,}\n")
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())
