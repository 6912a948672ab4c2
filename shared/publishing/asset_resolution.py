"""Finding: which asset of the catalog a data set is, so that lineage lands on what a scan found.

A data set is looked for by its own name and those that a scan may have given it, in steps, many in a call; then by
searching. What was found is remembered in `found`, hits for long and misses for a while: what is published again asks
nothing. What a search cannot decide is told, never guessed. Placeholders of ours are no finds, however they are called.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Protocol

from msgspec import structs

from shared.atlas.entities import PLACED
from shared.catalog.port import AssetKey, Catalog, Node
from shared.errors import CatalogUnavailable
from shared.model import Asset
from shared.naming.matching import Candidate, Rank, candidates, rank, search_terms
from shared.records.asset_matches import AssetMatch, read_matches, save_matches
from shared.records.checkpoint import RECONCILE
from shared.storage.port import Storage

_SEARCHED = 100
"""Finds of a search that are looked at."""
_AT_ONCE = 16
"""Data sets that one search is for."""
_RIVALS = 5
"""Of assets among which nothing decides, so many are told."""

BY_SEARCH = "found by searching: the same but for patterns, partitions or capitals"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionOptions:
    """How to find: whether to search too, and for how long a hit and a miss are believed."""

    search: bool = True
    hits: timedelta = timedelta(days=7)
    misses: timedelta = timedelta(hours=6)

    def believed(self, found: AssetMatch) -> timedelta:
        """For how long this one is."""
        return self.hits if found.scanned else self.misses


class Asking(Protocol):
    """What finding needs to know of publishing: how to find, the clock, and what is called now and then to hold a
    lease.
    """

    @property
    def finding(self) -> ResolutionOptions: ...  # noqa: D102 - told above
    @property
    def now(self) -> Callable[[], datetime]: ...  # noqa: D102 - told above
    @property
    def beat(self) -> Callable[[], object]: ...  # noqa: D102 - told above


def resolve(storage: Storage, catalog: Catalog, how: Asking, assets: Iterable[Asset]) -> dict[AssetKey, AssetMatch]:
    """What the catalog has of each of these assets: from what is remembered, else by asking. New finds are put on
    record; of what is neither found nor placed yet, only that it was searched for, whatever interrupts this or what
    comes after it: else a catalog that asks to wait after a few calls would be asked the same for ever.
    """
    wanted = {(asset.type, asset.qualified_name): asset.also for asset in assets}
    known = read_matches(storage, sorted(wanted))
    now = how.now()
    found = {key: each for key, each in known.items() if not each.is_due(now, how.finding.believed(each))}
    open_ones = {key: also for key, also in sorted(wanted.items()) if key not in found}
    searched = _searched(known, now, how.finding.misses)
    before = frozenset(searched)
    asked: dict[AssetKey, AssetMatch] = {}
    try:
        if open_ones:
            fresh = ask(catalog, how, open_ones, searched=searched)
            asked = {key: continued(each, known.get(key)) for key, each in fresh.items()}
    except CatalogUnavailable as error:
        error.furthered = len(searched) > len(before)
        raise
    finally:
        news = {key: each for key, each in asked.items() if each.guid}
        for key in searched.keys() - before - news.keys():
            base = asked.get(key) or known.get(key) or AssetMatch(own=key, also=wanted[key])
            news[key] = structs.replace(base, searched=(now, searched[key]))
        kept = {each.own: structs.replace(each, searched=None) for each in save_matches(storage, news.values())}
    if any(each.left for each in asked.values()):
        RECONCILE.clear(storage)  # others may still be on the placeholder
    return found | asked | kept


def _searched(
    known: Mapping[AssetKey, AssetMatch], now: datetime, believed: timedelta
) -> dict[AssetKey, tuple[AssetKey, ...]]:
    """What was searched for already."""
    given = {key: each.searched for key, each in known.items() if each.searched}
    return {key: names for key, (at, names) in given.items() if now - at < believed}


def continued(found: AssetMatch, before: AssetMatch | None) -> AssetMatch:
    """A new find with what stays of the one before."""
    if before is None:
        return found
    return structs.replace(
        found,
        moved=before.moved if before.left and found.left else found.moved,
        columns=() if found.scanned else before.columns if found.guid == before.guid else None,
        column_sources=before.column_sources if found.guid and not found.scanned else (),
        until=before.until,
        etag=before.etag,
    )


def ask(
    catalog: Catalog,
    how: Asking,
    wanted: Mapping[AssetKey, tuple[AssetKey, ...]],
    *,
    searched: dict[AssetKey, tuple[AssetKey, ...]] | None = None,
) -> dict[AssetKey, AssetMatch]:
    """What the catalog has of each of these assets (with the further names that were told of it), whatever is
    remembered, but for what is `searched` already; to that is added what is searched for. Raises as the catalog does.
    """
    placed: dict[AssetKey, str] = {}
    hits: dict[AssetKey, tuple[Candidate, str]] = {}
    for step in range(2):
        names = {key: candidates(*key, also)[step] for key, also in wanted.items() if key not in hits}
        held = catalog.look_up(dict.fromkeys(each.key for options in names.values() for each in options))
        how.beat()
        placed |= {key: held[key].guid for key in names if key in held and held[key].placed}
        for key, options in names.items():
            first = next((each for each in options if each.key in held and not held[each.key].placed), None)
            if first:
                hits[key] = first, held[first.key].guid
    rivals: dict[AssetKey, tuple[AssetKey, ...]] = {}
    if how.finding.search:
        given = {} if searched is None else searched
        more, rivals = _search(catalog, how, [key for key in wanted if key not in hits], given)
        hits |= more
    now = how.now()
    return {
        key: AssetMatch(
            own=key,
            also=also,
            scanned=hits[key][0].key if key in hits else None,
            because=hits[key][0].because if key in hits else "",
            guid=hits[key][1] if key in hits else placed.get(key, ""),
            rivals=rivals.get(key, ()),
            left=key in hits and key in placed,
            at=now,
        )
        for key, also in wanted.items()
    }


def _search(
    catalog: Catalog, how: Asking, wanted: Iterable[AssetKey], searched: dict[AssetKey, tuple[AssetKey, ...]]
) -> tuple[dict[AssetKey, tuple[Candidate, str]], dict[AssetKey, tuple[AssetKey, ...]]]:
    """The one asset that fits each of these best, and of others those among which nothing decides. A search may lag, so
    what it gives is read once more by name.
    """
    best: dict[AssetKey, tuple[AssetKey, ...]] = {}
    words = {key: said for key in wanted if (said := search_terms(*key))}
    best |= {key: searched[key] for key in words if key in searched}
    for nodes in _searched_for(catalog, how, sorted({said for key, said in words.items() if key not in best})):
        for key in [key for key, said in words.items() if said in nodes]:
            best[key] = searched[key] = _best(key, nodes[words[key]])
    how.beat()
    held = catalog.look_up(dict.fromkeys(each for names in best.values() for each in names))
    there = {key: [each for each in names if each in held and not held[each].placed] for key, names in best.items()}
    hits = {
        key: (Candidate(type=name[0], qualified_name=name[1], because=BY_SEARCH), held[name].guid)
        for key, (name, *others) in ((key, names) for key, names in there.items() if names)
        if not others
    }
    return hits, {key: tuple(names[:_RIVALS]) for key, names in there.items() if len(names) > 1}


def _searched_for(catalog: Catalog, how: Asking, texts: Sequence[str]) -> Iterator[Mapping[str, Sequence[Node]]]:
    """What a search gives for each of these, some at a time: many in a call, but where that finds too much for one."""
    for start in range(0, len(texts), _AT_ONCE):
        yield from _halved(catalog, how, texts[start : start + _AT_ONCE])


def _halved(catalog: Catalog, how: Asking, texts: Sequence[str]) -> Iterator[Mapping[str, Sequence[Node]]]:
    how.beat()
    if len(texts) == 1:
        yield {texts[0]: catalog.search(texts[0], _SEARCHED)}
        return
    found = catalog.search_all(texts)
    if found is not None:
        yield found
        return
    middle = len(texts) // 2
    for half in (texts[:middle], texts[middle:]):
        yield from _halved(catalog, how, half)


def finds(catalog: Catalog, wanted: AssetKey) -> tuple[tuple[AssetKey, Rank], ...]:
    """All finds of a search that fit an asset, the best first, each with how well it does; none where it is not
    searched for.
    """
    words = search_terms(*wanted)
    return _fitting(wanted, catalog.search(words, _SEARCHED) if words else ())


def _fitting(wanted: AssetKey, nodes: Iterable[Node]) -> tuple[tuple[AssetKey, Rank], ...]:
    """Those of these that fit, the best first."""
    found = {
        (node.type, node.qualified_name): fits
        for node in nodes
        if not str(node.attributes.get("description") or "").startswith(PLACED)
        and (fits := rank(wanted, (node.type, node.qualified_name)))
    }
    return tuple((name, found[name]) for name in sorted(sorted(found), key=lambda each: found[each], reverse=True))


def _best(wanted: AssetKey, nodes: Iterable[Node]) -> tuple[AssetKey, ...]:
    """Of what a search gives, that which fits best: several, where nothing decides."""
    found = _fitting(wanted, nodes)
    return tuple(name for name, fits in found if fits == found[0][1])
