"""One OpenLineage run as a value: what all its events say together. `merging` makes it of events.

All fields but those that identify the run have defaults, so that other readers can build one by hand.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from shared.openlineage.wire import Captured, InputField, JobName, OutputField, PlanFacet, is_stream

TagValue = tuple[str, str, str]
"""A tag's key, its value, and the column that it is of; no column: the data set, the job or the run."""

DatasetKey = tuple[str, str]
"""A data set's namespace and name, as spelled."""


class MergedDataset(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One data set of a run, merged from all its events.

    `fields` and `rows` are the union of the column lineage facets: by output column, and for all rows. `schema` has the
    columns and types of the last event with a schema; `states` the lifecycle state changes (CREATE, OVERWRITE, ALTER,
    DROP, RENAME, TRUNCATE), each with the previous name if the name changed. `sources`: the data sets that explicit
    lineage names as those that feed it; None without explicit lineage: all inputs of the run may. `tags`, `owners` and
    `description` are what events declare of it.
    """

    namespace: str
    name: str
    symlinks: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, tuple[OutputField, ...]], ...] = ()
    rows: tuple[InputField, ...] = ()
    schema: tuple[tuple[str, str], ...] = ()
    states: tuple[tuple[str, DatasetKey | None], ...] = ()
    sources: tuple[DatasetKey, ...] | None = None
    tags: tuple[TagValue, ...] = ()
    owners: tuple[str, ...] = ()
    description: str = ""

    @property
    def key(self) -> DatasetKey:
        """Namespace and name."""
        return (self.namespace, self.name)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns in its schema."""
        return tuple([name for name, _ in self.schema])


NO_SPARK_PROPERTIES = Captured()


class MergedRun(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One run: all its events as one value. `ended` is its terminal state: FAIL and ABORT beat COMPLETE; `has_run`:
    whether it was seen RUNNING.

    `integration`, `job_type` and `processing_type` are those of the jobType facet (SPARK, SQL_JOB, STREAMING), empty if
    it is missing; `hive_operation` is Hive's name of the operation; `statement` is the job's SQL text as the user wrote
    it; `captured` are the Spark properties that identify workspace and job. `plan` is Spark's own plan, if
    throughline-plan.jar sent it: `shared.plans` reads it, and notes whether the run's lineage is `exact_by_plan`,
    whether some of its columns are only upper bounds (`opaque`), whether that differs from the listener's
    (`plan_differs`), which parts of the plan no rule knows (`plan_gaps`), and where rows come from that no data set has
    (`rows_from`). `has_plan`: whether there was one, also one that could not be written; `plan_execution`: the number
    of its execution in Spark, if it came alone, since the jar knew no run of the listener: then the run keeps its
    `plan`. `plans_lost`: how many plans of its application the jar had not been able to send until then.
    `tags` are what events declare of the run; `job_tags`, `owners` and `description`, of its job.
    """

    run_id: str
    job: JobName
    application_run: str
    first: datetime
    last: datetime
    application: JobName | None = None
    ended: str | None = None
    has_run: bool = False
    integration: str = ""
    job_type: str = ""
    processing_type: str = ""
    hive_operation: str = ""
    statement: str = ""
    properties: Mapping[str, Any] = msgspec.field(default_factory=dict)
    inputs: tuple[MergedDataset, ...] = ()
    outputs: tuple[MergedDataset, ...] = ()
    omitted: tuple[str, ...] = ()
    captured: Captured = NO_SPARK_PROPERTIES
    plan: PlanFacet | None = None
    exact_by_plan: bool = False
    opaque: bool = False
    plan_differs: bool = False
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    has_plan: bool = False
    plan_execution: int | None = None
    plans_lost: int = 0
    tags: tuple[TagValue, ...] = ()
    job_tags: tuple[TagValue, ...] = ()
    owners: tuple[str, ...] = ()
    description: str = ""

    @property
    def is_stream(self) -> bool:
        """Whether it runs until it is cancelled."""
        return is_stream(self.processing_type, self.integration)

    @property
    def counts(self) -> bool:
        """Whether what it says counts or is withdrawn already: it has ended, or is a stream that has run."""
        return self.ended is not None or (self.has_run and self.is_stream)

    @property
    def is_withdrawn(self) -> bool:
        """Whether it failed or was cancelled, and is no stream that keeps what it did until then."""
        if self.ended not in {"FAIL", "ABORT"}:
            return False
        return not (self.is_stream and (self.has_run or self.ended == "ABORT"))

    @property
    def is_application(self) -> bool:
        """Whether this run has no parent: an application, or a single run."""
        return self.application_run == self.run_id
