"""Plan what to attach and remove, from what the rules give and what the catalog has, and carry the plan out: create
definitions and glossary terms, then attach in batches, then remove.

The classifications that others set in the catalog are read if a rules file asks for them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from itertools import groupby

from shared.atlas.columns import column_name, column_rule
from shared.catalog.port import AssetKey, Classifications, Classified, Terms, Types
from shared.classifying.attached import Attached, AttachedKind, Mark, attached, forget_attached, note_attached
from shared.errors import CatalogRefused, Misconfigured, Retry
from shared.governance.propagation import CatalogReading, CatalogTags, TagPropagation, propagate
from shared.governance.rules import DEFAULT_GLOSSARY, Rules, Term, matching_columns, matching_datasets
from shared.lineage.document import LineageDocument
from shared.rules_file import nearest
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

    file: str
    propagations: Mapping[str, TagPropagation] = field(default_factory=dict)
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
    may_attach = {
        mark: onto_scanned or _is_placed(classified[mark.kind], dataset) for mark, dataset in wanted_marks.items()
    }
    planned_marks = plan_of_marks(rules.file, may_attach, own_marks, classified, uncertain=unknown)
    return replace(planned_marks, propagations=propagations, tags=tags)


def plan_of_marks(
    file: str,
    may_attach: Mapping[Mark, bool],
    own_marks: Attached,
    classified: Mapping[AttachedKind, Mapping[AssetKey, Classified]],
    *,
    uncertain: Collection[Mark] = (),
    new: Collection[Mark] = (),
) -> ClassificationPlan:
    """Compare the marks that a file gives with what the catalog has. `may_attach`: these marks, and whether each may be
    attached: not onto what a scan found; `uncertain`: those that the file may give; `new`: those of entities that are
    created before.
    """
    file_marks = {mark for mark, files in own_marks.items() if file in files}
    attach: dict[Mark, str] = {}
    not_attached: dict[str, list[Mark]] = {"scanned": [], "absent": [], "others": [], "joined": []}
    for mark, is_open in sorted(may_attach.items()):
        entity = classified[mark.kind].get(mark.key)
        if entity is None and mark not in new:
            not_attached["absent"].append(mark)
        elif entity and mark.name in entity.names:
            if mark not in file_marks:
                not_attached["joined" if mark in own_marks else "others"].append(mark)
        elif is_open:
            attach[mark] = entity.guid if entity else ""
        else:
            not_attached["scanned"].append(mark)
    outdated = file_marks - may_attach.keys()
    ended = sorted(outdated.difference(uncertain))
    shared_marks = tuple(mark for mark in ended if len(own_marks[mark]) > 1)
    entities = {mark: classified[mark.kind].get(mark.key) for mark in ended if len(own_marks[mark]) == 1}
    return ClassificationPlan(
        file=file,
        attach=attach,
        detach={mark: entity.guid if entity and mark.name in entity.names else "" for mark, entity in entities.items()},
        kept=tuple(sorted(outdated.intersection(uncertain))),
        left=shared_marks,
        joined=tuple(not_attached["joined"]),
        scanned=tuple(not_attached["scanned"]),
        absent=tuple(not_attached["absent"]),
        others=tuple(not_attached["others"]),
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


def lacking_terms(terms: Terms, rules: Rules) -> tuple[str, ...]:
    """The terms of the rules that the catalog lacks (TERM@GLOSSARY), sorted. One call, none without terms.

    Raises Misconfigured if a glossary does not exist: people maintain glossaries, so a misspelled name must not create
    one. Only a catalog without any glossary gets its first one with the first term. Raises as the port does.
    """
    if not rules.terms:
        return ()
    glossaries = terms.glossaries()
    if mistakes := tuple(_mistakes(rules, glossaries)):
        lines = "\n".join(f"  {rules.place}:{line}: {problem}" for line, problem in mistakes)
        raise Misconfigured(f"No glossary term is attached, since a glossary does not exist:\n{lines}")
    return tuple(sorted({term.full_name for term in rules.terms if term.term not in glossaries.get(term.glossary, ())}))


def create_terms(terms: Terms, lacking: tuple[str, ...]) -> None:
    """Create these terms, and the first glossary if there is none. Raises as the port does."""
    by_glossary: dict[str, list[str]] = {}
    for name in lacking:
        term, _, glossary = name.partition("@")
        by_glossary.setdefault(glossary, []).append(term)
    if DEFAULT_GLOSSARY in by_glossary and not terms.glossaries():
        terms.create_glossary(DEFAULT_GLOSSARY)
    for glossary, names in sorted(by_glossary.items()):
        terms.create_terms(glossary, names)


def _mistakes(rules: Rules, glossaries: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    for term in rules.terms:
        if term.glossary in glossaries or (not glossaries and term.glossary == DEFAULT_GLOSSARY):
            continue
        near = nearest([term.glossary], glossaries)
        inventory = f"the catalog has {', '.join(sorted(glossaries))}" if glossaries else "the catalog has none"
        hint = f"Did you mean {term.term}@{near}?" if near else "Create it in the catalog, or name another"
        yield term.line, f"there is no glossary {term.glossary}; {inventory}. {hint}"


MAX_ENTITIES = 100
"""Of one call that attaches a classification."""
_ATTACHED_ALREADY = frozenset({"ATLAS-400-00-01A", "ATLAS-409-00-005"})
"""Atlas' codes for a classification, and for a relationship."""
_CATEGORY = "CLASSIFICATION"

Progress = Callable[[int], None]
"""Called with the number of classifications and terms that a step has attached or taken away."""


def define(types: Types, definitions: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Create the classifications that the catalog lacks, of pairs of name and description. Returns their names. Raises
    as the port does.
    """
    existing = {str(definition["name"]) for definition in types.held() if definition["category"] == _CATEGORY}
    lacking = {name: description for name, description in definitions if name not in existing}
    if lacking:
        types.create(
            [
                {
                    "category": _CATEGORY,
                    "name": name,
                    "description": description,
                    "typeVersion": "1.0",
                    "superTypes": [],
                    "attributeDefs": [],
                }
                for name, description in sorted(lacking.items())
            ]
        )
    return tuple(sorted(lacking))


def apply(
    plan: ClassificationPlan,
    catalog: Classifications,
    storage: Storage,
    progress: Progress = lambda _: None,
    *,
    terms: Terms,
) -> None:
    """Attach and remove what the plan says. After an interruption the next plan continues; a repeated plan makes no
    call. A term that another user assigns at the same time counts as ours: the catalog accepts it twice without an
    error. So does a classification if the answer to a try was lost: that try may have attached it. Raises as the ports
    do.
    """
    ports = {AttachedKind.CLASSIFICATION: catalog, AttachedKind.TERM: terms}
    note_attached(storage, plan.joined, plan.file)
    for (kind, name), marks in groupby(plan.attach, key=lambda mark: (mark.kind, mark.name)):
        for chunk in _chunks(list(marks)):
            note_attached(storage, chunk, plan.file)
            for mark in _others_marks(ports[kind], name, {mark: plan.attach[mark] for mark in chunk}):
                forget_attached(storage, mark, plan.file)
            progress(len(chunk))
    for mark, guid in plan.detach.items():
        if guid:
            ports[mark.kind].detach(mark.name, guid)
        forget_attached(storage, mark, plan.file)
        progress(1)
    for mark in plan.left:
        forget_attached(storage, mark, plan.file)


def _chunks(marks: Sequence[Mark]) -> Iterator[Sequence[Mark]]:
    for start in range(0, len(marks), MAX_ENTITIES):
        yield marks[start : start + MAX_ENTITIES]


def _others_marks(catalog: Classifications, name: str, guids: Mapping[Mark, str]) -> Iterator[Mark]:
    """Attach in one call; one by one if an entity has it already. That one is another user's, and not ours, unless a
    try of ours may have attached it.
    """
    together = _refusal(catalog, name, list(guids.values()))
    if together is None:
        return
    for mark, guid in guids.items():
        refusal = _refusal(catalog, name, [guid])
        if refusal and not (together.after_lost_try or refusal.after_lost_try):
            yield mark


def _refusal(catalog: Classifications, name: str, guids: Sequence[str]) -> CatalogRefused | None:
    """Attach in one call: the refusal because an entity has it already, None where it is attached. Raises others."""
    try:
        catalog.attach(name, guids)
    except CatalogRefused as error:
        if error.code not in _ATTACHED_ALREADY:
            raise
        return error
    return None
