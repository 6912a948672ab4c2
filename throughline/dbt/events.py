"""A project as OpenLineage events, under the names of jobs and data sets that OpenLineage's wrapper `dbt-ol` gives.

A model or snapshot that dbt ran is a run of its job, with its compiled SQL: the parser reads the columns from it. One
that dbt did not run is a job event: what it reads and writes by its design. So are the exposures of a table, which read
every column of it; a table without any says so in the events of the models that write or read it. Tests are runs that
read the tables which they test.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import msgspec

from shared.event_parts import Json, event_of, facets_of
from shared.openlineage.selection import EXPOSURE
from shared.translation.run.exposures import job_of_exposures, place_of_exposure
from shared.translation.sql.statement_reader import read_statement
from throughline.dbt.artifacts import Node, NodeResult, Project

PRODUCER = "throughline/import/dbt"
LISTENER = "throughline import"
"""Who reports a run, among the facts of it, where `dbt-ol` has its version."""
_event, _facets = partial(event_of, PRODUCER), partial(facets_of, PRODUCER)
_JOB_TYPES: Mapping[str, str] = {"model": "MODEL", "snapshot": "SNAPSHOT"}
_ENDS: Mapping[str, str] = {"success": "COMPLETE", "partial success": "COMPLETE", "error": "FAIL"}
"""How a run ended, by dbt's status of a model. Of other ones (`skipped`, `no-op`) nothing ran."""
_TEST_ENDED = frozenset({"pass", "warn", "fail", "error"})


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOfProject:
    """A job with its events. `kind`: MODEL, SNAPSHOT, TEST, EXPOSURE, or JOB for dbt's run as a whole; `ran`: when dbt
    began to run it, None where it did not; `reads`, `writes`: names of tables; `has_sql`: whether its SQL is known.
    """

    kind: str
    name: str
    ran: datetime | None
    reads: tuple[str, ...]
    writes: str
    has_sql: bool
    events: tuple[bytes, ...]


def jobs_of(project: Project, *, namespace: str, job_namespace: str) -> Iterator[JobOfProject]:
    """All jobs of a project: dbt's run, models and snapshots, tests, exposures. `namespace`: of all tables."""
    return _Translation(project=project, namespace=namespace, job_namespace=job_namespace).jobs()


@dataclass(frozen=True, kw_only=True)
class _Translation:
    project: Project
    namespace: str
    job_namespace: str

    @cached_property
    def exposures(self) -> dict[str, list[Node]]:
        """The exposures of each table that has any, by its unique id."""
        by_table: dict[str, list[Node]] = {}
        for node in self.project.nodes.values():
            for table in self._stored(node) if node.resource_type == "exposure" else ():
                by_table.setdefault(table.unique_id, []).append(node)
        return by_table

    def jobs(self) -> Iterator[JobOfProject]:
        nodes = self.project.nodes.values()
        work = [node for node in nodes if node.resource_type in _JOB_TYPES and node.is_stored]
        tests = [node for node in nodes if node.resource_type == "test" and self._ended(node) in _TEST_ENDED]
        run_event = self._whole([*work, *tests])
        if run_event:
            yield run_event
        for node in work:
            if job := self._model(node):
                yield job
        yield from self._tests(tests)
        yield from self._exposures()

    def _ended(self, node: Node) -> str:
        result = self.project.results.get(node.unique_id)
        return result.status if result else ""

    def _whole(self, nodes: Iterable[Node]) -> JobOfProject | None:
        """The run of dbt itself, the parent of all others; None where dbt ran none of the nodes."""
        ran, statuses = self.project.ran, {self._ended(node) for node in nodes}
        if ran is None or not statuses & {*_ENDS, *_TEST_ENDED}:
            return None
        began = [moment for result in self.project.results.values() if (moment := _times(result, "")[0])]
        end = "FAIL" if statuses & {"error", "fail"} else "COMPLETE"
        times = {"START": min(began, default=ran.generated_at), end: ran.generated_at}
        job = self._job(f"dbt-run-{self.project.name}", "JOB")
        events = [self._run_event(kind, time, job) for kind, time in times.items()]
        return self._named(job, events)

    def _model(self, node: Node) -> JobOfProject | None:
        """A model or snapshot; None for one that dbt did not run and that reads nothing."""
        kind = node.resource_type
        name = ".".join(filter(None, (node.database, node.schema, node.unique_id.removeprefix(f"{kind}."))))
        facets: Json = {}
        if node.compiled_code:
            facets["sql"] = {"query": node.compiled_code, "dialect": self.project.metadata.adapter_type}
        job = self._job(f"{name}.snapshot" if kind == "snapshot" else name, _JOB_TYPES[kind], node, facets)
        inputs, output = [self._dataset(table) for table in self._stored(node)], self._dataset(node)
        result = self.project.results.get(node.unique_id)
        end = _ENDS.get(result.status) if result else None
        if result is None or end is None:
            events = [self._job_event(job, inputs, [output])] if inputs else []
        else:
            rows = result.adapter_response.rows_affected if result.adapter_response else None
            if rows is not None and rows >= 0:
                output |= {"outputFacets": _facets("OutputDataset", outputStatistics={"rowCount": rows})}
            times = dict(zip(("START", end), _times(result, self._generated), strict=True))
            events = [
                self._run_event(
                    kind, time, job, node.unique_id, inputs=inputs, outputs=[] if kind == "FAIL" else [output]
                )
                for kind, time in times.items()
            ]
        return self._named(job, events, inputs, [output]) if events else None

    def _tests(self, tests: Iterable[Node]) -> Iterator[JobOfProject]:
        """Generic tests by the table that they test, and tests that are SQL files, which read several."""
        by_table: dict[str, list[Node]] = {}
        for test in tests:
            if test.test_metadata and (tested := self._tested(test)):
                by_table.setdefault(tested.unique_id, []).append(test)
            else:
                result, inputs = self.project.results[test.unique_id], self._stored(test)
                execution = _without_nothing(
                    name=test.unique_id,
                    status="pass" if result.status == "pass" else "fail",
                    severity=_severity(test),
                    actual=None if result.failures is None else str(result.failures),
                )
                run_facets = {"test": {"tests": [execution]}}
                yield self._test_run(
                    test.unique_id, test, [test], [self._dataset(table) for table in inputs], run_facets
                )
        for unique_id, tests_of_table in by_table.items():
            node = self.project.nodes[unique_id]
            short = node.unique_id.removeprefix("model.")
            name = ".".join(filter(None, (node.database, node.schema, f"{short}.test")))
            assertions = [self._assertion(test) for test in tests_of_table]
            facets = _facets("InputDataset", dataQualityAssertions={"assertions": assertions})
            yield self._test_run(name, node, tests_of_table, [{**self._dataset(node), "inputFacets": facets}], {})

    def _test_run(self, name: str, node: Node, tests: list[Node], inputs: list[Json], run_facets: Json) -> JobOfProject:
        results = [self.project.results[test.unique_id] for test in tests]
        failed = any(
            result.status in {"fail", "error"} and _severity(test) != "warn"
            for test, result in zip(tests, results, strict=True)
        )
        job = self._job(name, "TEST", node)
        time = max(_times(result, self._generated)[1] for result in results)
        subject = f"{node.unique_id}.test"
        event = self._run_event(
            "FAIL" if failed else "COMPLETE", time, job, subject, inputs=inputs, extra_facets=run_facets
        )
        return self._named(job, [event], inputs)

    def _tested(self, test: Node) -> Node | None:
        """The table that a generic test is about: where the file does not say it, the last that it reads."""
        named = [test.attached_node, *reversed(test.parents)]
        nodes = (self.project.nodes.get(unique_id or "") for unique_id in named)
        return next((node for node in nodes if node and node.is_stored), None)

    def _assertion(self, test: Node) -> Json:
        result, arguments = self.project.results[test.unique_id], {}
        if test.test_metadata:
            arguments = test.test_metadata.kwargs or {}
        return _without_nothing(
            assertion=test.test_metadata.name if test.test_metadata else test.name,
            name=test.name,
            success=result.status == "pass",
            column=arguments.get("column_name") or test.column_name,
            severity=_severity(test),
            actual=None if result.failures is None else str(result.failures),
        )

    def _exposures(self) -> Iterator[JobOfProject]:
        """The readers outside of dbt of each table: it is the table that `dbt-ol` says them of."""
        for unique_id, exposures in self.exposures.items():
            table = self.project.nodes[unique_id]
            columns = [{"namespace": self.namespace, "name": table.table, "field": name} for name in self._names(table)]
            read, written = self._dataset(table), [self._exposure(node, columns) for node in exposures]
            job = self._job(job_of_exposures(self.project.name, table.table), EXPOSURE)
            yield self._named(job, [self._job_event(job, [read], written)], [read], written)

    def _exposure(self, node: Node, columns: list[Json]) -> Json:
        """A reader as a data set. Every column of its tables counts as one on which all of it depends."""
        facets = self._declared(node, "Dataset", type=node.type, maturity=node.maturity, url=node.url)
        if columns:
            facets |= _facets("Dataset", columnLineage={"fields": {}, "dataset": columns})
        namespace, name = place_of_exposure(node.unique_id)
        return {"namespace": namespace, "name": name, "facets": facets}

    def _stored(self, node: Node) -> list[Node]:
        """The tables that a node reads, also through ephemeral models and metrics, in order."""
        stored: dict[str, Node] = {}
        passed, waiting = {node.unique_id}, list(reversed(node.parents))
        while waiting:
            unique_id = waiting.pop()
            parent = self.project.nodes.get(unique_id)
            if parent is None or unique_id in passed:
                continue
            passed.add(unique_id)
            if parent.is_stored:
                stored[unique_id] = parent
            else:
                waiting.extend(reversed(parent.parents))
        return list(stored.values())

    def _columns(self, node: Node) -> list[tuple[str, str, str]]:
        """Name, type and description of the columns: those that the database has, else those that are described."""
        described = {column.name.lower(): column for column in (node.columns or {}).values()}
        table = self.project.tables.get(node.unique_id)
        if table is None:
            return [(column.name, column.data_type or "", column.description or "") for column in described.values()]
        ordered = sorted(table.columns.values(), key=lambda column: column.index)
        texts = {name: column.description or "" for name, column in described.items()}
        return [(column.name, column.type or "", texts.get(column.name.lower(), "")) for column in ordered]

    def _names(self, node: Node) -> list[str]:
        """The names of all columns: without catalog.json those of the compiled SQL too, if all of them are certain."""
        names = [name for name, _, _ in self._columns(node)]
        if node.unique_id in self.project.tables or not node.compiled_code:
            return names
        statement = read_statement(node.compiled_code.replace('"', "`"))
        folded = {name.lower() for name in names}
        return names + [name for name in (statement.outputs if statement else ()) if name.lower() not in folded]

    def _dataset(self, node: Node) -> Json:
        fields = [
            _without_nothing(name=name, type=kind or None, description=text or None)
            for name, kind, text in self._columns(node)
        ]
        facets = self._declared(node, "Dataset")
        if fields:
            facets |= _facets("Dataset", schema={"fields": fields})
        if node.resource_type in _JOB_TYPES:
            facets |= _facets("Dataset", dbt_model={})
        if node.unique_id not in self.exposures:
            facets |= _facets("Dataset", dbt_exposures={"exposures": [], "project": self.project.name})
        return {"namespace": self.namespace, "name": node.table, "facets": facets}

    def _declared(self, node: Node, carrier: str, **values: str | None) -> Json:
        """Facets of what a project declares of a node: description, owners, tags with those of its columns, meta."""
        settings = node.config
        meta = {**((settings.meta if settings else None) or {}), **(node.meta or {})}
        owners = meta.get("owner") or self._contacts(node)
        names = [str(owner) for owner in (owners if isinstance(owners, list) else [owners]) if owner]
        tags = [_tag(key, "true", "DBT") for key in _texts(node.tags or (settings.tags if settings else None))]
        tags += [_tag(key, value, "DBT_META") for key, value in {**meta, **values}.items() if value is not None]
        if carrier == "Dataset":
            tags += [
                {**_tag(key, "true", "DBT"), "field": column.name}
                for column in (node.columns or {}).values()
                for key in _texts(column.tags or (column.config.tags if column.config else None))
            ]
        facets: Json = {}
        if node.description:
            facets["documentation"] = {"description": node.description}
        if names:
            facets["ownership"] = {"owners": [{"name": name} for name in names]}
        if tags:
            facets["tags"] = {"tags": tags}
        return _facets(carrier, **facets)

    def _contacts(self, node: Node) -> list[str]:
        contact = node.owner or self.project.owners.get(node.group or "")
        return [contact.name or next(iter(_texts(contact.email)), "")] if contact else []

    @property
    def _generated(self) -> str:
        return (self.project.ran or self.project.metadata).generated_at

    def _job(self, name: str, kind: str, node: Node | None = None, extra_facets: Json | None = None) -> Json:
        facets = {"jobType": {"integration": "DBT", "jobType": kind, "processingType": "BATCH"}, **(extra_facets or {})}
        declared = self._declared(node, "Job") if node else {}
        return {"namespace": self.job_namespace, "name": name, "facets": {**_facets("Job", **facets), **declared}}

    def _job_event(self, job: Json, inputs: list[Json], outputs: list[Json]) -> Json:
        time = self.project.metadata.generated_at
        return _event("JobEvent", eventTime=time, job=job, inputs=inputs, outputs=outputs)

    def _run_event(
        self,
        kind: str,
        time: str,
        job: Json,
        subject: str = "",
        *,
        inputs: Iterable[Json] = (),
        outputs: Iterable[Json] = (),
        extra_facets: Json | None = None,
    ) -> Json:
        """An event of the run of a node (of all of dbt's run where `subject` is empty), whose id is always the same."""
        version = self.project.metadata.dbt_version
        engine = {"name": "dbt", "version": version or "", "openlineageAdapterVersion": LISTENER}
        facets: Json = {"processing_engine": engine}
        if subject:
            run_job = {"namespace": self.job_namespace, "name": f"dbt-run-{self.project.name}"}
            facets |= {"parent": {"run": {"runId": self._run_id("")}, "job": run_job}}
        run = {"runId": self._run_id(subject), "facets": _facets("Run", **facets, **(extra_facets or {}))}
        return _event(
            "RunEvent", eventType=kind, eventTime=time, run=run, job=job, inputs=[*inputs], outputs=[*outputs]
        )

    def _run_id(self, subject: str) -> str:
        ran = self.project.ran or self.project.metadata
        return str(uuid5(NAMESPACE_URL, f"dbt\n{ran.invocation_id or ran.generated_at}\n{subject}"))

    def _named(
        self, job: Json, events: list[Json], inputs: Iterable[Json] = (), outputs: Iterable[Json] = ()
    ) -> JobOfProject:
        ran = next((event["eventTime"] for event in events if "eventType" in event), None)
        return JobOfProject(
            kind=job["facets"]["jobType"]["jobType"],
            name=job["name"],
            ran=datetime.fromisoformat(ran) if ran else None,
            reads=tuple(dataset["name"] for dataset in inputs),
            writes=", ".join(dataset["name"] for dataset in outputs),
            has_sql="sql" in job["facets"],
            events=tuple(map(msgspec.json.encode, events)),
        )


def _times(result: NodeResult, otherwise: str) -> tuple[str, str]:
    """When a node's execution began and ended."""
    step = next((timing for timing in result.timing or () if timing.name == "execute"), None)
    return (step and step.started_at) or otherwise, (step and step.completed_at) or otherwise


def _severity(test: Node) -> str:
    return ((test.config.severity if test.config else None) or "error").lower()


def _texts(value: tuple[str, ...] | str | None) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else value or ()


def _tag(key: str, value: object, source: str) -> Json:
    """A value that is no text is written as JSON."""
    return {"key": key, "value": value if isinstance(value, str) else json.dumps(value), "source": source}


def _without_nothing(**values: Any) -> Json:
    return {name: value for name, value in values.items() if value is not None}
