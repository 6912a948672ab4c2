"""A running Throughline: lineage, runs and processes on its record, and lineage in its catalog."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from fnmatch import fnmatchcase
from http import HTTPStatus
from pathlib import Path
from typing import Any

from shared.bootstrap import Worker, assemble, storage_of
from shared.classifying.planning import reading_if_there
from shared.errors import Misconfigured, StorageUnavailable
from shared.events.stored_runs import RunFilter
from shared.governance.propagation import CatalogReading
from shared.governance.rules import Rules
from shared.lineage.document import LineageDocument
from shared.lineage.graph import UnknownNameError
from shared.lineage.questions import LineageIndex
from shared.lineage.steps import Direction, Lineage, lineage_of
from shared.publishing.resolution import resolve_names
from shared.query.recorded_document import document_of_record, judged_record
from shared.reading.processes import recorded
from shared.reading.reader import wanted_events
from shared.records.assets import all_assets
from shared.records.control import check_layout, settings_on_record
from shared.reporting.run_report import run_report
from shared.serving.requests import AS_OF, Request
from shared.serving.routes import BY_PATH, COMPARE, DAYS, QUESTIONS, parameters_of
from shared.serving.service import API, LineageService
from shared.serving.shelf import OneDocument, PublishedDocuments
from shared.serving.view import LineageView
from shared.settings.reading import load, named
from shared.settings.table import ENDPOINT
from throughline.local.running_world import HOME, running_world, up_command
from throughline.results import Process, Run
from throughline.translation import process_of

_NO_CATALOG = {ENDPOINT: "https://not-set.invalid"}


class Client:
    """Reads one Throughline. It writes nothing. Made by `connect`.

    Every method raises `throughline.StorageUnavailable` where storage does not answer.
    """

    def __init__(self, worker: Worker) -> None:
        self._worker = worker

    def lineage(
        self,
        dataset: str,
        *,
        column: str | None = None,
        direction: Direction = "both",
        depth: int = 3,
        conditions: bool = False,
    ) -> Lineage:
        """What a data set is made of (`upstream`) and what is made of it (`downstream`).

        `dataset` is a qualified name, the end of one, or a short name. With `column` only steps that this column's
        values take are followed. `depth` counts data sets. It is the lineage on record: also what is not published yet
        and what exceeds the catalog's 32 KB for columns. `conditions` adds columns that only decide which rows are
        written: in a step's `columns` their output is empty, and they are not followed.

        Raises `throughline.UnknownError` and `throughline.AmbiguousError` (both LookupError), and ValueError for a
        direction or depth that does not exist.
        """
        index = LineageIndex(document_of_record(self._worker.storage, self._worker.publishing))
        number = index.dataset(dataset)
        column_number = None if column is None else index.column(number, column)
        return lineage_of(index, number, direction=direction, depth=depth, column=column_number, conditions=conditions)

    def ask(self, question: str, **parameters: str | int | bool) -> Any:
        """The answer to a question of the HTTP API (`search`, `explain`, `impact`, `upstream`, `ways`, `masks`,
        `unknown`, `coverage`, `compare` …), by its parameters, in its JSON: docs/get-started/lineage-api.md.

        A name that Python reserves gets an underscore: `from_`. `days`, `compare` and `as_of` read the documents that
        the sweeper publishes, all others the record as it is now. Raises `throughline.UnknownError` for what is not
        there, with the nearest names, and ValueError for a question or a parameter that there is not.
        """
        query = {name.rstrip("_"): _text(value) for name, value in parameters.items()}
        names = [path.removeprefix(QUESTIONS) for path in (*BY_PATH, DAYS, COMPARE) if path.startswith(QUESTIONS)]
        if question not in names:
            raise ValueError(f"there is no question {question!r}: there are {', '.join(sorted(names))}")
        path = f"{QUESTIONS}{question}"
        known_names = [parameter.name for parameter in parameters_of(path)]
        if unknown := sorted(query.keys() - set(known_names)):
            raise ValueError(f"{question} has no parameter {unknown[0]!r}: it has {', '.join(known_names) or 'none'}")
        storage = self._worker.storage
        is_past = path in (DAYS, COMPARE) or AS_OF.name in query
        shelf = PublishedDocuments(storage) if is_past else OneDocument(view=LineageView(self.document(), "now"))
        response = LineageService(shelf).answer(Request(path=f"{API}{path}", query=query))
        value = json.loads(response.body)
        if response.status == HTTPStatus.OK:
            return value
        if response.status == HTTPStatus.NOT_FOUND:
            raise UnknownNameError(value["message"])
        raise (StorageUnavailable if response.status == HTTPStatus.SERVICE_UNAVAILABLE else ValueError)(
            value["message"]
        )

    def runs(self, job: str = "*", *, since: datetime | None = None, before: datetime | None = None) -> Iterator[Run]:
        """What became of the runs with a stored event of a job that matches the glob `job`, between two times (UTC),
        ordered by the hour of their first event. Each run takes a few calls to storage, made when it is asked for.
        """
        seen_runs: set[str] = set()
        storage = self._worker.storage
        for record in wanted_events(storage, RunFilter(job=job, since=since, before=before)):
            run_id, application = record.event.run_id, record.event.application
            if run_id not in seen_runs:
                seen_runs.add(run_id)
                if report := run_report(storage, run_id, application=application):
                    yield Run(run_id=run_id, job=record.job, state=report.state, reason=report.reason)

    def processes(self, like: str = "*") -> tuple[Process, ...]:
        """The processes on record whose name or qualified name matches the glob `like`, sorted by qualified name, on
        the assets that the catalog was found to have.
        """
        worker = self._worker
        matches = {record.own: record for record in all_assets(worker.storage)}
        recorded_processes = (
            resolve_names(process, matches) for process, _ in recorded(worker.storage, worker.publishing)
        )
        return tuple(
            process_of(named_process)
            for named_process in sorted(
                (process for process in recorded_processes if process), key=lambda process: process.qualified_name
            )
            if fnmatchcase(named_process.name, like) or fnmatchcase(named_process.qualified_name, like)
        )

    def document(self) -> LineageDocument:
        """All lineage on record as one value, with the expressions of columns: docs/reference/lineage-document.md."""
        return document_of_record(self._worker.storage, self._worker.publishing, expressions=True)


def _text(value: str | float) -> str:
    """A value as a query has it."""
    return value if isinstance(value, str) else json.dumps(value)


def judged_by(client: Client) -> tuple[LineageDocument, tuple[str, ...]]:
    """What policies are judged by: the client's document, and the names of data sets that filters leave out of it."""
    worker = client._worker  # noqa: SLF001 - of this module
    return judged_record(worker.storage, worker.publishing)


def reading_by(client: Client, document: LineageDocument, rules: Rules) -> CatalogReading:
    """The classifications that others set in the client's catalog, as far as rules ask about them."""
    worker = client._worker  # noqa: SLF001 - of this module
    return reading_if_there(document, rules, worker.classifications, worker.storage)


def connect(settings: Mapping[str, str] | None = None, *, home: Path = HOME) -> Client:
    """The Throughline that `settings` name, by the names of docs/reference/settings.md (`AzureWebJobsStorage`,
    `THROUGHLINE_CATALOG_ENDPOINT` …); without them the one that the environment names, else the local world of
    `throughline up` whose data lies in `home`. The functions' own settings, where they are on record, come before the
    environment's, so that names and counts are those that the functions publish.

    Raises `throughline.Misconfigured` with every setting that is missing or wrong, or where another version has written
    the stored data, and `throughline.StorageUnavailable`.
    """
    overrides: Mapping[str, str] = {}
    if settings is None and not named(place=True):
        world = running_world(home)
        if world is None:
            raise Misconfigured(
                f"There is no Throughline to connect to: the environment names none, and no local world runs in {home}."
                f" Start one with {up_command(home)}, pass the folder of its --home as connect(home=...), set"
                " AzureWebJobsStorage and THROUGHLINE_CATALOG_ENDPOINT, or pass settings to connect()"
            )
        overrides = world.environment
    storage = storage_of(load(catalog=True, environment=settings, overrides=overrides, record=_NO_CATALOG).storage)
    check_layout(storage)
    record = settings_on_record(storage)
    settings_found = load(
        catalog=True, environment=settings, overrides=overrides, record=record.texts if record else None
    )
    return Client(assemble(settings_found, storage=storage))
