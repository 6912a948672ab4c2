"""What a data set is looked for as, and what the catalog says of it: the end of `throughline explain`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cli.checks.types import in_words, mend, type_problem
from cli.ui.console import fail, out, plain
from shared.atlas.types import TypeChange
from shared.bootstrap import Worker
from shared.catalog.port import HeldAsset
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.naming.matching import AssetName, Candidate, candidates, describe_rank
from shared.naming.names import Names
from shared.publishing.asset_resolution import look_up_matches
from shared.publishing.asset_resolution import search_matches as publishing_finds
from shared.records.asset_matches import AssetMatch

Steps = Sequence[Sequence[Candidate]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Which of the names the catalog has, and which asset wins; what a search gives besides, best first, and why; and
    where nothing is found, what keeps the catalog from taking the first name's type (`problem`), if anything does.
    """

    held: dict[AssetName, HeldAsset]
    found: AssetMatch
    searched: tuple[tuple[AssetName, str], ...] = ()
    problem: TypeChange | None = None

    def of(self, candidate: Candidate) -> str:
        """What the catalog says of one name."""
        there = self.held.get(candidate.key)
        if there is None:
            return "not there"
        if there.placed:
            return "our placeholder"
        return "wins" if self.found.scanned == candidate.key else "there"

    def of_search(self, name: AssetName) -> str:
        """What became of a find of the search."""
        if name in self.found.rivals:
            return "may be meant"
        return "wins" if self.found.scanned == name else "there"


def looked(parts: Worker, names: Names, key: AssetName, also: Sequence[AssetName]) -> Answer:
    """Ask the catalog for a data set that these rules name; ends the command with one sentence if it can't."""
    try:
        keys = [each.key for step in candidates(*key, also) for each in step]
        search_matches = publishing_finds(parts.catalog, key) if parts.publishing.finding.search else ()
        found = look_up_matches(parts.catalog, parts.publishing, {key: tuple(also)})[key]
        return Answer(
            held=parts.catalog.look_up(keys),
            found=found,
            problem=None if found.guid or found.rivals else type_problem(parts, names, key[0]),
            searched=tuple((name, describe_rank(key, fits)) for name, fits in search_matches if name not in keys),
        )
    except (CatalogUnavailable, CatalogRefused) as error:
        fail(f"the catalog can't be asked: {error}")


def looked_document(steps: Steps, answer: Answer | None) -> dict[str, Any]:
    """The stable form; `found` only where the catalog was asked."""
    listed = [
        {
            "type": each.type,
            "qualified_name": each.qualified_name,
            "because": each.because,
            **({"catalog": answer.of(each)} if answer else {}),
        }
        for step in steps
        for each in step
    ]
    if answer is None:
        return {"candidates": listed}
    found = answer.found
    return {
        "candidates": listed,
        "searched": [
            {**_asset(name), "because": why, "catalog": answer.of_search(name)} for name, why in answer.searched
        ],
        "type_problem": in_words(answer.problem) if answer.problem else None,
        "found": _asset(found.scanned) | {"because": found.because, "guid": found.guid} if found.scanned else None,
        "rivals": [_asset(name) for name in found.rivals],
    }


def _asset(key: AssetName) -> dict[str, str]:
    return {"type": key[0], "qualified_name": key[1]}


def show_candidates(steps: Steps, answer: Answer | None) -> None:
    """A line for each name, and below them what wins and why."""
    listed = [each for step in steps for each in step]
    for index, each in enumerate(listed):
        says = f" [{_COLOURS[answer.of(each)]}]{answer.of(each)}[/]" if answer else ""
        title = "looked for as" if not index else ""
        out.print(f"[bold]{title:14}[/] {plain(each.type)} {plain(each.qualified_name)} ({plain(each.because)}){says}")
    if answer is None:
        return
    for index, (name, why) in enumerate(answer.searched):
        title, says = ("" if index else "search finds"), answer.of_search(name)
        out.print(f"[bold]{title:14}[/] {plain(' '.join(name))} ({plain(why)}) [{_COLOURS[says]}]{says}[/]")
    found = answer.found
    if found.scanned:
        out.print(f"[bold]{'found':14}[/] {plain(' '.join(found.scanned))} ({plain(found.because)})")
    for name in found.rivals:
        out.print(f"[bold]{'not sure':14}[/] [yellow]{plain(' '.join(name))}[/] may be meant: nothing is chosen")
    if answer.problem:
        out.print(
            f"[bold]{'found':14}[/] [red]nothing, and it can't be published: {plain(in_words(answer.problem))}[/]"
        )
        out.print(f"{'':14} {plain(mend(answer.problem))}")
    elif not found.scanned and not found.rivals:
        out.print(f"[bold]{'found':14}[/] nothing: {'our placeholder is used' if found.guid else 'it would be placed'}")


_COLOURS = {
    "wins": "bold green",
    "there": "green",
    "not there": "dim",
    "our placeholder": "yellow",
    "may be meant": "yellow",
}
