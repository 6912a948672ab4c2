"""What is known of a plan once it is evaluated: the flow of its columns, and of its rows."""

import msgspec

from shared.plans.nodes.document import Id, Node, id_of
from shared.plans.nodes.flow import NOTHING, Flow
from shared.plans.nodes.text_writer import Text


class EvaluatedColumn(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A column of a plan's output; `text`: what it is made of, None for what another column of its name is."""

    id: Id
    name: str
    type: str
    flow: Flow
    text: Text | None = None


class Evaluated(msgspec.Struct, frozen=True, kw_only=True):
    """A plan's columns, and what decides about its rows."""

    columns: tuple[EvaluatedColumn, ...] = ()
    rows: Flow = NOTHING

    @property
    def by_id(self) -> dict[Id, Flow]:
        """The flows of the columns."""
        return {each.id: each.flow for each in self.columns}

    @property
    def texts(self) -> dict[Id, Text]:
        """What the columns are made of."""
        return {each.id: each.text for each in self.columns if each.text}


def column_of(attribute: Node, flow: Flow, text: Text | None = None) -> EvaluatedColumn:
    """A column by its attribute."""
    name, type_ = str(attribute.get("name", "")), str(attribute.get("t", ""))
    return EvaluatedColumn(id=id_of(attribute) or (), name=name, type=type_, flow=flow, text=text)
