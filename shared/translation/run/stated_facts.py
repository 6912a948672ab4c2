"""What events state of a run besides its lineage, for people: parameters, jobs before and after it, the parts of data
sets that it read and wrote, and what Hive and Flink say of themselves.

Pairs of a title and a text, without secrets. Literals of conditions are data, and shown as `?`.
"""

from collections.abc import Iterable, Iterator

from shared.openlineage.facets import Combination, Comparison, Condition, FieldOperand, Locations, Operand, Partition
from shared.openlineage.run_facets import Checkpoints, JobDependencies, JobDependency, RunFacets, Scalar
from shared.openlineage.wire import Dataset, RunEvent
from shared.secrets import address_without_secrets, parameter_without_secrets, short_text, without_secrets

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
    more = len(facts) - MOST_FACTS
    return (*facts[:MOST_FACTS], ("further facts", f"{more:,}")) if more > 0 else tuple(facts)


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
    how = ", ".join(filter(None, map(_words, rules)))
    return f"{name} ({how})" if how else name


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
    read = dataset.input_facets.subset if dataset.input_facets else None
    written_output_subset = dataset.output_facets.subset if dataset.output_facets else None
    name = without_secrets(dataset.namespace, dataset.name)[1]
    if read and read.input_condition:
        yield (f"reads of {name}", dataset.namespace), _condition(read.input_condition)
    if written_output_subset and written_output_subset.output_condition:
        yield (f"writes of {name}", dataset.namespace), _condition(written_output_subset.output_condition)


def _condition(condition: Condition, nested: int = 0) -> str:
    if isinstance(condition, Combination):
        if nested == _MOST_NESTED:
            return "…"
        left, right = (_condition(part, nested + 1) for part in (condition.left, condition.right))
        return f"({left} {condition.operator.upper()} {right})"
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
