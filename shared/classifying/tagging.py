"""Attached classifications as tags of the document of lineage, for everybody who reads it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import structs

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import AssetKey
from shared.classifying.attached import AttachedKind, Mark
from shared.lineage.document import LineageDocument, Tag

Classified = Mapping[AssetKey, frozenset[str]]
"""The names of classifications by the entity that has them: a column, or a data set."""


def classified_entities(marks: Iterable[Mark]) -> Classified:
    """The classifications among these marks; terms are none."""
    found: defaultdict[AssetKey, set[str]] = defaultdict(set)
    for mark in marks:
        if mark.kind is AttachedKind.CLASSIFICATION:
            found[mark.key].add(mark.name)
    return {key: frozenset(names) for key, names in found.items()}


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
        for number, each in enumerate(columns)
        if each.name
        for name in classifications_of(
            classified, datasets[each.dataset].type, datasets[each.dataset].qualified_name, each.name
        )
    }
    return structs.replace(
        document,
        tags=tuple(sorted({*document.tags, *tags})),
        datasets=tuple(
            structs.replace(each, tags=tuple(sorted({*each.tags, *names})))
            if (names := classified.get((each.type, each.qualified_name)))
            else each
            for each in datasets
        ),
    )
