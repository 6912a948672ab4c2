"""The glossary terms of promised assets and of their columns.

They are attached and recorded as those of `classify apply` are (`shared/classifying/`): what others attached stays, and
only what an earlier apply of the same contract attached is taken away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import Terms
from shared.classifying.attached import Attached, AttachedKind, Mark, attached
from shared.classifying.planning import ClassificationPlan, lacking_terms, plan_of_marks
from shared.errors import Misconfigured
from shared.governance.rules import Rules, Selector, Term
from shared.records.asset_record import AssetRecord
from shared.storage.port import Storage
from throughline.products.naming import PromisedAsset


def has_terms(promises: Iterable[PromisedAsset]) -> bool:
    """Whether one of these tables, or one of their columns, has a term."""
    return any(promised.table.terms or any(column.terms for column in promised.table.columns) for promised in promises)


def new_terms(port: Terms, promises: Sequence[PromisedAsset]) -> tuple[str, ...]:
    """The terms that the catalog's glossaries lack. Raises Misconfigured with all that are of no glossary."""
    lacking: set[str] = set()
    problems: list[str] = []
    for place, terms in _by_place(promises).items():
        try:
            lacking |= set(lacking_terms(port, Rules(place=place, terms=terms)))
        except Misconfigured as error:
            problems.append(str(error))
    if problems:
        raise Misconfigured("\n".join(problems))
    return tuple(sorted(lacking))


def _by_place(promises: Iterable[PromisedAsset]) -> Mapping[str, tuple[Term, ...]]:
    by_place: dict[str, tuple[Term, ...]] = {}
    for promised in promises:
        parts = [
            (promised.table.terms, promised.table.line),
            *((column.terms, column.line) for column in promised.table.columns),
        ]
        terms = tuple(_term(name, line) for names, line in parts for name in names)
        by_place[promised.contract.place] = (*by_place.get(promised.contract.place, ()), *terms)
    return by_place


def _term(name: str, line: int = 0) -> Term:
    return Term(name=name, where=Selector(), line=line)


def planned_terms(
    port: Terms,
    storage: Storage,
    promises: Sequence[PromisedAsset],
    records: Iterable[AssetRecord],
    *,
    onto_scanned: bool,
) -> tuple[ClassificationPlan, ...]:
    """For each contract what its terms change. `records`: of the promised assets. Reads in bulk, and writes nothing."""
    own_marks = attached(storage)
    by_own = {record.own: record for record in records}
    by_source: dict[str, list[PromisedAsset]] = {}
    for promised in promises:
        by_source.setdefault(promised.source, []).append(promised)
    return tuple(
        _planned(port, own_marks, f"contract {source}", source_marks, by_own, onto_scanned=onto_scanned)
        for source, source_marks in sorted(by_source.items())
    )


def _planned(
    port: Terms,
    own_marks: Attached,
    file: str,
    promises: Iterable[PromisedAsset],
    records: Mapping[tuple[str, str], AssetRecord],
    *,
    onto_scanned: bool,
) -> ClassificationPlan:
    records_by_mark = {mark: record for promised in promises for mark, record in _marks(promised, records)}
    keys = {mark.key for mark in records_by_mark} | {mark.key for mark, files in own_marks.items() if file in files}
    return plan_of_marks(
        file,
        {mark: onto_scanned or not record.scanned for mark, record in records_by_mark.items()},
        own_marks,
        {AttachedKind.TERM: port.classified(sorted(keys)) if keys else {}},
        new=[mark for mark, record in records_by_mark.items() if not record.guid],
    )


def _marks(
    promised: PromisedAsset, records: Mapping[tuple[str, str], AssetRecord]
) -> Iterator[tuple[Mark, AssetRecord]]:
    """The terms of a table and its columns, as marks of entities of the catalog."""
    record = records.get(promised.asset.key)
    if record is None:
        return
    type_, name = record.key
    for term in promised.table.terms:
        yield _mark(term, type_, name), record
    for column in promised.table.columns:
        for term in column.terms:
            yield _mark(term, column_rule(type_).type, column_name(type_, name, column.name)), record


def _mark(term: str, type_: str, qualified_name: str) -> Mark:
    return Mark(kind=AttachedKind.TERM, name=_term(term).full_name, type=type_, qualified_name=qualified_name)
