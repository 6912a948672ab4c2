"""`python -m tests.e2e.marquez URL`: forward captured jobs to a running Marquez, and compare what it shows.

For each run that was delivered, its state, inputs and outputs are asked of Marquez' own API and compared with the event
that was sent; columns are not. Marquez has no package that a test could install: build it from its sources (0.51
was), with a PostgreSQL of its own, or use one that runs.
"""

import argparse
import json
import sys
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

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
    last = {event.run_id: json.loads(event.body) for event in events}
    for run_id, event in last.items():
        for difference in differences(marquez, event) if event["eventType"] == "COMPLETE" else ():
            wrong += 1
            sys.stdout.write(f"{event['job']['name']} {run_id}: {difference}\n")
    refused = sum(answer is not TAKEN for answer in marquez.answers)
    sys.stdout.write(f"{len(last):,} runs delivered, {refused:,} answers that were no 2xx, {wrong:,} differences\n")
    return 1 if wrong or refused else 0


if __name__ == "__main__":
    sys.exit(main())
