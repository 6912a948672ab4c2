"""Asset resolution: the catalog asset that a data set is, so that lineage is attached to scanned assets.

A data set is looked up by its own name and those that scanners give, in two steps, many in a call; then by search.
Matches are remembered in `assetmatches`, hits longer than misses, so that publishing again asks nothing. An ambiguous
search is reported, never decided. Our own placeholders never match, whatever their names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from msgspec import structs

from shared.atlas.entities import PLACED
from shared.catalog.batches import batches, halved
from shared.catalog.port import AssetKey, Catalog, Node
from shared.errors import CatalogUnavailable
from shared.model import Asset
from shared.naming.matching import Candidate, Rank, candidates, rank, search_terms
from shared.publishing.planning.context import PublishContext
from shared.records.asset_matches import AssetMatch, read_matches, save_matches
from shared.records.checkpoint import RECONCILE

_MAX_RESULTS = 100
"""Results of a search that are ranked."""
_MAX_TEXTS = 16
"""Data sets in one search call."""
_MAX_RIVALS = 5
"""Rivals of an ambiguous search that are reported."""

BY_SEARCH = "found by searching: the same but for patterns, partitions or capitals"


def resolve(context: PublishContext, assets: Iterable[Asset]) -> dict[AssetKey, AssetMatch]:
    """The matches of these assets: remembered ones, else from the catalog. New hits are saved. Of a miss without a
    placeholder only the search is saved, also when an error interrupts this: else a catalog that throttles after a few
    calls would be asked the same for ever.
    """
    storage, options = context.storage, context.publishing
    wanted = {asset.key: asset.also for asset in assets}
    known = read_matches(storage, sorted(wanted))
    now = options.now()
    found = {key: each for key, each in known.items() if not each.is_due(now, options.finding.believed(each))}
    open_ones = {key: also for key, also in sorted(wanted.items()) if key not in found}
    searched = _searched(known, now, options.finding.misses)
    before = frozenset(searched)
    asked: dict[AssetKey, AssetMatch] = {}
    try:
        if open_ones:
            fresh = look_up_matches(context, open_ones, searched=searched)
            asked = {key: merged_match(each, known.get(key)) for key, each in fresh.items()}
    except CatalogUnavailable as error:
        error.made_progress = len(searched) > len(before)
        raise
    finally:
        news = {key: each for key, each in asked.items() if each.guid}
        for key in searched.keys() - before - news.keys():
            base = asked.get(key) or known.get(key) or AssetMatch(own=key, also=wanted[key])
            news[key] = structs.replace(base, searched=(now, searched[key]))
        kept = {each.own: structs.replace(each, searched=None) for each in save_matches(storage, news.values())}
    if any(each.left for each in asked.values()):
        RECONCILE.clear(storage)  # other processes may still use the placeholder
    return found | asked | kept


def _searched(
    known: Mapping[AssetKey, AssetMatch], now: datetime, believed: timedelta
) -> dict[AssetKey, tuple[AssetKey, ...]]:
    """The results of searches that are still remembered."""
    given = {key: each.searched for key, each in known.items() if each.searched}
    return {key: names for key, (at, names) in given.items() if now - at < believed}


def merged_match(found: AssetMatch, before: AssetMatch | None) -> AssetMatch:
    """A new match with the fields of the previous one that stay valid."""
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


def look_up_matches(
    context: PublishContext,
    wanted: Mapping[AssetKey, tuple[AssetKey, ...]],
    *,
    searched: dict[AssetKey, tuple[AssetKey, ...]] | None = None,
) -> dict[AssetKey, AssetMatch]:
    """The matches of these assets (each with its alternate names) from the catalog. `searched`: results of earlier
    searches, to which new ones are added. Raises as the catalog does.
    """
    catalog, options = context.catalog, context.publishing
    placed: dict[AssetKey, str] = {}
    hits: dict[AssetKey, tuple[Candidate, str]] = {}
    for step in range(2):
        names = {key: candidates(*key, also)[step] for key, also in wanted.items() if key not in hits}
        held = catalog.look_up(dict.fromkeys(each.key for choices in names.values() for each in choices))
        options.heartbeat()
        placed |= {key: held[key].guid for key in names if key in held and held[key].placed}
        for key, choices in names.items():
            first = next((each for each in choices if each.key in held and not held[each.key].placed), None)
            if first:
                hits[key] = first, held[first.key].guid
    rivals: dict[AssetKey, tuple[AssetKey, ...]] = {}
    if options.finding.search:
        given = {} if searched is None else searched
        more, rivals = _search(context, [key for key in wanted if key not in hits], given)
        hits |= more
    now = options.now()
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
    context: PublishContext, wanted: Iterable[AssetKey], searched: dict[AssetKey, tuple[AssetKey, ...]]
) -> tuple[dict[AssetKey, tuple[Candidate, str]], dict[AssetKey, tuple[AssetKey, ...]]]:
    """The best match of each asset, and the rivals where several are equally good. The search index lags, so that its
    results are read again by name.
    """
    best: dict[AssetKey, tuple[AssetKey, ...]] = {}
    words = {key: said for key in wanted if (said := search_terms(*key))}
    best |= {key: searched[key] for key in words if key in searched}
    for nodes in _searched_for(context, sorted({said for key, said in words.items() if key not in best})):
        for key in [key for key, said in words.items() if said in nodes]:
            best[key] = searched[key] = _best(key, nodes[words[key]])
    context.publishing.heartbeat()
    held = context.catalog.look_up(dict.fromkeys(each for names in best.values() for each in names))
    there = {key: [each for each in names if each in held and not held[each].placed] for key, names in best.items()}
    hits = {
        key: (Candidate(type=name[0], qualified_name=name[1], because=BY_SEARCH), held[name].guid)
        for key, (name, *others) in ((key, names) for key, names in there.items() if names)
        if not others
    }
    return hits, {key: tuple(names[:_MAX_RIVALS]) for key, names in there.items() if len(names) > 1}


def _searched_for(context: PublishContext, texts: Sequence[str]) -> Iterator[Mapping[str, Sequence[Node]]]:
    """The results of a search for each text: many texts in a call, fewer where there are too many results for one."""

    def search(some: Sequence[str]) -> Mapping[str, Sequence[Node]] | None:
        context.publishing.heartbeat()
        if len(some) == 1:
            return {some[0]: context.catalog.search(some[0], _MAX_RESULTS)}
        return context.catalog.search_all(some)

    for batch in batches(texts, _MAX_TEXTS):
        yield from halved(batch, search)


def search_matches(catalog: Catalog, wanted: AssetKey) -> tuple[tuple[AssetKey, Rank], ...]:
    """All search results that match an asset, best first, with their ranks; none where its type is not searched for."""
    words = search_terms(*wanted)
    return _fitting(wanted, catalog.search(words, _MAX_RESULTS) if words else ())


def _fitting(wanted: AssetKey, nodes: Iterable[Node]) -> tuple[tuple[AssetKey, Rank], ...]:
    """The nodes that match, best first."""
    found = {
        node.key: fits
        for node in nodes
        if not str(node.attributes.get("description") or "").startswith(PLACED) and (fits := rank(wanted, node.key))
    }
    return tuple((name, found[name]) for name in sorted(sorted(found), key=lambda each: found[each], reverse=True))


def _best(wanted: AssetKey, nodes: Iterable[Node]) -> tuple[AssetKey, ...]:
    """The best match among search results; several where they are equally good."""
    found = _fitting(wanted, nodes)
    return tuple(name for name, fits in found if fits == found[0][1])
