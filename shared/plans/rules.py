"""The rules of logical plans, by class: from the plans below to a plan's columns and rows.

What decides about rows (filters, joins, groups, sorts) concerns every column, and is kept beside them. Generators make
of each row most often anything that their arguments decide; of those whose rows are written out (the elements of an
array that is made on the spot, `stack`) each column, and their number never depends on data.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from shared.plans.evaluation import Context, Evaluated, EvaluatedColumn, Rule, column_of
from shared.plans.nodes.document import (
    CHANGE,
    COPY,
    FILTER,
    GROUP_BY,
    IN_CODE,
    JOIN,
    NOTHING,
    SORT,
    ArrayFlow,
    Flow,
    FlowStep,
    Node,
    StructureFlow,
    children,
    decides,
    joined,
    kind,
    nodes,
    ref,
    through,
    united,
)
from shared.plans.nodes.texts import Text, together


def generated(context: Context) -> Evaluated:
    """The rule of Generate: the columns below, and those that the generator makes."""
    generator, attributes = context.node.get("generator") or {}, nodes(context.node.get("generatorOutput"))
    flows = _columns(context, generator, len(attributes))
    rows = context.rows
    if not _is_written_out(generator):
        rows = united((rows, through(decides(FILTER), united(context.flows("generator")))))
    columns = tuple(
        column_of(attribute, through(CHANGE, flow)) for attribute, flow in zip(attributes, flows, strict=True)
    )
    return Evaluated(columns=(*context.below[0].columns, *columns), rows=rows)


def _is_written_out(generator: Node) -> bool:
    """Whether data never decides the number of rows."""
    return kind(generator) in {"Stack", "JsonTuple"} or kind(generator.get("child")) == "CreateArray"


def _columns(context: Context, generator: Node, width: int) -> Sequence[Flow]:
    """The flow of each of `width` columns."""
    name, array = kind(generator), generator.get("child")
    flows: Sequence[Flow] = ()
    if name == "Stack":  # values row by row, after the number of rows
        _, *values = map(context.flow, nodes(generator.get("children")))
        flows = [joined(values[place::width]) for place in range(width)]
    elif name in _OF_ELEMENTS and isinstance(array, dict):
        flow = context.flow(array)
        flows = _OF_ELEMENTS[name](flow.element) if isinstance(flow, ArrayFlow) else ()
    return flows if len(flows) == width else [united(context.flows("generator"))] * width


_OF_ELEMENTS: Mapping[str, Callable[[Flow], Sequence[Flow]]] = {
    "Explode": lambda element: (element,),
    "PosExplode": lambda element: (NOTHING, element),  # no data decides the places
    "Inline": lambda element: element.fields if isinstance(element, StructureFlow) else (),
}
"""What generators make of the elements of an array."""


MADE_BY_CODE = "made outside of Spark's plan, in an RDD or by Python (createDataFrame)"
"""Rows that no plan shows."""
_MAX_ROUNDS, _ROUNDS_OF_TEXT = 500, 4
"""Rounds after which a recursive query's columns no longer change; their texts, which may grow for ever, get fewer."""


def _same(context: Context) -> Evaluated:
    return context.below[0] if context.below else Evaluated()


def _all_columns(context: Context, step: FlowStep) -> Flow:
    return united(through(step, column.flow) for plan in context.below for column in plan.columns)


def _project(context: Context) -> Evaluated:
    return Evaluated(columns=context.named("projectList"), rows=context.rows)


def _decided_by(field: str, subtype: str) -> Rule:
    """The columns of the plan below. The expressions in a field decide about its rows, too."""

    def rule(context: Context) -> Evaluated:
        return Evaluated(
            columns=context.below[0].columns, rows=united((context.rows, context.condition(field, subtype)))
        )

    return rule


def _decided_by_all(subtype: str) -> Rule:
    """The columns of the first plan below. All columns of all plans decide about its rows, too: those of INTERSECT and
    EXCEPT are rows of the left side.
    """

    def rule(context: Context) -> Evaluated:
        return Evaluated(
            columns=context.below[0].columns, rows=united((context.rows, _all_columns(context, decides(subtype))))
        )

    return rule


def _join(context: Context) -> Evaluated:
    join_type, (left_plan, *right) = kind(context.node.get("joinType")), context.below
    columns = left_plan.columns
    if join_type not in {"LeftSemi", "LeftAnti"}:
        columns += tuple(column for other in right for column in other.columns)
    rows = united((context.rows, context.condition("condition", JOIN)))
    if join_type == "ExistenceJoin":
        exists = context.node["joinType"].get("exists")
        columns = (*left_plan.columns, *(column_of(column, rows) for column in nodes(exists)))
        rows = left_plan.rows
    return Evaluated(columns=columns, rows=rows)


def _lateral_join(context: Context) -> Evaluated:
    """The right side is a subquery over the columns of the left one."""
    columns, rows = context.below[0].columns, context.rows
    for node in nodes(context.node.get("right")):
        index = ref(node.get("plan"))
        if index is not None:
            lateral_plan = context.evaluation.plan(index, {**context.expressions.outer, **context.columns})
            columns, rows = columns + lateral_plan.columns, united((rows, through(decides(JOIN), lateral_plan.rows)))
    flows = {column.id: column.flow for column in columns}
    return Evaluated(columns=columns, rows=united((rows, *context.flows("condition", decides(JOIN), flows))))


def _as_of_join(context: Context) -> Evaluated:
    """Each row of the left side with the nearest one of the right side."""
    conditions = (context.condition("condition", JOIN), context.condition("asOfCondition", JOIN))
    rows = united((context.rows, *conditions, context.condition("orderExpression", SORT)))
    return Evaluated(columns=tuple(column for plan in context.below for column in plan.columns), rows=rows)


def _aggregate(context: Context) -> Evaluated:
    rows = context.rows
    pivoted = {
        source for node in nodes(context.node.get("aggregateExpressions")) for source in _pivot_sources(context, node)
    }
    if pivoted:  # Spark groups by the pivoted column first; no row is there or not because of it
        group = frozenset({decides(GROUP_BY)})
        rows = {source: steps for source, steps in rows.items() if source not in pivoted or steps != group}
    groups = context.condition("groupingExpressions", GROUP_BY)
    return Evaluated(columns=context.named("aggregateExpressions"), rows=united((rows, groups)))


def _pivot_sources(context: Context, aggregate: Node) -> Flow:
    """The sources of the column that a pivot turns into columns."""
    child = aggregate.get("child")
    function = child.get("aggregateFunction") if isinstance(child, dict) else None
    if kind(function) != "PivotFirst" or not isinstance(function, dict):
        return NOTHING
    return context.expressions(function["pivotColumn"], context.columns)


def _window(context: Context) -> Evaluated:
    return Evaluated(columns=(*context.below[0].columns, *context.named("windowExpressions")), rows=context.rows)


def _expand(context: Context) -> Evaluated:
    projections = [nodes(projection) for projection in context.node.get("projections", ())]
    flows, columns = context.columns, []
    for place, attribute in enumerate(nodes(context.node.get("output"))):
        expressions = (row[place] for row in projections if place < len(row))
        flow = united(context.expressions(expression, flows) for expression in expressions)
        columns.append(column_of(attribute, flow))
    return Evaluated(columns=tuple(columns), rows=context.rows)


def _union(context: Context) -> Evaluated:
    columns = [
        replace(first, flow=joined(branch.flow for branch in branches), text=_of_branches(branches))
        for place, first in enumerate(context.below[0].columns)
        for branches in [[plan.columns[place] for plan in context.below if place < len(plan.columns)]]
    ]
    return Evaluated(columns=tuple(columns), rows=context.rows)


def _of_branches(columns: Sequence[EvaluatedColumn]) -> Text | None:
    texts = [column.text or Text(column.name) for column in columns]
    return together(texts) if any(column.text for column in columns) else None


def _cte_definition(context: Context) -> Evaluated:
    context.evaluation.ctes[int(context.node.get("id", -1))] = context.below[0]
    return context.below[0]


def _cte_reference(context: Context) -> Evaluated:
    definition = context.evaluation.ctes.get(int(context.node.get("cteId", context.node.get("loopId", -1))))
    attributes = nodes(context.node.get("output"))
    if definition is None:
        if kind(context.node) != "UnionLoopRef":  # the first round of a recursive query has nothing before it
            context.evaluation.unknown(kind(context.node))
        return Evaluated(columns=tuple(column_of(attribute, NOTHING) for attribute in attributes))
    pairs = zip(attributes, definition.columns, strict=False)
    columns = tuple(column_of(attribute, column.flow, column.text) for attribute, column in pairs)
    return Evaluated(columns=columns, rows=definition.rows)


def _union_loop(context: Context) -> Evaluated:
    """A recursive query: its references stand for what the rounds before gave, until nothing is new."""
    number = int(context.node.get("id", -1))
    loop = _looped(context)
    for rounds in range(1, _MAX_ROUNDS):
        context.evaluation.ctes[number] = loop
        plans = [context.evaluation.plan(child, context.expressions.outer) for child in children(context.node)]
        earlier, loop = (
            loop,
            _looped(replace(context, below=plans)),
        )
        if earlier == loop or (rounds >= _ROUNDS_OF_TEXT and _flows(earlier) == _flows(loop)):
            return loop
    context.evaluation.unknown("a recursive query of too many rounds")
    return loop


def _flows(evaluated: Evaluated) -> list[Flow]:
    return [evaluated.rows, *(column.flow for column in evaluated.columns)]


def _looped(context: Context) -> Evaluated:
    """One round: a union, whose columns have ids of their own in Spark 4.1."""
    union, ids = _union(context), context.node.get("outputAttrIds") or ()
    if len(ids) != len(union.columns):
        return union
    pairs = zip(union.columns, ids, strict=True)
    return replace(union, columns=tuple(replace(column, id=tuple(parts)) for column, parts in pairs))


def _frame(context: Context) -> Evaluated:
    evaluated = context.evaluation.of_frame(context.node)
    if evaluated is None:
        context.evaluation.unknown(MADE_BY_CODE)
        return Evaluated(columns=context.output("output", NOTHING))
    return evaluated


def _by_function(context: Context) -> Evaluated:
    """Rows made by a function of pandas, Arrow or the like: of every column of every argument, at most."""
    arguments = [flow for name in ("functionExpr", "func") for flow in context.flows(name)]
    flow = through(IN_CODE, united(arguments) if any(arguments) else _all_columns(context, COPY))
    groups = [context.condition("groupingAttributes", GROUP_BY)]
    for name, side in zip(("leftGroupingLen", "rightGroupingLen"), context.below, strict=False):
        keys = side.columns[: int(context.node.get(name, 0))]  # the groups' columns are a side's first
        groups.append(through(decides(GROUP_BY), united(key.flow for key in keys)))
    output = context.output("output", flow) or context.output("outputAttrs", flow)
    return Evaluated(columns=output, rows=united((context.rows, *groups)))


def _numbered(context: Context) -> Evaluated:
    """A column of row numbers before the others."""
    return Evaluated(columns=(*context.output("sequenceAttr", NOTHING), *context.below[0].columns), rows=context.rows)


def _of_objects(context: Context) -> Evaluated:
    """A step of a typed Dataset: an object made of all columns below, at most."""
    read_flow = united(value_flow for name in _DESERIALIZERS for value_flow in context.flows(name))
    flow = through(IN_CODE, read_flow or _all_columns(context, COPY))
    groups = [context.condition(name, GROUP_BY) for name in ("groupingAttributes", "leftGroup", "rightGroup")]
    input_columns = context.below[0].columns if kind(context.node).startswith("AppendColumns") else ()
    output = context.output("outputObjAttr", flow) or tuple(
        column_of(node, flow) for node in nodes(context.node.get("serializer") or context.node.get("newColumns"))
    )
    return Evaluated(columns=(*input_columns, *output), rows=united((context.rows, *groups)))


def _typed_filter(context: Context) -> Evaluated:
    flow = context.condition("deserializer", FILTER) or _all_columns(context, decides(FILTER))
    return Evaluated(columns=context.below[0].columns, rows=united((context.rows, flow)))


def _merged_rows(context: Context) -> Evaluated:
    """Iceberg's MERGE: each clause gives all columns of the table, under a condition."""
    flows = context.columns
    assigned: list[list[Flow]] = [[] for _ in nodes(context.node.get("output"))]
    rows = [context.rows]
    for name in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        for clause in nodes(context.node.get(name)):
            conditions = nodes(clause.get("condition"))
            condition_flows = (context.expressions(condition, flows) for condition in conditions)
            rows += [through(decides(FILTER), flow) for flow in condition_flows]
            for outputs in (clause.get("output"), clause.get("otherOutput")):
                for place, node in enumerate(nodes(outputs)):
                    if place < len(assigned):
                        assigned[place].append(context.expressions(node, flows))
    pairs = zip(nodes(context.node.get("output")), assigned, strict=True)
    columns = [column_of(attribute, united(column_flows)) for attribute, column_flows in pairs]
    return Evaluated(columns=tuple(columns), rows=united(rows))


_SAME = (
    "SubqueryAlias View GlobalLimit LocalLimit Offset Tail Repartition RepartitionByExpression RebalancePartitions "
    "ResolvedHint UnresolvedHint EventTimeWatermark WithWindowDefinition Sample CollectMetrics ReturnAnswer Subquery "
    "UpdateEventTimeWatermarkColumn NoopTransform"
)
_DESERIALIZERS = ("deserializer", "keyDeserializer", "valueDeserializer", "leftDeserializer", "rightDeserializer")
_FUNCTIONS = (
    "MapInPandas PythonMapInArrow MapInArrow MapInPandasWithState FlatMapGroupsInPandas FlatMapGroupsInArrow "
    "FlatMapCoGroupsInPandas FlatMapCoGroupsInArrow FlatMapGroupsInPandasWithState TransformWithStateInPandas "
    "TransformWithStateInPySpark FlatMapGroupsInR FlatMapGroupsInRWithArrow MapPartitionsInRWithArrow "
    "ScriptTransformation"
)
_OBJECTS = (
    "DeserializeToObject SerializeFromObject MapElements MapPartitions AppendColumns AppendColumnsWithObject MapGroups "
    "FlatMapGroupsWithState CoGroup MapPartitionsInR TransformWithState"
)
RULES: Mapping[str, Rule] = {
    **dict.fromkeys(_SAME.split(), _same),
    **dict.fromkeys(_FUNCTIONS.split(), _by_function),
    **dict.fromkeys(_OBJECTS.split(), _of_objects),
    "Project": _project,
    "Filter": _decided_by("condition", FILTER),
    "Join": _join,
    "LateralJoin": _lateral_join,
    "AsOfJoin": _as_of_join,
    "Aggregate": _aggregate,
    "Distinct": _decided_by_all(GROUP_BY),
    "Deduplicate": _decided_by("keys", GROUP_BY),
    "DeduplicateWithinWatermark": _decided_by("keys", GROUP_BY),
    "Sort": _decided_by("order", SORT),
    "Window": _window,
    "Generate": generated,
    "Expand": _expand,
    "Union": _union,
    "Intersect": _decided_by_all(JOIN),
    "Except": _decided_by_all(JOIN),
    "WithCTE": lambda context: context.below[-1],
    "CTERelationDef": _cte_definition,
    "CTERelationRef": _cte_reference,
    "UnionLoop": _union_loop,
    "UnionLoopRef": _cte_reference,
    "LogicalRDD": _frame,
    "TypedFilter": _typed_filter,
    "AttachDistributedSequence": _numbered,
    "MergeRows": _merged_rows,
}
