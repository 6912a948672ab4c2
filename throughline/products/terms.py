"""The glossary terms of promised assets and of their columns.

They are attached and recorded as those of `classify apply` are (`shared/classifying/`): what others attached stays, and
only what an earlier apply of the same contract attached is taken away.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import Terms
from shared.classifying.attached import Attached, AttachedKind, Mark, attached
from shared.classifying.planning import ClassificationPlan, lacking_terms, taken_away
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
    pairs = [(mark, record) for promised in promises for mark, record in _marks(promised, records)]
    file_marks = {mark for mark, files in own_marks.items() if file in files and mark.kind is AttachedKind.TERM}
    keys = {mark.key for mark, _ in pairs} | {mark.key for mark in file_marks}
    classified = port.classified(sorted(keys)) if keys else {}
    attach: dict[Mark, str] = {}
    marks_by_state: dict[str, list[Mark]] = {"joined": [], "others": [], "scanned": [], "absent": []}
    for mark, record in sorted(pairs, key=lambda pair: pair[0]):
        entity = classified.get(mark.key)
        if entity is not None and mark.name in entity.names:
            if mark not in file_marks:
                marks_by_state["joined" if mark in own_marks else "others"].append(mark)
        elif record.scanned and not onto_scanned:
            marks_by_state["scanned"].append(mark)
        elif entity is not None or not record.guid:  # what is created first has it then
            attach[mark] = entity.guid if entity else ""
        else:
            marks_by_state["absent"].append(mark)
    outdated = file_marks - {mark for mark, _ in pairs}
    detach, still_given = taken_away(outdated, own_marks, {AttachedKind.TERM: classified})
    return ClassificationPlan(
        propagations={},
        file=file,
        attach=attach,
        detach=detach,
        left=still_given,
        joined=tuple(marks_by_state["joined"]),
        others=tuple(marks_by_state["others"]),
        scanned=tuple(marks_by_state["scanned"]),
        absent=tuple(marks_by_state["absent"]),
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
