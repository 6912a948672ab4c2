"""Rows of the classifications and terms that Throughline attached. Nothing else is ever removed.

A row is written before the catalog is called, so an interrupted command leaves nothing attached without a row.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from shared.storage.port import Row, Storage
from shared.storage_layout import ATTACHED, ATTACHED_CLASSIFICATION, ATTACHED_TERM, digest_of


class AttachedKind(StrEnum):
    """The kind of an attached mark. It is also the partition of its rows, so that a version without terms does not take
    one for a classification.
    """

    CLASSIFICATION = ATTACHED_CLASSIFICATION
    TERM = ATTACHED_TERM


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Mark:
    """A classification, or a term (TERM@GLOSSARY), of an entity: a column, or a data set."""

    kind: AttachedKind = AttachedKind.CLASSIFICATION
    name: str
    type: str
    qualified_name: str

    @property
    def key(self) -> tuple[str, str]:
        """What identifies the entity in the catalog: its type and qualified name."""
        return self.type, self.qualified_name

    @property
    def row_key(self) -> str:
        """The key of its row."""
        return digest_of(f"{self.name}\n{self.type}\n{self.qualified_name}".encode())


def attached(storage: Storage) -> frozenset[Mark]:
    """Everything that was attached, or was about to be. Raises StorageUnavailable."""
    return frozenset(
        Mark(
            kind=kind,
            name=str(row.values["name"]),
            type=str(row.values["type"]),
            qualified_name=str(row.values["qualified_name"]),
        )
        for kind in AttachedKind
        for row in storage.partition(ATTACHED, kind)
    )


def note_attached(storage: Storage, marks: Iterable[Mark]) -> None:
    """Write the rows of these marks. Raises StorageUnavailable."""
    storage.upsert_all(
        ATTACHED,
        [
            Row(
                partition=mark.kind,
                key=mark.row_key,
                values={"name": mark.name, "type": mark.type, "qualified_name": mark.qualified_name},
            )
            for mark in marks
        ],
    )


def forget_attached(storage: Storage, mark: Mark) -> None:
    """Delete the row of a mark that is removed. Raises StorageUnavailable."""
    storage.delete(ATTACHED, mark.kind, mark.row_key)
