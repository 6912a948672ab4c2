"""The classifications and terms that Throughline attached, and tags made of them.

Nothing else is ever removed. A row is written before the catalog is called, so an interrupted command leaves nothing
attached without a row. There is a row for each rules file that gives a mark: the mark is removed with the last of
them.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from msgspec import structs

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import AssetKey
from shared.lineage.document import LineageDocument, Tag
from shared.storage.port import Row, Storage, upsert_all
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

    def row_key(self, file: str) -> str:
        """The key of its row for a rules file."""
        return digest_of(f"{self.name}\n{self.type}\n{self.qualified_name}\n{file}".encode())


Attached = Mapping[Mark, frozenset[str]]
"""Marks, each with the names of the rules files that give it."""


def attached(storage: Storage) -> Attached:
    """Everything that was attached, or was about to be. Raises StorageUnavailable."""
    files_by_mark: defaultdict[Mark, set[str]] = defaultdict(set)
    for kind in AttachedKind:
        for row in storage.partition(ATTACHED, kind):
            name, entity_type, qualified_name, file = (str(row.values.get(cell, "")) for cell in _CELLS)
            files_by_mark[Mark(kind=kind, name=name, type=entity_type, qualified_name=qualified_name)].add(file)
    return {mark: frozenset(files) for mark, files in files_by_mark.items()}


_CELLS = ("name", "type", "qualified_name", "file")


def note_attached(storage: Storage, marks: Iterable[Mark], file: str) -> None:
    """Write the rows of these marks for a rules file. Raises StorageUnavailable."""
    upsert_all(
        storage,
        ATTACHED,
        [
            Row(
                partition=mark.kind,
                key=mark.row_key(file),
                values=dict(zip(_CELLS, (mark.name, mark.type, mark.qualified_name, file), strict=True)),
            )
            for mark in marks
        ],
    )


def forget_attached(storage: Storage, mark: Mark, file: str) -> None:
    """Delete the row of a mark that this rules file no longer gives. Raises StorageUnavailable."""
    storage.delete(ATTACHED, mark.kind, mark.row_key(file))


Classified = Mapping[AssetKey, frozenset[str]]
"""The names of classifications by the entity that has them: a column, or a data set."""


def classified_entities(marks: Iterable[Mark]) -> Classified:
    """The classifications among these marks; terms are none."""
    names_by_key: defaultdict[AssetKey, set[str]] = defaultdict(set)
    for mark in marks:
        if mark.kind is AttachedKind.CLASSIFICATION:
            names_by_key[mark.key].add(mark.name)
    return {key: frozenset(names) for key, names in names_by_key.items()}


def classifications_of(classified: Classified, asset_type: str, dataset: str, column: str) -> frozenset[str]:
    """The classifications of a column, by the type and qualified name of its data set."""
    key = column_rule(asset_type).type, column_name(asset_type, dataset, column)
    return classified.get(key, frozenset())


def with_classifications(document: LineageDocument, marks: Iterable[Mark]) -> LineageDocument:
    """The document with attached classifications as further tags of its columns and data sets."""
    classified = classified_entities(marks)
    if not classified:
        return document
    datasets, columns = document.datasets, document.columns
    tags = {
        Tag(number, name)
        for number, column in enumerate(columns)
        if column.name
        for name in classifications_of(
            classified, datasets[column.dataset].type, datasets[column.dataset].qualified_name, column.name
        )
    }
    return structs.replace(
        document,
        tags=tuple(sorted({*document.tags, *tags})),
        datasets=tuple(
            structs.replace(dataset, tags=tuple(sorted({*dataset.tags, *names})))
            if (names := classified.get((dataset.type, dataset.qualified_name)))
            else dataset
            for dataset in datasets
        ),
    )
