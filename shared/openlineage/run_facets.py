"""Facets of a run: what it belongs to, what ran it, with which parameters, and what engines say of themselves.

Shapes follow ParentRunFacet, ProcessingEngineRunFacet, ExecutionParametersRunFacet 1-0-0, JobDependenciesRunFacet
1-0-1, TestRunFacet and TagsRunFacet of the specification; the listener's own facets of Databricks and Spark, those of
Hive's hook (`hive_query`, `hive_session`, `hive_properties`) and of Flink's listener (`flink_job`, `checkpoints`); and
our `throughline_plan`. The address of the client in `hive_session` is not read: no lineage needs it.
"""

from typing import Annotated, Any

from msgspec import Meta, field

from shared.openlineage.facets import DESCRIPTION, Name, Properties, RunTests, Tags, Wire


class JobName(Wire, frozen=True):
    """A job by namespace and name."""

    namespace: Name
    name: Name


class RunRef(Wire, frozen=True):
    """A run by its id."""

    run_id: str


class Parent(Wire, frozen=True):
    """The application (or task) that a run belongs to."""

    run: RunRef
    job: JobName


class EnvironmentProperties(Wire, frozen=True):
    """Databricks' properties, which the listener nests twice under one name."""

    values: Annotated[dict[str, Any], Properties] | None = field(name="environment-properties", default=None)


class Captured(Wire, frozen=True):
    """The Spark properties that identify workspace and job on Azure's platforms (Fabric's are named trident). The
    listener sends those that `spark.openlineage.capturedProperties` names.
    """

    databricks_host: Name | None = field(name="spark.databricks.workspaceUrl", default=None)
    synapse_workspace: Name | None = field(name="spark.synapse.workspace.name", default=None)
    notebook: Name | None = field(name="spark.synapse.context.notebookname", default=None)
    fabric_workspace: Name | None = field(name="trident.artifact.workspace.id", default=None)
    fabric_item: Name | None = field(name="trident.artifact.id", default=None)
    fabric_item_name: Name | None = field(name="trident.artifact.name", default=None)
    fabric_item_type: Name | None = field(name="trident.artifact.type", default=None)


class SparkProperties(Wire, frozen=True):
    """The listener's facet `spark_properties`, in every event of a Spark job."""

    properties: Captured | None = None


class ProcessingEngine(Wire, frozen=True):
    """What ran the job, and the listener's version."""

    name: str | None = None
    version: str | None = None
    openlineage_adapter_version: str | None = None


class PlanFacet(Wire, frozen=True):
    """The facet `throughline_plan`: Spark's analyzed plan of one execution, as throughline-plan.jar sends it.

    `plan` is the document of this `format`, gzipped, in base64; None where the plan could not be written (`problem`).
    `joined`: the event has the run id of the OpenLineage listener. `failed` is the class of the exception. `lost`: how
    many plans of the application the jar could not send before.
    """

    format: int = 0
    spark: str = ""
    application: str = ""
    execution: int = 0
    root: str | None = None
    joined: bool = False
    failed: str | None = None
    problem: str | None = None
    plan: str | None = None
    lost: int = 0


Scalar = Annotated[str, Meta(max_length=DESCRIPTION.most)] | int | float | bool | None
"""The value of a parameter: a text, by the specification, whose own example is a number."""


class ExecutionParameter(Wire, frozen=True):
    """A parameter that a run was given: `key`, its `name` for people, and its value."""

    key: Name
    name: Name | None = None
    value: Scalar = None


class ExecutionParameters(Wire, frozen=True):
    """All of them."""

    parameters: Annotated[tuple[ExecutionParameter, ...], Properties] | None = None


class JobDependency(Wire, frozen=True):
    """A job before or after this one. `dependency_type` is DIRECT_INVOCATION or IMPLICIT_DEPENDENCY; `sequence` says
    which of both starts when (FINISH_TO_START …), `status` after which of its results (EXECUTE_ON_SUCCESS …).
    """

    job: JobName
    run: RunRef | None = None
    dependency_type: Name | None = field(name="dependency_type", default=None)
    sequence: Name | None = field(name="sequence_trigger_rule", default=None)
    status: Name | None = field(name="status_trigger_rule", default=None)


class JobDependencies(Wire, frozen=True):
    """The jobs that run before and after this one, and when the ones before let it run (ALL_SUCCESS …)."""

    upstream: Annotated[tuple[JobDependency, ...], Properties] | None = None
    downstream: Annotated[tuple[JobDependency, ...], Properties] | None = None
    trigger_rule: Name | None = field(name="trigger_rule", default=None)


class HiveQuery(Wire, frozen=True):
    """A query of Hive; `operation_name` is what it does, as Hive calls it (`CREATETABLE_AS_SELECT`)."""

    query_id: Name | None = None
    operation_name: Name | None = None


class HiveSession(Wire, frozen=True):
    """Whose session of Hive a query belongs to."""

    username: Name | None = None
    session_id: Name | None = None


class HiveProperties(Wire, frozen=True):
    """Hive's settings that `hive.openlineage.capturedProperties` names."""

    properties: Annotated[dict[Name, Scalar], Properties] | None = None


class FlinkJob(Wire, frozen=True):
    """A job by the id that Flink gave it."""

    job_id: Name | None = None


class Checkpoints(Wire, frozen=True):
    """How many checkpoints of a job of Flink there were so far."""

    completed: int | None = None
    failed: int | None = None
    in_progress: int | None = field(name="in-progress", default=None)
    restored: int | None = None
    total: int | None = None


class DbtRun(Wire, frozen=True):
    """What dbt's run is of (`dbt_run` of OpenLineage's dbt integration)."""

    project_name: Name | None = field(name="project_name", default=None)


class RunFacets(Wire, frozen=True):
    """Facets of a run."""

    parent: Parent | None = None
    environment_properties: EnvironmentProperties | None = field(name="environment-properties", default=None)
    processing_engine: ProcessingEngine | None = field(name="processing_engine", default=None)
    spark_properties: SparkProperties | None = field(name="spark_properties", default=None)
    plan: PlanFacet | None = field(name="throughline_plan", default=None)
    hive_query: HiveQuery | None = field(name="hive_query", default=None)
    test: RunTests | None = None
    tags: Tags | None = None
    execution_parameters: ExecutionParameters | None = None
    job_dependencies: JobDependencies | None = None
    hive_session: HiveSession | None = field(name="hive_session", default=None)
    hive_properties: HiveProperties | None = field(name="hive_properties", default=None)
    flink_job: FlinkJob | None = field(name="flink_job", default=None)
    checkpoints: Checkpoints | None = None
    dbt_run: DbtRun | None = field(name="dbt_run", default=None)
