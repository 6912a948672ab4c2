"""Types that the catalog lacks, for `doctor` and `explain --look`: told before anything is refused."""

from collections.abc import Iterator

from cli.trial import Step
from shared.atlas import Action, TypeChange, type_changes
from shared.bootstrap import Worker

_SHOWN = 5
_REFUSED = "catalog refuses "


def check_types(parts: Worker) -> Iterator[Step]:
    """One step: whether the catalog has every type that lineage needs, those of the user's rules included. None where
    the catalog has no types to ask for. Raises CatalogUnavailable and CatalogRefused.
    """
    if parts.types is None:
        return
    found = type_changes(parts.types.held(), parts.names.rules_by_type)
    shown = "; ".join(in_words(each) for each in found[:_SHOWN]) + ("; …" if len(found) > _SHOWN else "")
    yield Step(
        name="types",
        good=not found,
        found=shown or "the catalog has all types that lineage needs",
        advice=_ADVICE[any(each.action is Action.DIFFERS for each in found)] if found else "",
    )


_ADVICE = {
    False: "until then it refuses what is named so. `throughline types apply` creates them; where a rule of the file of"
    " names has the wrong type, correct the rule",
    True: "`throughline types plan` lists all. A type of somebody else is never changed: name another type in the rule",
}


def type_problem(parts: Worker, type_name: str) -> TypeChange | None:
    """What keeps the catalog from taking a data set of this type; None where nothing does. One call to the catalog."""
    if parts.types is None:
        return None
    found = type_changes(parts.types.held(), parts.names.rules_by_type)
    return next((each for each in found if each.name == type_name), None)


def in_words(change: TypeChange) -> str:
    """What is wrong with a type, and which rule of the user names it."""
    named = f", named by the rule {', '.join(change.rules)}" if change.rules else ""
    if change.action is Action.CREATE:
        return f"the catalog lacks the type {change.name}{named}"
    return f"the catalog's type {change.name}{named} {', '.join(change.what)}"


def mend(change: TypeChange) -> str:
    """The command or the change that mends it."""
    if change.action is Action.DIFFERS:
        return "name another type in the rule: a type of somebody else is never changed"
    return "`throughline types apply` creates it; or correct the type in the rule"


def error_step(sentence: str) -> Step | None:
    """The step for one of the last errors that `status` shows; None for what is no error of the catalog."""
    if sentence.startswith(_REFUSED):
        advice = "mend what it says; until then it is refused again, ever less often (docs/recovery.md)"
        return Step(name="refused", good=False, found=sentence, advice=advice)
    if sentence.startswith("catalog"):
        return Step(name="catalog", good=False, found=sentence, advice="it is tried again without your help")
    return None
