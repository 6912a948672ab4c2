"""Carry out a plan: create definitions and glossary terms, then attach in batches, then remove."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

from shared.catalog.port import Classifications, Terms, Types
from shared.classifying.attached import AttachedKind, Mark, forget_attached, note_attached
from shared.classifying.planning import ClassificationPlan
from shared.errors import CatalogRefused, Misconfigured
from shared.governance.rules import DEFAULT_GLOSSARY, Rules
from shared.rules_file.reading import nearest
from shared.storage.port import Storage


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
