"""OpenLineage's wire format: the parts of the JSON that Throughline uses.

Shapes follow the OpenLineage specification 2-0-2 (RunEvent, JobEvent, DatasetEvent) and its facets:
SymlinksDatasetFacet, ColumnLineageDatasetFacet 1-0-0 to 1-2-0, SQLJobFacet, JobTypeJobFacet, SchemaDatasetFacet,
LifecycleStateChangeDatasetFacet and OutputStatisticsOutputDatasetFacet; `run_facets` has those of runs, `facets` tags,
owners, descriptions, quality, subsets and explicit lineage. Parts that are not named here are skipped without being
built. Field names are the specification's in snake case; unset and null mean the same. `facets` has the size limits.
"""

from typing import Annotated, Literal

from msgspec import field

from shared.openlineage.facets import (
    Assertions,
    ColumnName,
    Columns,
    DatasetLineage,
    DbtModel,
    Documentation,
    Expectations,
    Exposures,
    Hierarchy,
    InputSubset,
    JobLineage,
    Metrics,
    Name,
    OtherNames,
    OutputSubset,
    Ownership,
    Sources,
    Steps,
    Tags,
    TestExecution,
    Transformation,
    Wire,
)
from shared.openlineage.run_facets import JobName, Parent, RunFacets, RunRef

STREAMING = "STREAMING"
"""The processing type of streams."""
EventType = Literal["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]
Quality = tuple[Assertions | None, Expectations | None, Metrics | None]
"""The tests of a data set, those of Great Expectations, and what was measured of it."""


class InputField(Wire, frozen=True):
    """A column of a data set, as a source."""

    namespace: Name
    name: Name
    field: ColumnName
    transformations: Annotated[tuple[Transformation, ...], Steps] | None = None


class OutputField(Wire, frozen=True):
    """The sources of one output column. Type (it marks a mask) and description before 1-1-0 alone."""

    input_fields: Annotated[tuple[InputField, ...], Sources] | None = None
    transformation_type: str | None = None
    transformation_description: str | None = None


class ColumnLineage(Wire, frozen=True):
    """`fields`: by output column; `dataset`: what every output row depends on (since 1-2-0)."""

    fields: Annotated[dict[ColumnName, OutputField], Columns] | None = None
    dataset: Annotated[tuple[InputField, ...], Sources] | None = None


class SchemaField(Wire, frozen=True):
    """A column's name and type, as the producer names it."""

    name: ColumnName
    type: str | None = None


class Schema(Wire, frozen=True):
    """The columns of a data set, in their order."""

    fields: Annotated[tuple[SchemaField, ...], Columns] | None = None


class Symlink(Wire, frozen=True):
    """Another name of the same data set; `type` is TABLE for a catalog's table."""

    namespace: Name
    name: Name
    type: str | None = None


class Symlinks(Wire, frozen=True):
    """All other names."""

    identifiers: Annotated[tuple[Symlink, ...], OtherNames] | None = None


class DatasetName(Wire, frozen=True):
    """A data set by namespace and name."""

    namespace: Name
    name: Name


class LifecycleStateChange(Wire, frozen=True):
    """CREATE, OVERWRITE, ALTER, DROP, RENAME or TRUNCATE; a RENAME has the previous name."""

    lifecycle_state_change: str | None = None
    previous_identifier: DatasetName | None = None


class Statistics(Wire, frozen=True):
    """Amounts written. Listeners fill different fields, Spark's only at a run's end."""

    row_count: int | None = None
    size: int | None = None


class InputFacets(Wire, frozen=True):
    """Facets of a data set as an input of this run."""

    data_quality_assertions: Assertions | None = None
    data_quality_metrics: Metrics | None = None
    great_expectations: Expectations | None = field(name="greatExpectations_assertions", default=None)
    subset: InputSubset | None = None

    @property
    def quality(self) -> Quality:
        """What was tested and measured."""
        return self.data_quality_assertions, self.great_expectations, self.data_quality_metrics


class OutputFacets(Wire, frozen=True):
    """Facets of a data set as an output of this run."""

    output_statistics: Statistics | None = None
    subset: OutputSubset | None = None


class DatasetFacets(Wire, frozen=True):
    """Facets of a data set."""

    dataset_schema: Schema | None = field(name="schema", default=None)
    symlinks: Symlinks | None = None
    column_lineage: ColumnLineage | None = None
    lifecycle_state_change: LifecycleStateChange | None = None
    tags: Tags | None = None
    ownership: Ownership | None = None
    documentation: Documentation | None = None
    data_quality_assertions: Assertions | None = None
    data_quality_metrics: Metrics | None = None
    lineage: DatasetLineage | None = None
    hierarchy: Hierarchy | None = None
    dbt_exposures: Exposures | None = field(name="dbt_exposures", default=None)
    dbt_model: DbtModel | None = field(name="dbt_model", default=None)

    @property
    def quality(self) -> Quality:
        """What was tested and measured."""
        return self.data_quality_assertions, None, self.data_quality_metrics


class Dataset(Wire, frozen=True):
    """An input or an output, or the subject of a DatasetEvent."""

    namespace: Name
    name: Name
    facets: DatasetFacets | None = None
    input_facets: InputFacets | None = None
    output_facets: OutputFacets | None = None


class Run(Wire, frozen=True):
    """A run; its id is a UUID (the specification), or any text that identifies it."""

    run_id: str
    facets: RunFacets | None = None


def is_stream(processing_type: str, integration: str) -> bool:
    """Whether a job of this kind runs until it is cancelled. Spark's streams do not: each of their batches is a run
    with an end.
    """
    return processing_type.upper() == STREAMING and integration.upper() != "SPARK"


class EmissionPattern(Wire, frozen=True):
    """How a job's events are made: EVENT_BASED or PERIODIC; each ACCUMULATIVE, or a COMPLETE_SNAPSHOT that replaces the
    data sets of the events before (JobTypeJobFacet 2-0-4).
    """

    event_trigger: str | None = None
    event_content_mode: str | None = None


class JobType(Wire, frozen=True):
    """APPLICATION, SQL_JOB, RDD_JOB, TASK, MODEL …; BATCH, STREAMING or NONE; SPARK, DBT, AIRFLOW …."""

    job_type: str | None = None
    processing_type: str | None = None
    integration: str | None = None
    emission_pattern: EmissionPattern | None = None

    @property
    def is_stream(self) -> bool:
        """Whether the job runs until it is cancelled."""
        return is_stream(self.processing_type or "", self.integration or "")

    @property
    def is_snapshot(self) -> bool:
        """Whether each event with data sets names all of them."""
        pattern = self.emission_pattern
        return pattern is not None and (pattern.event_content_mode or "").upper() == "COMPLETE_SNAPSHOT"


NO_JOB_TYPE = JobType()


class Sql(Wire, frozen=True):
    """The statement as the user wrote it, literals and all."""

    query: str | None = None


class SourceCodeLocation(Wire, frozen=True):
    """Where the code of a job is (SourceCodeLocationJobFacet 1-0-1). `url` leads to the code as it ran; `version` is
    its commit, `branch` where that was.
    """

    url: Name | None = None
    version: Name | None = None
    branch: Name | None = None


NO_SOURCE_CODE = SourceCodeLocation()


class JobFacets(Wire, frozen=True):
    """Facets of a job."""

    job_type: JobType | None = None
    sql: Sql | None = None
    tags: Tags | None = None
    ownership: Ownership | None = None
    documentation: Documentation | None = None
    lineage: JobLineage | None = None
    source_code_location: SourceCodeLocation | None = None


class Job(Wire, frozen=True):
    """A job by namespace and name, with its facets."""

    namespace: Name
    name: Name
    facets: JobFacets | None = None


class RunEvent(Wire, frozen=True):
    """A state change of a run: the only event class that describes what a job did."""

    event_time: str
    run: Run
    job: Job
    event_type: EventType | None = None
    inputs: tuple[Dataset, ...] | None = None
    outputs: tuple[Dataset, ...] | None = None

    @property
    def datasets(self) -> tuple[Dataset, ...]:
        """Inputs and outputs."""
        return (*(self.inputs or ()), *(self.outputs or ()))

    @property
    def tests(self) -> tuple[TestExecution, ...]:
        """The tests of the run itself, apart from those of its data sets."""
        executed = self.run.facets.test if self.run.facets else None
        return (executed.tests or ()) if executed else ()

    @property
    def has_quality(self) -> bool:
        """Whether it tests or measures a data set."""
        if self.tests:
            return True
        for dataset in self.datasets:  # a loop, because it is run for each event: any() takes twice as long
            facets, input_facets = dataset.facets, dataset.input_facets
            if facets and (facets.data_quality_assertions or facets.data_quality_metrics):
                return True
            if input_facets and (
                input_facets.data_quality_assertions
                or input_facets.great_expectations
                or input_facets.data_quality_metrics
            ):
                return True
        return False

    @property
    def states_facts(self) -> bool:
        """Whether it has parameters, jobs before or after it, facets of Hive's or Flink's own, or subsets."""
        facets = self.run.facets
        if facets and (
            facets.execution_parameters
            or facets.job_dependencies
            or facets.hive_query
            or facets.hive_session
            or facets.hive_properties
            or facets.flink_job
            or facets.checkpoints
        ):
            return True
        for source in self.inputs or ():  # loops, because they are run for each event: any() takes twice as long
            if (input_facets := source.input_facets) and input_facets.subset:
                return True
        for sink in self.outputs or ():  # noqa: SIM110 - the same
            if (output_facets := sink.output_facets) and output_facets.subset:
                return True
        return False

    @property
    def parent(self) -> Parent | None:
        """The run's parent, if the event names it."""
        return self.run.facets.parent if self.run.facets else None

    @property
    def job_type(self) -> JobType:
        """What kind of job it is; without values where the event does not say."""
        return (self.job.facets.job_type if self.job.facets else None) or NO_JOB_TYPE


class JobEvent(Wire, frozen=True):
    """What a job reads and writes by its design, without a run."""

    event_time: str
    job: Job
    inputs: tuple[Dataset, ...] | None = None
    outputs: tuple[Dataset, ...] | None = None


class DatasetEvent(Wire, frozen=True):
    """A description of a data set, without a job."""

    event_time: str
    dataset: Dataset


class Envelope(Wire, frozen=True):
    """The fields that identify an event of any of the three classes."""

    event_time: str
    event_type: EventType | None = None
    run: RunRef | None = None
    job: JobName | None = None
    dataset: DatasetName | None = None
