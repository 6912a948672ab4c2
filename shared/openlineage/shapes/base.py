"""The base of the wire types."""

from msgspec import Struct


class Wire(Struct, rename="camel", frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """Base of all: camelCase on the wire. `gc=False`, because JSON values have no reference cycles."""
