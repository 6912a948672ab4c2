"""The rules of logical plans, by class: from the plans below to a plan's columns and rows.

What decides about rows (filters, joins, groups, sorts) concerns every column, and is kept beside them. Generators make
of each row most often anything that their arguments decide; of those whose rows are written out (the elements of an
array that is made on the spot, `stack`) each column, and their number never depends on data.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from shared.plans.evaluation import Context, Evaluated, EvaluatedColumn, Rule, column_of
from shared.plans.nodes.document import Node, children, kind, nodes, ref
from shared.plans.nodes.flow import (
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
    StructureFlow,
    decides,
    joined,
    through,
    united,
)
from shared.plans.nodes.texts import Text, together


def generated(context: Context) -> Evaluated:
    """The rule of Generate: the columns below, and those that the generator makes."""
    generator, attributes = context.node.get("generator") or {}, list(nodes(context.node.get("generatorOutput")))
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
"""Rounds in which a recursive query's columns settle; their texts, which may grow for ever, get fewer."""


def _same(at: Context) -> Evaluated:
    return at.below[0] if at.below else Evaluated()


def _all_columns(at: Context, step: FlowStep) -> Flow:
    return united(through(step, each.flow) for below in at.below for each in below.columns)


def _project(at: Context) -> Evaluated:
    return Evaluated(columns=at.named("projectList"), rows=at.rows)


def _decided_by(field: str, subtype: str) -> Rule:
    """The columns of the plan below. The expressions in a field decide about its rows, too."""

    def rule(at: Context) -> Evaluated:
        return Evaluated(columns=at.below[0].columns, rows=united((at.rows, at.condition(field, subtype))))

    return rule


def _decided_by_all(subtype: str) -> Rule:
    """The columns of the first plan below. All columns of all plans decide about its rows, too: those of INTERSECT and
    EXCEPT are rows of the left side.
    """

    def rule(at: Context) -> Evaluated:
        return Evaluated(columns=at.below[0].columns, rows=united((at.rows, _all_columns(at, decides(subtype)))))

    return rule


def _join(at: Context) -> Evaluated:
    how, (left, *right) = kind(at.node.get("joinType")), at.below
    columns = left.columns
    if how not in {"LeftSemi", "LeftAnti"}:
        columns += tuple(each for other in right for each in other.columns)
    rows = united((at.rows, at.condition("condition", JOIN)))
    if how == "ExistenceJoin":
        exists = at.node["joinType"].get("exists")
        columns = (*left.columns, *(column_of(each, rows) for each in nodes(exists)))
        rows = left.rows
    return Evaluated(columns=columns, rows=rows)


def _lateral_join(at: Context) -> Evaluated:
    """The right side is a subquery over the columns of the left one."""
    columns, rows = at.below[0].columns, at.rows
    for each in nodes(at.node.get("right")):
        index = ref(each.get("plan"))
        if index is not None:
            found = at.evaluation.plan(index, {**at.outer, **at.columns})
            columns, rows = columns + found.columns, united((rows, through(decides(JOIN), found.rows)))
    known = {each.id: each.flow for each in columns}
    return Evaluated(columns=columns, rows=united((rows, *at.flows("condition", decides(JOIN), known))))


def _as_of_join(at: Context) -> Evaluated:
    """Each row of the left side with the nearest one of the right side."""
    conditions = (at.condition("condition", JOIN), at.condition("asOfCondition", JOIN))
    rows = united((at.rows, *conditions, at.condition("orderExpression", SORT)))
    return Evaluated(columns=tuple(column for each in at.below for column in each.columns), rows=rows)


def _aggregate(at: Context) -> Evaluated:
    rows = at.rows
    pivoted = {source for each in nodes(at.node.get("aggregateExpressions")) for source in _pivot_sources(at, each)}
    if pivoted:  # Spark groups by the pivoted column first; no row is there or not because of it
        group = frozenset({decides(GROUP_BY)})
        rows = {source: steps for source, steps in rows.items() if source not in pivoted or steps != group}
    groups = at.condition("groupingExpressions", GROUP_BY)
    return Evaluated(columns=at.named("aggregateExpressions"), rows=united((rows, groups)))


def _pivot_sources(at: Context, aggregate: Node) -> Flow:
    """The sources of the column that a pivot turns into columns."""
    child = aggregate.get("child")
    function = child.get("aggregateFunction") if isinstance(child, dict) else None
    if kind(function) != "PivotFirst" or not isinstance(function, dict):
        return NOTHING
    return at.evaluation.flow(function["pivotColumn"], at.columns, at.outer)


def _window(at: Context) -> Evaluated:
    return Evaluated(columns=(*at.below[0].columns, *at.named("windowExpressions")), rows=at.rows)


def _expand(at: Context) -> Evaluated:
    projections = [list(nodes(each)) for each in at.node.get("projections", ())]
    known, columns = at.columns, []
    for place, attribute in enumerate(nodes(at.node.get("output"))):
        each = (row[place] for row in projections if place < len(row))
        columns.append(column_of(attribute, united(at.evaluation.flow(one, known, at.outer) for one in each)))
    return Evaluated(columns=tuple(columns), rows=at.rows)


def _union(at: Context) -> Evaluated:
    columns = [
        replace(first, flow=joined(each.flow for each in branches), text=_of_branches(branches))
        for place, first in enumerate(at.below[0].columns)
        for branches in [[each.columns[place] for each in at.below if place < len(each.columns)]]
    ]
    return Evaluated(columns=tuple(columns), rows=at.rows)


def _of_branches(columns: Sequence[EvaluatedColumn]) -> Text | None:
    made = [each.text or Text(each.name) for each in columns]
    return together(made) if any(each.text for each in columns) else None


def _cte_definition(at: Context) -> Evaluated:
    at.evaluation.ctes[int(at.node.get("id", -1))] = at.below[0]
    return at.below[0]


def _cte_reference(at: Context) -> Evaluated:
    found = at.evaluation.ctes.get(int(at.node.get("cteId", at.node.get("loopId", -1))))
    attributes = list(nodes(at.node.get("output")))
    if found is None:
        if kind(at.node) != "UnionLoopRef":  # the first round of a recursive query has nothing before it
            at.evaluation.unknown(kind(at.node))
        return Evaluated(columns=tuple(column_of(each, NOTHING) for each in attributes))
    pairs = zip(attributes, found.columns, strict=False)
    columns = tuple(column_of(each, column.flow, column.text) for each, column in pairs)
    return Evaluated(columns=columns, rows=found.rows)


def _union_loop(at: Context) -> Evaluated:
    """A recursive query: its references stand for what the rounds before gave, until nothing is new."""
    number = int(at.node.get("id", -1))
    found = _looped(at)
    for rounds in range(1, _MAX_ROUNDS):
        at.evaluation.ctes[number] = found
        below = [at.evaluation.plan(each, at.outer) for each in children(at.node)]
        before, found = found, _looped(Context(evaluation=at.evaluation, node=at.node, below=below, outer=at.outer))
        if before == found or (rounds >= _ROUNDS_OF_TEXT and _flows(before) == _flows(found)):
            return found
    at.evaluation.unknown("a recursive query of too many rounds")
    return found


def _flows(found: Evaluated) -> list[Flow]:
    return [found.rows, *(each.flow for each in found.columns)]


def _looped(at: Context) -> Evaluated:
    """One round: a union, whose columns have ids of their own in Spark 4.1."""
    found, ids = _union(at), at.node.get("outputAttrIds") or ()
    if len(ids) != len(found.columns):
        return found
    pairs = zip(found.columns, ids, strict=True)
    return replace(found, columns=tuple(replace(column, id=tuple(given)) for column, given in pairs))


def _frame(at: Context) -> Evaluated:
    found = at.evaluation.of_frame(at.node)
    if found is None:
        at.evaluation.unknown(MADE_BY_CODE)
        return Evaluated(columns=at.output("output", NOTHING))
    return found


def _by_function(at: Context) -> Evaluated:
    """Rows made by a function of pandas, Arrow or the like: of every column of every argument, at most."""
    arguments = [each for name in ("functionExpr", "func") for each in at.flows(name)]
    flow = through(IN_CODE, united(arguments) if any(arguments) else _all_columns(at, COPY))
    groups = [at.condition("groupingAttributes", GROUP_BY)]
    for name, side in zip(("leftGroupingLen", "rightGroupingLen"), at.below, strict=False):
        keys = side.columns[: int(at.node.get(name, 0))]  # the groups' columns are a side's first
        groups.append(through(decides(GROUP_BY), united(key.flow for key in keys)))
    made = at.output("output", flow) or at.output("outputAttrs", flow)
    return Evaluated(columns=made, rows=united((at.rows, *groups)))


def _numbered(at: Context) -> Evaluated:
    """A column of row numbers before the others."""
    return Evaluated(columns=(*at.output("sequenceAttr", NOTHING), *at.below[0].columns), rows=at.rows)


def _of_objects(at: Context) -> Evaluated:
    """A step of a typed Dataset: an object made of all columns below, at most."""
    read = united(each for name in _DESERIALIZERS for each in at.flows(name))
    flow = through(IN_CODE, read or _all_columns(at, COPY))
    groups = [at.condition(name, GROUP_BY) for name in ("groupingAttributes", "leftGroup", "rightGroup")]
    kept = at.below[0].columns if kind(at.node).startswith("AppendColumns") else ()
    made = at.output("outputObjAttr", flow) or tuple(
        column_of(each, flow) for each in nodes(at.node.get("serializer") or at.node.get("newColumns"))
    )
    return Evaluated(columns=(*kept, *made), rows=united((at.rows, *groups)))


def _typed_filter(at: Context) -> Evaluated:
    flow = at.condition("deserializer", FILTER) or _all_columns(at, decides(FILTER))
    return Evaluated(columns=at.below[0].columns, rows=united((at.rows, flow)))


def _merged_rows(at: Context) -> Evaluated:
    """Iceberg's MERGE: each clause gives all columns of the table, under a condition."""
    known = at.columns
    given: list[list[Flow]] = [[] for _ in nodes(at.node.get("output"))]
    rows = [at.rows]
    for name in ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"):
        for clause in nodes(at.node.get(name)):
            conditions = nodes(clause.get("condition"))
            rows += [through(decides(FILTER), at.evaluation.flow(each, known, at.outer)) for each in conditions]
            for outputs in (clause.get("output"), clause.get("otherOutput")):
                for place, each in enumerate(nodes(outputs)):
                    if place < len(given):
                        given[place].append(at.evaluation.flow(each, known, at.outer))
    columns = [column_of(each, united(flows)) for each, flows in zip(nodes(at.node.get("output")), given, strict=True)]
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
    "WithCTE": lambda at: at.below[-1],
    "CTERelationDef": _cte_definition,
    "CTERelationRef": _cte_reference,
    "UnionLoop": _union_loop,
    "UnionLoopRef": _cte_reference,
    "LogicalRDD": _frame,
    "TypedFilter": _typed_filter,
    "AttachDistributedSequence": _numbered,
    "MergeRows": _merged_rows,
}
