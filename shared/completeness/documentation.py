"""What a catalog holds of a data set for people."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogDocumentation:
    """The documentation of a data set in a catalog.

    `described` and `owned`: it has a description, and an owner. `placed`: it is our own placeholder. The placeholder's
    note is no description; a description that events declare follows the note. `tagged`: it or one of its columns has a
    classification or a label. `columns` and `described_columns` are counts.
    """

    described: bool = False
    placed: bool = False
    owned: bool = False
    tagged: bool = False
    columns: int = 0
    described_columns: int = 0
