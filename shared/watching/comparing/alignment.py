"""Align two states: give a placeholder of the first state the name of the scanned asset that replaced it."""

from collections import defaultdict

from msgspec import structs

from shared.lineage.document import LineageDocument
from shared.watching.comparing.view import DatasetKey, View

_Uses = frozenset[tuple[str, bool]]
"""The processes (qualified names) that read (False) or write (True) a data set."""


def aligned(before: LineageDocument, after: LineageDocument) -> LineageDocument:
    """The state before, with placeholders under the names of the scanned assets that took their place.

    A placeholder went and an asset that is none came, both are called the same, and the same processes read and write
    them: the lineage was moved, it did not change.
    """
    old, new = View(before), View(after)
    gone, come = _uses(old, new, placeholder=True), _uses(new, old, placeholder=False)
    moved = {gone[use][0]: come[use][0] for use in gone.keys() & come.keys() if len(gone[use]) == len(come[use]) == 1}
    if not moved:
        return before
    datasets = (
        structs.replace(each, type=to[0], qualified_name=to[1], placeholder=False)
        if (to := moved.get((each.type, each.qualified_name)))
        else each
        for each in before.datasets
    )
    return structs.replace(before, datasets=tuple(datasets))


def _uses(here: View, there: View, *, placeholder: bool) -> dict[tuple[str, _Uses], list[DatasetKey]]:
    """The data sets that are only in `here`, by their short names and uses."""
    uses: dict[DatasetKey, set[tuple[str, bool]]] = defaultdict(set)
    numbered = tuple(here.datasets)
    for process in here.document.processes:
        for side, written in ((process.inputs, False), (process.outputs, True)):
            for number in side:
                uses[numbered[number]].add((process.qualified_name, written))
    found: dict[tuple[str, _Uses], list[DatasetKey]] = defaultdict(list)
    for key, dataset in here.datasets.items():
        if dataset.placeholder is placeholder and key not in there.datasets and uses[key]:
            found[dataset.name, frozenset(uses[key])].append(key)
    return found
