"""What a command writes, as a data set with column lineage, and where."""

from collections.abc import Iterable
from typing import Any

from shared.openlineage.facets import Transformation
from shared.openlineage.run import DatasetKey, MergedDataset
from shared.openlineage.wire import InputField, OutputField
from shared.plans.evaluated import EvaluatedColumn
from shared.plans.evaluation import Evaluation
from shared.plans.nodes.document import Node, kind, ref
from shared.plans.nodes.flow import FILTER, IDENTITY, Flow, FlowStep, decides

NO_PLACE: DatasetKey = ("", "")
"""Of an output whose place the plan does not show."""

_MAX_ALIASES = 8


def relation_of(evaluation: Evaluation, command: Node, field: str) -> Any:
    """A field of a command; of one that is a plan, the relation behind its aliases."""
    value = command.get(field)
    for _ in range(_MAX_ALIASES):
        index = ref(value)
        if index is None:
            return value
        plan = evaluation.node(index)
        value = plan.get("child") if kind(plan) in {"SubqueryAlias", "View", "Project"} else dict(plan)
    return value


def output_at(place: DatasetKey, columns: Iterable[EvaluatedColumn], rows: Flow) -> MergedDataset:
    """A data set with the lineage of its columns and rows."""
    columns = list(columns)
    return MergedDataset(
        namespace=place[0],
        name=place[1],
        fields=tuple(
            (each.name, (OutputField(input_fields=_fields(each.flow, each.text.text if each.text else "")),))
            for each in columns
            if each.flow
        ),
        rows=_fields({source: frozenset(map(_as_condition, steps)) for source, steps in rows.items()}),
        schema=tuple((each.name, each.type) for each in columns),
    )


def _as_condition(step: FlowStep) -> FlowStep:
    return step if not step.direct else decides(FILTER)


def _fields(flow: Flow, text: str = "") -> tuple[InputField, ...]:
    return tuple(
        InputField(
            namespace=source.dataset[0],
            name=source.dataset[1],
            field=source.column,
            transformations=tuple(_transformation(step, text) for step in sorted(steps)),
        )
        for source, steps in sorted(flow.items())
    )


def _transformation(step: FlowStep, text: str) -> Transformation:
    return Transformation(
        type="DIRECT" if step.direct else "INDIRECT",
        subtype=step.subtype,
        masking=step.masked or None,
        description=(text or None) if step.direct and step.subtype != IDENTITY else None,
    )
