"""The glossary terms that rules need, and which of them the catalog lacks."""

from collections.abc import Iterator, Mapping

from shared.catalog.port import Terms
from shared.errors import Misconfigured
from shared.governance.rules import DEFAULT_GLOSSARY, Rules
from shared.rules_file.nearest import nearest


def lacking_terms(terms: Terms, rules: Rules) -> tuple[str, ...]:
    """The terms of the rules that the catalog lacks (TERM@GLOSSARY), sorted. One call, none without terms.

    Raises Misconfigured if a glossary does not exist: people maintain glossaries, so a misspelled name must not create
    one. Only a catalog without any glossary gets its first one with the first term. Raises as the port does.
    """
    if not rules.terms:
        return ()
    held = terms.glossaries()
    if mistakes := tuple(_mistakes(rules, held)):
        lines = "\n".join(f"  {rules.place}:{line}: {what}" for line, what in mistakes)
        raise Misconfigured(f"No glossary term is attached, since a glossary does not exist:\n{lines}")
    return tuple(sorted({each.full_name for each in rules.terms if each.term not in held.get(each.glossary, ())}))


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


def _mistakes(rules: Rules, held: Mapping[str, object]) -> Iterator[tuple[int, str]]:
    for each in rules.terms:
        if each.glossary in held or (not held and each.glossary == DEFAULT_GLOSSARY):
            continue
        near = nearest([each.glossary], held)
        known = f"the catalog has {', '.join(sorted(held))}" if held else "the catalog has none"
        hint = f"Did you mean {each.term}@{near}?" if near else "Create it in the catalog, or name another"
        yield each.line, f"there is no glossary {each.glossary}; {known}. {hint}"
