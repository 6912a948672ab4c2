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
    here = document.columns[column]
    dataset = document.datasets[here.dataset]
    return column_rule(dataset.type).type, column_name(dataset.type, dataset.qualified_name, here.name)


def dataset_key(document: LineageDocument, dataset: int) -> AssetKey:
    """Type and qualified name of a data set in the catalog."""
    here = document.datasets[dataset]
    return here.type, here.qualified_name


def catalog_tags(
    document: LineageDocument, rules: Rules, catalog: Classifications, ours: Iterable[Mark]
) -> CatalogTags:
    """Classifications that others attached to columns that the rules ask about (`classified_as`)."""
    asked = {number for rule in rules.tags if rule.classified_as for number in matching_columns(document, rule.where)}
    keys = {number: column_key(document, number) for number in sorted(asked)}
    held = catalog.classified(dict.fromkeys(keys.values())) if keys else {}
    return {
        number: held[key].names
        - {mark.name for mark in ours if mark.kind is AttachedKind.CLASSIFICATION and mark.key == key}
        for number, key in keys.items()
        if key in held
    }


def plan(
    document: LineageDocument,
    rules: Rules,
    catalog: Classifications,
    ours: Attached,
    *,
    terms: Terms,
    today: date,
    onto_scanned: bool,
) -> ClassificationPlan:
    """Compare what the rules give with what the catalog has, classifications and terms. `ours`: the rows of earlier
    applies, of this rules file and of others: what only others attached stays. Reads the catalog in bulk, and writes
    nothing. Raises as the ports do.
    """
    tags = catalog_tags(document, rules, catalog, ours)
    propagations = propagate(document, rules, today=today, catalog=tags)
    wanted = _wanted(document, rules, propagations)
    unknown = {
        _mark(name, column_key(document, number)) for name, each in propagations.items() for number in each.unknown
    }
    mine = {mark for mark, files in ours.items() if rules.file in files}
    held: dict[AttachedKind, Mapping[AssetKey, Classified]] = {}
    for kind, port in ((AttachedKind.CLASSIFICATION, catalog), (AttachedKind.TERM, terms)):
        keys = {each.key for each in (*wanted, *mine) if each.kind is kind}
        keys |= {dataset for mark, dataset in wanted.items() if mark.kind is kind}
        held[kind] = port.classified(sorted(keys)) if keys else {}
    attach: dict[Mark, str] = {}
    left: dict[str, list[Mark]] = {"scanned": [], "absent": [], "others": [], "joined": []}
    for mark, dataset in sorted(wanted.items()):
        found = held[mark.kind].get(mark.key)
        if found is None:
            left["absent"].append(mark)
        elif mark.name in found.names:
            if mark not in mine:
                left["joined" if mark in ours else "others"].append(mark)
        elif onto_scanned or _is_placed(held[mark.kind], dataset):
            attach[mark] = found.guid
        else:
            left["scanned"].append(mark)
    kept = sorted(mark for mark in mine if mark in unknown and mark not in wanted)
    gone = sorted(mark for mark in mine if mark not in wanted and mark not in unknown)
    return ClassificationPlan(
        propagations=propagations,
        file=rules.file,
        attach=attach,
        detach={mark: _attached_to(held[mark.kind].get(mark.key), mark.name) for mark in gone if len(ours[mark]) == 1},
        kept=tuple(kept),
        left=tuple(mark for mark in gone if len(ours[mark]) > 1),
        tags=tags,
        **{name: tuple(marks) for name, marks in left.items()},
    )


def _mark(name: str, key: AssetKey, kind: AttachedKind = AttachedKind.CLASSIFICATION) -> Mark:
    return Mark(kind=kind, name=name, type=key[0], qualified_name=key[1])


def _wanted(
    document: LineageDocument, rules: Rules, propagations: Mapping[str, TagPropagation]
) -> dict[Mark, AssetKey]:
    """The marks that the rules give, each with its data set."""
    found = {
        _mark(name, column_key(document, number)): dataset_key(document, document.columns[number].dataset)
        for name, each in propagations.items()
        for number in each.tagged
    }
    for each in rules.certified:
        for number in matching_datasets(document, each.datasets):
            key = dataset_key(document, number)
            found[_mark(CERTIFIED, key)] = key
    for term in rules.terms:
        for key, dataset in _termed(document, term):
            found[_mark(term.full_name, key, AttachedKind.TERM)] = dataset
    return found


def _termed(document: LineageDocument, term: Term) -> Iterator[tuple[AssetKey, AssetKey]]:
    """The entities to which a rule gives a term, each with its data set."""
    if term.of_datasets:
        for number in matching_datasets(document, term.where.datasets):
            yield dataset_key(document, number), dataset_key(document, number)
    else:
        for number in matching_columns(document, term.where):
            yield column_key(document, number), dataset_key(document, document.columns[number].dataset)


def _is_placed(held: Mapping[AssetKey, Classified], dataset: AssetKey) -> bool:
    found = held.get(dataset)
    return found is not None and found.placed


def _attached_to(found: Classified | None, name: str) -> str:
    """The guid of an entity that has the classification; empty if it has it no longer."""
    return found.guid if found is not None and name in found.names else ""


def definitions(rules: Rules) -> Iterable[tuple[str, str]]:
    """The classifications that the catalog needs, each with its description."""
    described = {each.name: each.description for each in rules.classifications}
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
