"""Create the types that a catalog lacks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from shared.atlas.types import TypeAction, TypeChange, type_changes
from shared.catalog.port import Types


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """The `changes` that were needed, and those that are `left`: types of others that differ, or changes that the
    catalog did not keep.
    """

    changes: Sequence[TypeChange]
    left: Sequence[TypeChange]

    @property
    def is_whole(self) -> bool:
        """Whether all changes that are left are to types of others."""
        return all(each.action is TypeAction.DIFFERS for each in self.left)


def apply_types(types: Types, rules: Mapping[str, tuple[str, ...]] = MappingProxyType({})) -> Applied:
    """Create the missing types, with those that the user's `rules` name, and add missing attributes to our own types;
    others are left alone. Safe to repeat. Raises as the port does.
    """
    found = type_changes(types.held(), rules)
    for action, act in ((TypeAction.CREATE, types.create), (TypeAction.UPDATE, types.update)):
        definitions = [each.definition for each in found if each.action is action and each.definition]
        if definitions:
            act(definitions)
    return Applied(changes=found, left=type_changes(types.held(), rules) if found else ())
