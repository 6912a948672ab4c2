"""The names under which a data set is looked up in the catalog, and the result: the end of `throughline explain`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.atlas.types import TypeChange
from shared.bootstrap import Worker
from shared.catalog.port import HeldAsset
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.naming.matching import AssetName, Candidate, candidates, describe_rank
from shared.naming.names import Names
from shared.publishing.resolution import Lookup
from shared.publishing.resolution import search_matches as publishing_finds
from shared.records.asset_record import AssetRecord
from throughline.cli.checks.types import in_words, mend, type_problem
from throughline.cli.records.processes import key_document
from throughline.cli.ui.console import fail
from throughline.cli.ui.tables import print_fact

Steps = Sequence[Sequence[Candidate]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogMatch:
    """The names that the catalog has (`held`), and the asset that wins (`found`).

    `searched` are other assets that a search gives, best first, each with a reason. `problem`, where nothing is found:
    why the catalog refuses the first name's type, if it does.
    """

    held: dict[AssetName, HeldAsset]
    found: AssetRecord
    searched: tuple[tuple[AssetName, str], ...] = ()
    problem: TypeChange | None = None

    def of(self, candidate: Candidate) -> str:
        """What the catalog has under one name."""
        node = self.held.get(candidate.key)
        if node is None:
            return "not there"
        if node.placed:
            return "placeholder"
        return "wins" if self.found.scanned == candidate.key else "there"

    def of_search(self, name: AssetName) -> str:
        """The state of an asset that the search found."""
        if name in self.found.rivals:
            return "may be meant"
        return "wins" if self.found.scanned == name else "there"


def looked(parts: Worker, names: Names, key: AssetName, also: Sequence[AssetName]) -> CatalogMatch:
    """Look the names up in the catalog; ends the command when it does not answer."""
    try:
        keys = [candidate.key for step in candidates(*key, also) for candidate in step]
        search_matches = publishing_finds(parts.catalog, key) if parts.publishing.finding.search else ()
        asset_record = Lookup(context=parts, names={key: tuple(also)}).records()[key]
        return CatalogMatch(
            held=parts.catalog.look_up(keys),
            found=asset_record,
            problem=None if asset_record.guid or asset_record.rivals else type_problem(parts, names, key[0]),
            searched=tuple((name, describe_rank(key, fits)) for name, fits in search_matches if name not in keys),
        )
    except (CatalogUnavailable, CatalogRefused) as error:
        fail(f"{error}. Nothing was looked up: without --look no catalog is needed")


def looked_document(steps: Steps, answer: CatalogMatch | None) -> dict[str, Any]:
    """The names for `--json`; `found` only where they were looked up."""
    listed = [
        {
            **key_document(candidate.key),
            "because": candidate.because,
            **({"catalog": answer.of(candidate)} if answer else {}),
        }
        for step in steps
        for candidate in step
    ]
    if answer is None:
        return {"candidates": listed}
    match = answer.found
    scanned = {**key_document(match.scanned), "because": match.because, "guid": match.guid} if match.scanned else None
    return {
        "candidates": listed,
        "searched": [
            {**key_document(name), "because": search_reason, "catalog": answer.of_search(name)}
            for name, search_reason in answer.searched
        ],
        "type_problem": in_words(answer.problem) if answer.problem else None,
        "found": scanned,
        "rivals": list(map(key_document, match.rivals)),
    }


def show_candidates(steps: Steps, answer: CatalogMatch | None, names: Path | None) -> None:
    """Print each name that is looked up; with an answer, what the catalog has of it, which one wins and why. `names`:
    the file of names that is tried.
    """
    title = "looked up as"
    for candidate_shown in (candidate for step in steps for candidate in step):
        state = answer.of(candidate_shown) if answer else ""
        _print_name(title, (candidate_shown.type, candidate_shown.qualified_name), candidate_shown.because, state)
        title = ""
    if answer is None:
        return
    title = "search finds"
    for name, search_reason in answer.searched:
        _print_name(title, name, search_reason, answer.of_search(name))
        title = ""
    match = answer.found
    if match.scanned:
        _print_name("found", match.scanned, match.because)
    for name in match.rivals:
        print_fact("ambiguous", f"{' '.join(name)} may be meant: none is chosen", style="yellow")
    if answer.problem:
        print_fact("found", f"nothing, and it can't be published: {in_words(answer.problem)}", style="red")
        print_fact("", mend(answer.problem, names))
    elif not match.scanned and not match.rivals:
        print_fact("found", f"nothing: {'the placeholder is used' if match.guid else 'a placeholder would be created'}")


def _print_name(title: str, name: AssetName, because: str, state: str = "") -> None:
    text = f"{' '.join(name)} ({because})"
    print_fact(title, f"{text} {state}".rstrip(), style=_COLOURS.get(state, ""))


_COLOURS = {
    "wins": "bold green",
    "there": "green",
    "not there": "dim",
    "placeholder": "yellow",
    "may be meant": "yellow",
}
