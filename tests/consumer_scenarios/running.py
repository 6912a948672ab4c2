"""Read the consumer scenarios of OpenLineage's compatibility-tests, and send one to a receiver with its catalog."""

import io
import subprocess
import tarfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from shared.atlas.entities import ProcessEntity, column_pairs
from shared.reporting.run_report import run_report
from shared.storage.memory import MemoryStorage
from tests.support.memory_catalog import MemoryCatalog
from tests.support.placeholder_columns import run
from tests.support.receiving import receive

SCENARIOS = "consumer/scenarios"
_MOST_BYTES = 64 * 1024 * 1024


def scenarios_in(folder: Path) -> dict[str, tuple[bytes, ...]]:
    """Return the events of each scenario in a copy of the repository: a work tree, or a bare git directory."""
    files_by_scenario: defaultdict[str, dict[str, bytes]] = defaultdict(dict)
    for path, content in _files(folder):
        parts = PurePosixPath(path).parts
        if len(parts) == len(("consumer", "scenarios", "NAME", "events", "FILE")) and parts[3] == "events":
            files_by_scenario[parts[2]][parts[4]] = content
    return {name: tuple(events[file] for file in sorted(events)) for name, events in sorted(files_by_scenario.items())}


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    if (folder / SCENARIOS).is_dir():
        for path in sorted((folder / SCENARIOS).rglob("*.json")):
            yield path.relative_to(folder).as_posix(), path.read_bytes()
        return
    command = ["git", "-C", str(folder), "archive", "HEAD", SCENARIOS]
    archive_bytes = subprocess.run(command, check=True, capture_output=True, timeout=60).stdout
    with tarfile.open(fileobj=io.BytesIO(archive_bytes)) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content and member.name.endswith(".json"):
                yield member.name, content.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerState:
    """The result of a scenario: the state of each run by its stored id, omitted parts of events, and the processes."""

    runs: Mapping[str, str]
    omitted: tuple[str, ...]
    processes: tuple[ProcessEntity, ...]

    @property
    def document(self) -> list[dict[str, Any]]:
        """Return the processes for comparison: names, inputs and outputs, and pairs of columns."""
        return [
            {
                "qualified_name": process.qualified_name,
                "name": dict(process.attributes)["name"],
                "inputs": [name for _, name in process.inputs],
                "outputs": [name for _, name in process.outputs],
                "columns": sorted(
                    f"{input_name}#{column} -> {output_name}#{output_column}"
                    for (input_name, column), (output_name, output_column) in column_pairs(
                        dict(process.attributes)["columnMapping"]
                    )
                ),
            }
            for process in self.processes
        ]


def consume(events: Iterable[bytes]) -> ConsumerState:
    """Receive, process and publish these events. Raises Refused for an event that the receiver does not accept."""
    bodies = tuple(events)
    probe = MemoryStorage()
    receipts = [receive(probe, body, most_bytes=_MOST_BYTES) for body in bodies]
    storage, catalog = MemoryStorage(), MemoryCatalog()
    run(storage, catalog, *bodies)
    runs = sorted({receipt.run_id for receipt in receipts if receipt.run_id})
    reports = {each: run_report(storage, each) for each in runs}
    return ConsumerState(
        runs={each: report.state if report else "ignored" for each, report in reports.items()},
        omitted=tuple(part for receipt in receipts for part in receipt.omitted),
        processes=tuple(catalog.processes[name] for name in sorted(catalog.processes)),
    )
