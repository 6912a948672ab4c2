"""Evaluate the plans of a document, each once, from the leaves up."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from shared.openlineage.run import DatasetKey
from shared.plans.document import Document, Node, UnreadablePlan, children, kind, nodes, ref
from shared.plans.evaluated import Context, Evaluated, column_of
from shared.plans.expressions import Columns, flow_of, id_of
from shared.plans.flow import COPY, NOTHING, Flow, Source
from shared.plans.places import NO_DATASET, places_of_leaf
from shared.plans.rules import RULES

MAX_PLANS = 200_000
MAX_SUBQUERIES = 2_000


@dataclass(slots=True)
class Evaluation:
    """Evaluates the plans of one document; `datasets` are all that its leaves read, `unknowns` what no rule knows."""

    document: Document
    datasets: dict[DatasetKey, dict[str, str]] = field(default_factory=dict)
    unknowns: Counter[str] = field(default_factory=Counter)
    _ctes: dict[int, Evaluated] = field(default_factory=dict)
    _subqueries: int = 0
    _open: set[int] = field(default_factory=set)

    def plan(self, index: int, outer: Columns | None = None) -> Evaluated:
        """One plan with all below it. Raises UnreadablePlan for references that lead nowhere or in a circle."""
        done: dict[int, Evaluated] = {}
        waiting = [index]
        entered: set[int] = set()
        while waiting:
            at = waiting[-1]
            if at in done:
                waiting.pop()
                continue
            node = self._node(at)
            missing = [each for each in _children(node) if each not in done]
            if not missing:
                done[at] = self._evaluate(node, done, outer or {})
                waiting.pop()
                continue
            if at in entered:
                raise UnreadablePlan("a plan refers to itself")
            entered.add(at)
            if len(waiting) > MAX_PLANS:
                raise UnreadablePlan("the plan is too large")
            waiting.extend(reversed(missing))
        return done[index]

    def subquery(self, index: int, outer: Columns) -> tuple[list[Flow], Flow]:
        """The columns and rows of a subquery's plan."""
        self._subqueries += 1
        if self._subqueries > MAX_SUBQUERIES:
            raise UnreadablePlan(f"the plan has more than {MAX_SUBQUERIES:,} subqueries")
        found = self.plan(index, outer)
        return [each.flow for each in found.columns], found.rows

    def unknown(self, what: str) -> None:
        """Count something that no rule knows."""
        self.unknowns[what] += 1

    def flow(self, node: Node, columns: Columns, outer: Columns) -> Flow:
        """The flow of an expression."""
        return flow_of(node, columns, self, outer)

    def _node(self, index: int) -> Node:
        if not 0 <= index < len(self.document.plans):
            raise UnreadablePlan(f"the plan refers to a plan {index} that it does not have")
        return self.document.plans[index]

    def _evaluate(self, node: Node, done: Mapping[int, Evaluated], outer: Columns) -> Evaluated:
        below = [done[each] for each in _children(node)]
        rule = RULES.get(kind(node))
        if rule:
            return rule(Context(evaluation=self, node=node, below=below, outer=outer))
        if not below:
            return self._leaf(node)
        self.unknown(kind(node))
        return below[0]

    def _leaf(self, node: Node) -> Evaluated:
        """A relation: its columns are those of the data sets that it reads."""
        output = [*nodes(node.get("output")), *nodes(node.get("dataCols")), *nodes(node.get("partitionCols"))]
        places = places_of_leaf(node) if kind(node) not in NO_DATASET else ()
        if not places and kind(node) not in NO_DATASET:
            self.unknown(f"{kind(node)} without a place")
        types = {str(each.get("name", "")): str(each.get("t", "")) for each in output}
        for place in places:
            self.datasets.setdefault(place, {}).update(types)
        here = frozenset({COPY})
        columns = [
            column_of(each, {Source(place, str(each.get("name", ""))): here for place in places}) for each in output
        ]
        return Evaluated(columns=tuple(columns))

    def of_frame(self, leaf: Node) -> Evaluated | None:
        """The plan behind a leaf that holds rows of an earlier execution; None where the document does not have it."""
        wanted = [id_of(each) for each in nodes(leaf.get("output"))]
        for frame in self.document.frames:
            index, ids = ref(frame.plan), {id_of(each) for each in frame.output}
            if index is not None and index not in self._open and wanted and ids.issuperset(wanted):
                self._open.add(index)  # a frame may pass on columns of the rows that it reads
                found = self.plan(index)
                self._open.discard(index)
                by_id = found.by_id
                columns = [column_of(each, by_id.get(id_of(each) or (), NOTHING)) for each in nodes(leaf.get("output"))]
                return Evaluated(columns=tuple(columns), rows=found.rows)
        return None

    def cte(self, number: int) -> Evaluated | None:
        """A query of a WITH clause, once it is evaluated."""
        return self._ctes.get(number)

    def define(self, number: int, found: Evaluated) -> None:
        """Keep a query of a WITH clause for its references."""
        self._ctes[number] = found


def _children(node: Node) -> tuple[int, ...]:
    """The plans below, in the order in which they are to be evaluated: a WITH clause before its query."""
    found = children(node)
    return (*found[1:], found[0]) if kind(node) == "WithCTE" else found
