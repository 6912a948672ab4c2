"""Giving a catalog the types that it lacks."""

from collections.abc import Sequence
from dataclasses import dataclass

from shared.atlas import Action, TypeChange, type_changes
from shared.catalog.port import Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What was lacking, and what is lacking still: types of others that differ, or what the catalog did not keep."""

    changes: Sequence[TypeChange]
    left: Sequence[TypeChange]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is lacking but what only others may change."""
        return all(each.action is Action.DIFFERS for each in self.left)


def apply_types(types: Types) -> Applied:
    """Create what is lacking, and add attributes to types that we made; others are left alone. Done again it changes
    nothing. Raises as the port does.
    """
    found = type_changes(types.held())
    for action, act in ((Action.CREATE, types.create), (Action.UPDATE, types.update)):
        definitions = [each.definition for each in found if each.action is action and each.definition]
        if definitions:
            act(definitions)
    return Applied(changes=found, left=type_changes(types.held()) if found else ())
