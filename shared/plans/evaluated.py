"""What is known of a plan once it is evaluated: the flow of its columns, and of its rows."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from shared.plans.nodes.document import Node, kind, nodes
from shared.plans.nodes.expressions import Columns, Id, Subqueries, flow_of_named, id_of
from shared.plans.nodes.flow import COPY, Flow, Step, decides, through, united
from shared.plans.nodes.text_writer import Text, Texts
from shared.plans.nodes.texts import text_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a plan's output; `text`: what it is made of, None for what another column of its name is."""

    id: Id
    name: str
    type: str
    flow: Flow
    text: Text | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """A plan's columns, and what decides about its rows."""

    columns: tuple[Column, ...] = ()
    rows: Flow = field(default_factory=dict)

    @property
    def by_id(self) -> dict[Id, Flow]:
        """The flows of the columns."""
        return {each.id: each.flow for each in self.columns}

    @property
    def texts(self) -> dict[Id, Text]:
        """What the columns are made of."""
        return {each.id: each.text for each in self.columns if each.text}


def column_of(attribute: Node, flow: Flow, text: Text | None = None) -> Column:
    """A column by its attribute."""
    name, type_ = str(attribute.get("name", "")), str(attribute.get("t", ""))
    return Column(id=id_of(attribute) or (), name=name, type=type_, flow=flow, text=text)


def _text(node: Node, texts: Texts) -> Text | None:
    """What a named expression is made of."""
    return texts.get(id_of(node) or ()) if kind(node) == "AttributeReference" else text_of(node, texts)


class Plans(Subqueries, Protocol):
    """The evaluation of a document, as rules use it."""

    def plan(self, index: int, outer: Columns | None = None) -> Evaluated:
        """One plan with all below it."""

    def flow(self, node: Node, columns: Columns, outer: Columns) -> Flow:
        """The flow of an expression."""

    def of_frame(self, leaf: Node) -> Evaluated | None:
        """The plan behind a leaf that holds rows of an earlier execution."""

    def cte(self, number: int) -> Evaluated | None:
        """A query of a WITH clause, once it is evaluated."""

    def define(self, number: int, found: Evaluated) -> None:
        """Keep a query of a WITH clause for its references."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """A plan, and what its rule may use."""

    evaluation: Plans
    node: Node
    below: Sequence[Evaluated]
    outer: Columns

    @property
    def columns(self) -> dict[Id, Flow]:
        """All columns of the plans below."""
        found: dict[Id, Flow] = {}
        for each in self.below:
            found.update(each.by_id)
        return found

    @property
    def texts(self) -> dict[Id, Text]:
        """What all columns of the plans below are made of."""
        found: dict[Id, Text] = {}
        for each in self.below:
            found.update(each.texts)
        return found

    @property
    def rows(self) -> Flow:
        """What decides about the rows of the plans below."""
        return united(each.rows for each in self.below)

    def flows(self, name: str, step: Step = COPY, columns: Columns | None = None) -> list[Flow]:
        """The flows of the expressions in a field, each after `step`."""
        known = self.columns if columns is None else columns
        return [through(step, self.evaluation.flow(each, known, self.outer)) for each in nodes(self.node.get(name))]

    def condition(self, name: str, subtype: str) -> Flow:
        """The columns that the expressions in the field `name` use as conditions on rows, each marked with `subtype`
        (a join, a filter …).
        """
        return united(self.flows(name, decides(subtype)))

    def named(self, name: str) -> tuple[Column, ...]:
        """The named expressions in a field as columns."""
        known, texts = self.columns, self.texts
        return tuple(
            column_of(each, flow_of_named(each, known, self.evaluation, self.outer), _text(each, texts))
            for each in nodes(self.node.get(name))
        )

    def output(self, name: str, flow: Flow) -> tuple[Column, ...]:
        """The attributes in a field, each with the same flow."""
        return tuple(column_of(each, flow) for each in nodes(self.node.get(name)))
