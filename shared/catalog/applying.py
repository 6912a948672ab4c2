"""Giving a catalog the types that it lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shared.atlas.types import TypeAction, TypeChange, type_changes
from shared.catalog.port import Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What was lacking, and what is lacking still: types of others that differ, or what the catalog did not keep."""

    changes: Sequence[TypeChange]
    left: Sequence[TypeChange]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is lacking but what only others may change."""
        return all(each.action is TypeAction.DIFFERS for each in self.left)


def apply_types(types: Types, rules: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Applied:
    """Create what is lacking, also of the types that the user's `rules` name, and add attributes to types that we made;
    others are left alone. Done again it changes nothing. Raises as the port does.
    """
    found = type_changes(types.held(), rules)
    for action, act in ((TypeAction.CREATE, types.create), (TypeAction.UPDATE, types.update)):
        definitions = [each.definition for each in found if each.action is action and each.definition]
        if definitions:
            act(definitions)
    return Applied(changes=found, left=type_changes(types.held(), rules) if found else ())
