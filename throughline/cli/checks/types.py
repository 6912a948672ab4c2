"""Types that the catalog lacks, for `doctor` and `explain --look`: reported before a write is refused."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from shared.atlas.types import UNCONFIRMED, TypeAction, TypeChange, type_changes
from shared.bootstrap import Worker
from shared.naming.names import Names
from throughline.cli.checks.findings import CheckResult, bad, good

_SHOWN = 5
_REFUSED = "catalog refuses "


_SUBJECT = "catalog types"


def check_types(parts: Worker) -> Iterator[CheckResult]:
    """One finding: whether the catalog has every type that lineage needs, those of naming rules included. None
    where the catalog has no types to ask for. Raises CatalogUnavailable and CatalogRefused.
    """
    if parts.types is None:
        return
    changes = [
        change
        for change in type_changes(parts.types.held(), parts.names.rules_by_type)
        if change.action is not TypeAction.CREATE or not change.name.startswith(UNCONFIRMED)
    ]
    text = "; ".join((*map(in_words, changes[:_SHOWN]), *(("…",) if len(changes) > _SHOWN else ())))
    if not changes:
        yield good(_SUBJECT, "the catalog has all types that lineage needs")
    else:
        differs = any(change.action is TypeAction.DIFFERS for change in changes)
        yield bad("types-differ" if differs else "types-missing", _SUBJECT, text)


def type_problem(parts: Worker, names: Names, type_name: str) -> TypeChange | None:
    """What keeps the catalog from taking a data set that these rules give this type; None where nothing does. One call
    to the catalog.
    """
    if parts.types is None:
        return None
    changes = type_changes(parts.types.held(), names.rules_by_type)
    return next((change for change in changes if change.name == type_name), None)


def in_words(change: TypeChange) -> str:
    """What is wrong with a type, and which naming rule names it."""
    named = f", named by the rule {', '.join(change.rules)}" if change.rules else ""
    if change.action is TypeAction.CREATE:
        return f"the catalog lacks the type {change.name}{named}"
    return f"the catalog's type {change.name}{named} {', '.join(change.what)}"


def mend(change: TypeChange, names: Path | None) -> str:
    """The command or the change that mends it; `names`: the file of names that is tried."""
    if change.action is TypeAction.DIFFERS:
        return "name another type in the rule: Throughline changes only types that it created"
    tried = f" --names {shlex.quote(str(names))}" if names else ""
    return f"`throughline types apply{tried}` creates it; or correct the type in the rule"


def catalog_error(sentence: str) -> CheckResult | None:
    """The finding for one of the last errors that `status` shows; None for what is no error of the catalog."""
    if sentence.startswith(_REFUSED):
        return bad("catalog-refuses", "refused process", sentence)
    if sentence.startswith("catalog"):
        return bad("catalog-error", "catalog writes", sentence.removeprefix("catalog: "))
    return None
