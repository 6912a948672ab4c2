"""Rules without an effect: they match nothing, most often by a misspelled name, or have expired."""

from collections.abc import Iterator
from datetime import date

from shared.governance.masks import hides
from shared.governance.patterns import Selector, matching_columns, matching_datasets
from shared.governance.propagation import CatalogTags, origins_of
from shared.governance.rules import Mask, Rules
from shared.lineage.document import LineageDocument
from shared.rules_file.nearest import did_you_mean
from shared.rules_file.remark import Remark


def remarks(
    document: LineageDocument, rules: Rules, *, today: date, catalog: CatalogTags | None = None
) -> tuple[Remark, ...]:
    """The rules without an effect on this day, in the file's order. `catalog`: the classifications that others set
    there; None: not read, so rules that ask for them are not judged.
    """
    found = [*_unmatched(document, rules, catalog), *_expired(rules, today)]
    return tuple(
        Remark(line=line, text=f"[[{table}]] has no effect: {why}")
        for table, line, why in sorted(found, key=lambda each: each[1])
    )


def _unmatched(document: LineageDocument, rules: Rules, catalog: CatalogTags | None) -> Iterator[tuple[str, int, str]]:
    """The table, the line and the reason of each rule that matches nothing."""
    for tag in rules.tags:
        if (catalog is not None or not tag.classified_as) and not origins_of(document, tag, catalog or {}):
            yield "tag", tag.line, _about(document, tag.where, tag=tag.tag, classified_as=tag.classified_as)
    for mask in rules.masks:
        if not _masks(document, mask):
            yield "mask", mask.line, _mask(document, mask)
    tables = (("declassify", rules.declassifications), ("term", rules.terms), ("policy", rules.policies))
    named = [(table, each.line, each.where) for table, some in tables for each in some]
    named += [
        ("certified", each.line, Selector(datasets=(pattern,))) for each in rules.certified for pattern in each.datasets
    ]
    for table, line, where in named:
        if not (matching_columns(document, where) or _whole(document, where)):
            yield table, line, _about(document, where)


def _expired(rules: Rules, today: date) -> Iterator[tuple[str, int, str]]:
    for table, exceptions in (("mask", rules.masks), ("declassify", rules.declassifications)):
        for each in exceptions:
            if not each.approval.is_valid(today):
                yield table, each.line, f"it expired on {each.approval.expires}"


def _whole(document: LineageDocument, where: Selector) -> frozenset[int]:
    """Data sets that are named without columns: they match although they may have no columns."""
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
