"""Facts of a process's last run for people: where it ran, who ran it, how long it took, how much it wrote; and what
events state of it: parameters, jobs before and after it, the parts of data sets that it read and wrote, and what Hive
and Flink say of themselves. They change from run to run, so they are no part of lineage: they are published along with
changed lineage, never by themselves.

Databricks properties are those that the listener sends (`DatabricksEnvironmentFacetBuilder`); links have Databricks'
form and were not tried there. Stated facts have no secrets. Literals of conditions are data, and shown as `?`.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any
from urllib.parse import quote

import msgspec

from shared.openlineage.decoding import Event
from shared.openlineage.facets import Combination, Comparison, Condition, FieldOperand, Locations, Operand, Partition
from shared.openlineage.merging import ordered
from shared.openlineage.run import MergedRun, text_property, workspace
from shared.openlineage.run_facets import Checkpoints, JobDependencies, JobDependency, RunFacets, Scalar
from shared.openlineage.wire import Dataset, RunEvent
from shared.secrets import (
    MAX_SHORT_TEXT,
    address_without_secrets,
    parameter_without_secrets,
    short_text,
    without_secrets,
)
from shared.translation.process.job_names import JOB_ID, NOTEBOOK_PATH
from shared.translation.process.union import code_address, engine_of

StatedFact = tuple[str, str]
"""A title and a text."""

MOST_FACTS = 32
"""Of a run. They are kept for each process that it writes."""
_MOST_PLACES = 3
"""Partitions or locations that are named; further ones are counted."""
_MOST_NESTED = 8
"""Conditions within conditions."""

_SYMBOLS = {
    "EQUAL": "=",
    "GREATER_THAN": ">",
    "GREATER_EQUAL_THAN": ">=",
    "LESS_THAN": "<",
    "LESS_EQUAL_THAN": "<=",
}


def stated_facts(bodies: Iterable[RunEvent]) -> tuple[StatedFact, ...]:
    """The facts in these events, sorted. What a later event states of the same counts."""
    texts: dict[tuple[str, str], str] = {}
    for body in bodies:
        if body.run.facets:
            texts.update(_of_run(body.run.facets))
        for dataset in body.datasets:
            texts.update(_of_dataset(dataset))
    facts = sorted((short_text(title), short_text(text)) for (title, _), text in texts.items() if text)
    surplus = len(facts) - MOST_FACTS
    return (*facts[:MOST_FACTS], ("further facts", f"{surplus:,}")) if surplus > 0 else tuple(facts)


_Text = tuple[tuple[str, str], str]
"""A title, what tells facts of one title apart, and the text."""


def _of_run(facets: RunFacets) -> Iterator[_Text]:
    for parameter in (facets.execution_parameters.parameters or ()) if facets.execution_parameters else ():
        yield (f"parameter {parameter.name or parameter.key}", parameter.key), _value(parameter.key, parameter.value)
    if facets.job_dependencies:
        yield from _of_dependencies(facets.job_dependencies)
    if query := facets.hive_query:
        yield ("Hive query", ""), query.query_id or ""
    if session := facets.hive_session:
        yield ("Hive session", ""), session.session_id or ""
        yield ("Hive user", ""), session.username or ""
    for key, value in ((facets.hive_properties.properties or {}) if facets.hive_properties else {}).items():
        yield (f"Hive setting {key}", ""), _value(key, value)
    if facets.flink_job:
        yield ("Flink job", ""), facets.flink_job.job_id or ""
    if facets.checkpoints:
        yield ("checkpoints", ""), _checkpoints(facets.checkpoints)


def _value(key: str, value: Scalar) -> str:
    text = "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return parameter_without_secrets(key, text)


def _of_dependencies(dependencies: JobDependencies) -> Iterator[_Text]:
    for title, jobs in (("runs after", dependencies.upstream), ("runs before", dependencies.downstream)):
        for dependency in jobs or ():
            name = f"{dependency.job.namespace}/{dependency.job.name}"
            yield (title, name), _dependency(name, dependency)
    yield ("runs when", ""), _words(dependencies.trigger_rule)


def _dependency(name: str, dependency: JobDependency) -> str:
    rules = (dependency.dependency_type, dependency.sequence, dependency.status)
    rule_words = ", ".join(filter(None, map(_words, rules)))
    return f"{name} ({rule_words})" if rule_words else name


def _words(rule: str | None) -> str:
    """A rule's name (`EXECUTE_ON_SUCCESS`) as words."""
    return (rule or "").lower().replace("_", " ")


def _checkpoints(checkpoints: Checkpoints) -> str:
    numbers = {
        "completed": checkpoints.completed,
        "failed": checkpoints.failed,
        "in progress": checkpoints.in_progress,
        "restored": checkpoints.restored,
    }
    return ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number is not None)


def _of_dataset(dataset: Dataset) -> Iterator[_Text]:
    subset = dataset.input_facets.subset if dataset.input_facets else None
    written_output_subset = dataset.output_facets.subset if dataset.output_facets else None
    name = without_secrets(dataset.namespace, dataset.name)[1]
    if subset and subset.input_condition:
        yield (f"reads of {name}", dataset.namespace), _condition(subset.input_condition)
    if written_output_subset and written_output_subset.output_condition:
        yield (f"writes of {name}", dataset.namespace), _condition(written_output_subset.output_condition)


def _condition(condition: Condition, nested: int = 0) -> str:
    if isinstance(condition, Combination):
        if nested == _MOST_NESTED:
            return "…"
        left_side, right = (_condition(part, nested + 1) for part in (condition.left, condition.right))
        return f"({left_side} {condition.operator.upper()} {right})"
    if isinstance(condition, Comparison):
        symbol = _SYMBOLS.get(condition.comparison.upper(), condition.comparison)
        return f"{_operand(condition.left)} {symbol} {_operand(condition.right)}"
    if isinstance(condition, Locations):
        return f"at {_some([address_without_secrets(location) for location in condition.locations or ()])}"
    return _some([_partition(partition) for partition in condition.partitions or ()])


def _operand(operand: Operand) -> str:
    return operand.field if isinstance(operand, FieldOperand) else "?"


def _partition(partition: Partition) -> str:
    values = (partition.dimensions or {}).items()
    text = "/".join(f"{column}={parameter_without_secrets(column, str(value))}" for column, value in values)
    return text or partition.identifier or ""


def _some(places: list[str]) -> str:
    further = len(places) - _MOST_PLACES
    return " or ".join((*places[:_MOST_PLACES], *([f"{further:,} more"] if further > 0 else [])))


_MAX_STATEMENT = 2_000
_MAX_OUTPUTS = 8

_USER, _ORG, _JOB_RUN = "user", "orgId", "spark.databricks.job.runId"


class Written(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How much was written to a data set, as far as the listener reports it."""

    namespace: str
    name: str
    rows: int | None = None
    size: int | None = None


class RunFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What is known of a run besides its lineage. `columns_by` is BY_PLAN where Spark's own plan decided its columns,
    WITH_UPPER_BOUNDS where code that it does not show makes some of them; else `plan_gaps` names the parts of the plan,
    if there was one, that no rule knows. `plan_differs`: the listener's events say something else of its columns, or
    nothing. `rows_from`: where rows come from that no data set or column has. `code`: the address of the job's
    code as it ran, at `commit`. `stated`: what else events state of
    it, as pairs of a title and a text.
    """

    first: datetime
    last: datetime
    ended: bool = False
    job: str = ""
    namespace: str = ""
    platform: str = ""
    workspace: str = ""
    link: str = ""
    user: str = ""
    engine: str = ""
    listener: str = ""
    written: tuple[Written, ...] = ()
    columns_by: str = ""
    plan_gaps: tuple[str, ...] = ()
    rows_from: tuple[str, ...] = ()
    plan_differs: bool = False
    code: str = ""
    commit: str = ""
    stated: tuple[StatedFact, ...] = ()


BY_PLAN = "plan"
"""Columns that are exact: every part of Spark's plan was known."""
WITH_UPPER_BOUNDS = "opaque"
"""The same, but rows went through code: what some columns are made of is an upper bound."""

BY_AN_RDD = "made by an RDD, whose columns Spark does not know"
"""The rows of a run of Spark that an RDD's own method wrote: no plan shows them, and the listener knows no columns."""

_SPARK = frozenset({"Spark", "Databricks"})
"""The platforms (`RunFacts.platform`) whose jobs may have plans."""


class ColumnSource(StrEnum):
    """Who gave the columns of a run of Spark: the plan alone, where the listener's events agree or differ, or some
    columns are upper bounds; both, where the plan has parts that no rule knows; the listener alone; or nobody, of an
    RDD.
    """

    PLAN = "exact by plan"
    PLAN_DIFFERS = "exact by plan, unlike the listener's"
    OPAQUE = "by plan, some an upper bound"
    BOTH = "by listener and plan"
    LISTENER = "by listener only"
    RDD = "not known, made by an RDD"

    @property
    def columns_by(self) -> str:
        """The same as in `RunFacts`; empty where Spark's own plan did not decide all columns."""
        if self is ColumnSource.OPAQUE:
            return WITH_UPPER_BOUNDS
        return BY_PLAN if self in {ColumnSource.PLAN, ColumnSource.PLAN_DIFFERS} else ""


def column_source(facts: RunFacts | None) -> ColumnSource | None:
    """Who gave the columns of a run; None of one that is not Spark's, or does not contribute."""
    if facts is None:
        return None
    if facts.columns_by == BY_PLAN:
        return ColumnSource.PLAN_DIFFERS if facts.plan_differs else ColumnSource.PLAN
    if facts.columns_by == WITH_UPPER_BOUNDS:
        return ColumnSource.OPAQUE
    if BY_AN_RDD in facts.rows_from:
        return ColumnSource.RDD
    if facts.plan_gaps:
        return ColumnSource.BOTH
    return ColumnSource.LISTENER if facts.platform in _SPARK else None


def columns_by(run: MergedRun) -> str:
    """Whether Spark's own plan decided the columns of a run, as `RunFacts` has it."""
    return "" if not run.exact_by_plan else WITH_UPPER_BOUNDS if run.opaque else BY_PLAN


def is_by_rdd(run: MergedRun) -> bool:
    """Whether an RDD's own method wrote what a run wrote."""
    return run.job_type == "RDD_JOB" and not run.exact_by_plan and not run.plan_gaps


def facts_of(run: MergedRun, events: Iterable[Event]) -> RunFacts:
    """The facts of a run from its events; the latest values count."""
    engine = listener = ""
    amounts: dict[tuple[str, str], Written] = {}
    with_facts = ordered(filter(_has_facts, events))
    stating = [event.body for event in with_facts if event.body and event.body.states_facts]
    for event in with_facts:
        facets = event.body.run.facets if event.body else None
        if facets and facets.processing_engine:
            spark_engine = facets.processing_engine
            engine = " ".join(filter(None, (spark_engine.name, spark_engine.version)))
            listener = spark_engine.openlineage_adapter_version or listener
        for output in (event.body.outputs or ()) if event.body else ():
            amount = output.output_facets.output_statistics if output.output_facets else None
            if not amount or (amount.row_count is None and amount.size is None):
                continue
            namespace, name = without_secrets(output.namespace, output.name)
            if (namespace, name) in amounts or len(amounts) < _MAX_OUTPUTS:
                amounts[namespace, name] = Written(
                    namespace=namespace, name=name, rows=amount.row_count, size=amount.size
                )
    host = workspace(run)
    application = run.application or run.job
    return RunFacts(
        first=run.first,
        last=run.last,
        ended=run.ended == "COMPLETE",
        job=short_text(application.name),
        namespace=short_text(application.namespace),
        platform=_platform(run, host),
        workspace=short_text(host or text_property(run.properties, _ORG)),
        link=_link(run.properties, host),
        user=_user(text_property(run.properties, _USER)),
        engine=short_text(engine),
        listener=short_text(listener),
        written=tuple(amounts[key] for key in sorted(amounts)),
        columns_by=columns_by(run),
        plan_gaps=run.plan_gaps,
        rows_from=(*run.rows_from, BY_AN_RDD) if is_by_rdd(run) else run.rows_from,
        plan_differs=run.plan_differs,
        code=code_address(run.source_code),
        commit=short_text(run.source_code.version),
        stated=stated_facts(stating) if stating else (),
    )


def _has_facts(event: Event) -> bool:
    """Whether an event may name the engine or amounts, or states other facts. Those with a plan do not, and the
    listener's event of the same time need not be compared with them.
    """
    body = event.body
    if body is None:
        return False
    return bool(body.outputs or (body.run.facets and body.run.facets.processing_engine) or body.states_facts)


_ACCOUNT = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def _user(text: str) -> str:
    """The text if it has the form of an account's name; other texts are not shown."""
    return text[:MAX_SHORT_TEXT] if _ACCOUNT.fullmatch(text) else ""


def _platform(run: MergedRun, host: str) -> str:
    if host or any(key.startswith("spark.databricks.") and value for key, value in run.properties.items()):
        return "Databricks"
    return short_text(engine_of(run)) if run.integration else ""


def _link(properties: Mapping[str, Any], host: str) -> str:
    """A link into a workspace with a known host: to the job's run, else the job, else the notebook."""
    if not host:
        return ""
    job, job_run, notebook = (text_property(properties, key) for key in (JOB_ID, _JOB_RUN, NOTEBOOK_PATH))
    if job:
        return f"https://{host}/#job/{quote(job)}" + (f"/run/{quote(job_run)}" if job_run else "")
    return f"https://{host}/#workspace{quote(notebook)}" if notebook else ""
