"""Rules that match nothing in the lineage: most often a misspelled name."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from shared.governance.masks import hides
from shared.governance.patterns import Selector, matching_columns, matching_datasets
from shared.governance.propagation import CatalogTags, origins_of
from shared.governance.rules import Mask, Rules
from shared.lineage.document import LineageDocument
from shared.rules_file.nearest import did_you_mean


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmatched:
    """A rule without an effect, with its table and line in the file."""

    table: str
    line: int
    text: str


def unmatched(document: LineageDocument, rules: Rules, catalog: CatalogTags | None = None) -> tuple[Unmatched, ...]:
    """The rules of a file that match no column or data set, in the file's order. `catalog`: the classifications that
    others set there; None: they were not read, so rules that ask for them are not judged.
    """
    found: list[tuple[str, int, str]] = []
    found += [
        ("tag", each.line, _about(document, each.where, tag=each.tag, classified_as=each.classified_as))
        for each in rules.tags
        if (catalog is not None or not each.classified_as) and not origins_of(document, each, catalog or {})
    ]
    found += [("mask", each.line, _mask(document, each)) for each in rules.masks if not _masks(document, each)]
    tables: tuple[tuple[str, Iterable[Any]], ...] = (
        ("declassify", rules.declassifications),
        ("term", rules.terms),
        ("policy", rules.policies),
    )
    found += [
        (table, each.line, _about(document, each.where))
        for table, many in tables
        for each in many
        if not (matching_columns(document, each.where) or _whole(document, each.where))
    ]
    found += [
        ("certified", each.line, _about(document, Selector(datasets=(pattern,))))
        for each in rules.certified
        for pattern in each.datasets
        if not matching_datasets(document, (pattern,))
    ]
    return tuple(
        Unmatched(table=table, line=line, text=text) for table, line, text in sorted(found, key=lambda at: at[1])
    )


def _whole(document: LineageDocument, where: Selector) -> frozenset[int]:
    """Data sets that are named without columns: they may have none."""
    return frozenset() if where.columns or where.types else matching_datasets(document, where.datasets)


def _masks(document: LineageDocument, mask: Mask) -> bool:
    columns = matching_columns(document, mask.where)
    if not mask.functions:
        return bool(columns)
    return any(
        edge.output in columns and hides(edge.description, mask.functions, document.columns[edge.input].name)
        for edge in document.edges
        if edge.description
    )


def _mask(document: LineageDocument, mask: Mask) -> str:
    if not mask.functions:
        return _about(document, mask.where)
    return f"no expression of an edge hides a column in {' or '.join(mask.functions)}"


def _about(document: LineageDocument, where: Selector, **others: str) -> str:
    words = list(_words(where, others))
    if where.datasets and not matching_datasets(document, where.datasets):
        hint = did_you_mean(where.datasets, (each.name for each in document.datasets))
        return f"no data set matches {' or '.join(where.datasets)}.{hint}"
    return f"no column has {' and '.join(words)}"


def _words(where: Selector, others: dict[str, str]) -> Iterator[str]:
    for key in ("datasets", "columns", "types"):
        if patterns := getattr(where, key):
            yield f"{key} {' or '.join(patterns)}"
    yield from (f"{key} {pattern}" for key, pattern in others.items() if pattern)
