"""Plan what to attach and remove, from what the rules give and what the catalog has.

The classifications that others set in the catalog are read if a rules file asks for them.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import AssetKey, Classifications, Classified, Terms
from shared.classifying.attached import Attached, AttachedKind, Mark, attached
from shared.errors import CatalogRefused, Retry
from shared.governance.propagation import CatalogReading, CatalogTags, TagPropagation, propagate
from shared.governance.rules import Rules, Term, matching_columns, matching_datasets
from shared.lineage.document import LineageDocument
from shared.storage.port import Storage

CERTIFIED = "Certified"
"""The classification of data sets that somebody vouches for (`certified` in the rules file)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassificationPlan:
    """The changes of an apply, sorted.

    - `file`: the rules file, by the name under which what it attaches is on record.
    - `attach`, `detach`: with the guids of the entities; an empty guid: the entity is gone.
    - `joined`: another rules file has attached it, and this one now gives it too. `left`: this one no longer gives it,
      another one does. Neither changes the catalog.
    - `scanned`: not attached, because a scan found the data set. `absent`: the catalog lacks the entity.
    - `others`: attached by others. `kept`: ours stays, because it is not known whether the value still arrives.
    - `tags`: the classifications of others that the rules ask about.
    """

    propagations: Mapping[str, TagPropagation]
    file: str = ""
    attach: Mapping[Mark, str] = field(default_factory=dict)
    detach: Mapping[Mark, str] = field(default_factory=dict)
    joined: tuple[Mark, ...] = ()
    left: tuple[Mark, ...] = ()
    scanned: tuple[Mark, ...] = ()
    absent: tuple[Mark, ...] = ()
    others: tuple[Mark, ...] = ()
    kept: tuple[Mark, ...] = ()
    tags: CatalogTags = field(default_factory=dict)

    @property
    def has_changes(self) -> bool:
        """Whether an apply would change something."""
        return bool(self.attach or self.detach)


def column_key(document: LineageDocument, column: int) -> AssetKey:
    """Type and qualified name of a column in the catalog."""
    fact = document.columns[column]
    dataset = document.datasets[fact.dataset]
    return column_rule(dataset.type).type, column_name(dataset.type, dataset.qualified_name, fact.name)


def dataset_key(document: LineageDocument, dataset: int) -> AssetKey:
    """Type and qualified name of a data set in the catalog."""
    fact = document.datasets[dataset]
    return fact.type, fact.qualified_name


def catalog_tags(
    document: LineageDocument, rules: Rules, catalog: Classifications, own_marks: Iterable[Mark]
) -> CatalogTags:
    """Classifications that others attached to columns that the rules ask about (`classified_as`)."""
    columns = {number for rule in rules.tags if rule.classified_as for number in matching_columns(document, rule.where)}
    keys = {number: column_key(document, number) for number in sorted(columns)}
    classified = catalog.classified(dict.fromkeys(keys.values())) if keys else {}
    return {
        number: classified[key].names
        - {mark.name for mark in own_marks if mark.kind is AttachedKind.CLASSIFICATION and mark.key == key}
        for number, key in keys.items()
        if key in classified
    }


def plan(
    document: LineageDocument,
    rules: Rules,
    catalog: Classifications,
    own_marks: Attached,
    *,
    terms: Terms,
    today: date,
    onto_scanned: bool,
) -> ClassificationPlan:
    """Compare what the rules give with what the catalog has, classifications and terms. `own_marks`: the rows of
    earlier applies, of this rules file and of others: what only others attached stays. Reads the catalog in bulk, and
    writes nothing. Raises as the ports do.
    """
    tags = catalog_tags(document, rules, catalog, own_marks)
    propagations = propagate(document, rules, today=today, catalog=tags)
    wanted_marks = _wanted(document, rules, propagations)
    unknown = {
        _mark(name, column_key(document, number))
        for name, propagation in propagations.items()
        for number in propagation.unknown
    }
    file_marks = {mark for mark, files in own_marks.items() if rules.file in files}
    classified: dict[AttachedKind, Mapping[AssetKey, Classified]] = {}
    for kind, port in ((AttachedKind.CLASSIFICATION, catalog), (AttachedKind.TERM, terms)):
        keys = {mark.key for mark in (*wanted_marks, *file_marks) if mark.kind is kind}
        keys |= {dataset for mark, dataset in wanted_marks.items() if mark.kind is kind}
        classified[kind] = port.classified(sorted(keys)) if keys else {}
    attach: dict[Mark, str] = {}
    not_attached: dict[str, list[Mark]] = {"scanned": [], "absent": [], "others": [], "joined": []}
    for mark, dataset in sorted(wanted_marks.items()):
        entity = classified[mark.kind].get(mark.key)
        if entity is None:
            not_attached["absent"].append(mark)
        elif mark.name in entity.names:
            if mark not in file_marks:
                not_attached["joined" if mark in own_marks else "others"].append(mark)
        elif onto_scanned or _is_placed(classified[mark.kind], dataset):
            attach[mark] = entity.guid
        else:
            not_attached["scanned"].append(mark)
    uncertain = sorted(mark for mark in file_marks if mark in unknown and mark not in wanted_marks)
    detach, left = taken_away(file_marks - wanted_marks.keys() - unknown, own_marks, classified)
    return ClassificationPlan(
        propagations=propagations,
        file=rules.file,
        attach=attach,
        detach=detach,
        kept=tuple(uncertain),
        left=left,
        tags=tags,
        **{name: tuple(marks) for name, marks in not_attached.items()},
    )


def _mark(name: str, key: AssetKey, kind: AttachedKind = AttachedKind.CLASSIFICATION) -> Mark:
    return Mark(kind=kind, name=name, type=key[0], qualified_name=key[1])


def _wanted(
    document: LineageDocument, rules: Rules, propagations: Mapping[str, TagPropagation]
) -> dict[Mark, AssetKey]:
    """The marks that the rules give, each with its data set."""
    marks = {
        _mark(name, column_key(document, number)): dataset_key(document, document.columns[number].dataset)
        for name, propagation in propagations.items()
        for number in propagation.tagged
    }
    for certificate in rules.certified:
        for number in matching_datasets(document, certificate.datasets):
            key = dataset_key(document, number)
            marks[_mark(CERTIFIED, key)] = key
    for term in rules.terms:
        for key, dataset in _termed(document, term):
            marks[_mark(term.full_name, key, AttachedKind.TERM)] = dataset
    return marks


def _termed(document: LineageDocument, term: Term) -> Iterator[tuple[AssetKey, AssetKey]]:
    """The entities to which a rule gives a term, each with its data set."""
    if term.of_datasets:
        for number in matching_datasets(document, term.where.datasets):
            yield dataset_key(document, number), dataset_key(document, number)
    else:
        for number in matching_columns(document, term.where):
            yield column_key(document, number), dataset_key(document, document.columns[number].dataset)


def _is_placed(classified: Mapping[AssetKey, Classified], dataset: AssetKey) -> bool:
    entity = classified.get(dataset)
    return entity is not None and entity.placed


def taken_away(
    outdated: Iterable[Mark], own_marks: Attached, classified: Mapping[AttachedKind, Mapping[AssetKey, Classified]]
) -> tuple[dict[Mark, str], tuple[Mark, ...]]:
    """Of the marks that a file gives no longer: those to be removed, with the guids of the entities that have them, and
    those that another file still gives.
    """
    detach: dict[Mark, str] = {}
    left: list[Mark] = []
    for mark in sorted(outdated):
        entity = classified[mark.kind].get(mark.key)
        if len(own_marks[mark]) > 1:
            left.append(mark)
        else:
            detach[mark] = entity.guid if entity and mark.name in entity.names else ""
    return detach, tuple(left)


def definitions(rules: Rules) -> Iterable[tuple[str, str]]:
    """The classifications that the catalog needs, each with its description."""
    described = {classification.name: classification.description for classification in rules.classifications}
    for name in rules.names:
        yield name, described.get(name, "")
    if rules.certified:
        yield CERTIFIED, "Somebody vouches for this data set"


NO_CATALOG = CatalogReading(why="no catalog is configured")


def reading_of(
    document: LineageDocument, rules: Rules, catalog: Classifications | None, storage: Storage
) -> CatalogReading:
    """Read them in bulk, without those that we attached. No call if no rule asks. A refusal of the catalog gives a
    reading without tags. Raises CatalogUnavailable and StorageUnavailable.
    """
    if not rules.asks_catalog:
        return CatalogReading(tags={})
    if catalog is None:
        return NO_CATALOG
    try:
        return CatalogReading(tags=catalog_tags(document, rules, catalog, attached(storage)))
    except CatalogRefused as error:
        return CatalogReading(why=str(error))


def reading_if_there(
    document: LineageDocument, rules: Rules, catalog: Classifications | None, storage: Storage
) -> CatalogReading:
    """The same for callers that continue without tags where catalog or storage do not answer."""
    try:
        return reading_of(document, rules, catalog, storage)
    except Retry as error:
        return CatalogReading(why=str(error))
