"""Asset resolution: the catalog asset that a data set is, so that lineage is attached to scanned assets.

A data set is looked up by its own name and those that scanners give, in two steps, many in a call; then by search.
Matches are remembered, hits longer than misses, so that publishing again asks nothing. An ambiguous search is reported,
never decided. Our own placeholders never match, whatever their names.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec import structs

from shared.atlas.entities import PLACED, ProcessEntity, process_entity
from shared.catalog.port import AssetKey, Catalog, Node, batches, halved
from shared.errors import CatalogUnavailable
from shared.model import Asset, Column, Process
from shared.naming.matching import Candidate, Rank, candidates, rank, search_terms
from shared.publishing.context import PublishContext
from shared.records.asset_record import AssetRecord
from shared.records.control import RECONCILE

_MAX_RESULTS = 100
"""Results of a search that are ranked."""
_MAX_TEXTS = 16
"""Data sets in one search call."""
_MAX_RIVALS = 5
"""Rivals of an ambiguous search that are reported."""
_MAX_NOTES = 3
"""Ambiguous data sets, and rivals of each, in a process's description."""
_MAX_NAME = 300

BY_SEARCH = "found by searching: the same but for patterns, partitions or capitals"

Names = Mapping[AssetKey, tuple[AssetKey, ...]]
"""Data sets with their alternate names."""


def resolve(context: PublishContext, assets: Iterable[Asset]) -> dict[AssetKey, AssetRecord]:
    """The records of these assets: remembered ones, else from the catalog. They are noted in `context.assets`, as is
    what was searched for when an error interrupts this: else a catalog that throttles after a few calls would be asked
    the same for ever. Raises as the catalog does.
    """
    options, now = context.publishing, context.publishing.now()
    by_key = {asset.key: asset for asset in assets}
    records = context.assets.read(context.storage, by_key)
    remembered = {
        key: record for key, record in records.items() if not record.is_due(now, options.finding.believed(record))
    }
    names = {key: asset.also for key, asset in sorted(by_key.items()) if key not in remembered}
    if not names:
        return remembered
    searched = {
        key: result.searched[1]
        for key in names
        if (result := records.get(key)) and result.searched and now - result.searched[0] < options.finding.misses
    }
    lookup = Lookup(context=context, names=names, stored=records, searched=dict(searched))
    fresh_records: dict[AssetKey, AssetRecord] = {}
    try:
        fresh_records = lookup.records()
    except CatalogUnavailable as error:
        error.made_progress = len(lookup.searched) > len(searched)
        raise
    finally:
        for key, also in names.items():
            record = fresh_records.get(key) or records.get(key) or AssetRecord(own=key, also=also)
            if not record.guid and key in lookup.searched.keys() - searched.keys():
                record = structs.replace(record, searched=(now, lookup.searched[key]))
            context.assets.put(structs.replace(record, asset=record.asset or by_key[key]))
    if any(record.left for record in fresh_records.values()):
        RECONCILE.clear(context.storage)  # other processes may still use the placeholder
    return remembered | fresh_records


@dataclass(frozen=True, slots=True, kw_only=True)
class Lookup:
    """A lookup of data sets in the catalog by their `names`. `stored`: the records of those that have one; `searched`:
    results of earlier searches, to which new ones are added.
    """

    context: PublishContext
    names: Names
    stored: Mapping[AssetKey, AssetRecord] = field(default_factory=dict)
    searched: dict[AssetKey, tuple[AssetKey, ...]] = field(default_factory=dict)

    def records(self) -> dict[AssetKey, AssetRecord]:
        """The records with their matches now. Raises as the catalog does."""
        catalog, options = self.context.catalog, self.context.publishing
        placed: dict[AssetKey, str] = {}
        hits: dict[AssetKey, tuple[Candidate | None, str]] = {}
        for step in range(2):
            choices = {key: candidates(*key, also)[step] for key, also in self.names.items() if key not in hits}
            nodes = catalog.look_up(
                dict.fromkeys(choice.key for alternatives in choices.values() for choice in alternatives)
            )
            options.heartbeat()
            placed |= {key: nodes[key].guid for key in choices if key in nodes and nodes[key].placed}
            for key, candidates_of_key in choices.items():
                hit = next(
                    (choice for choice in candidates_of_key if choice.key in nodes and not nodes[choice.key].placed),
                    None,
                )
                if hit:
                    hits[key] = hit, nodes[hit.key].guid
        rivals: dict[AssetKey, tuple[AssetKey, ...]] = {}
        if options.finding.search:
            found_by_search, rivals = self._search([key for key in self.names if key not in hits])
            hits |= found_by_search
        records: dict[AssetKey, AssetRecord] = {}
        for key, also in self.names.items():
            stored = self.stored.get(key) or AssetRecord(own=key)
            hit, guid = hits.get(key, (None, placed.get(key, "")))
            is_left = hit is not None and key in placed
            records[key] = structs.replace(
                stored,
                also=also,
                scanned=hit.key if hit else None,
                because=hit.because if hit else "",
                guid=guid,
                rivals=rivals.get(key, ()),
                left=is_left,
                moved=stored.moved if stored.left and is_left else None,
                at=options.now(),
                searched=None,
                shown=stored.shown if guid == stored.guid else "",  # what another placeholder shows is not known
                with_columns=stored.with_columns if guid == stored.guid else True,
            )
        return records

    def _search(
        self, keys: Iterable[AssetKey]
    ) -> tuple[dict[AssetKey, tuple[Candidate, str]], dict[AssetKey, tuple[AssetKey, ...]]]:
        """The best match of each asset, and the rivals where several are equally good. The search index lags, so that
        its results are read again by name.
        """
        words = {key: text for key in keys if (text := search_terms(*key))}
        best = {key: self.searched[key] for key in words if key in self.searched}
        for nodes in self._nodes(sorted({text for key, text in words.items() if key not in best})):
            for key in [key for key, text in words.items() if text in nodes]:
                best[key] = self.searched[key] = _best(key, nodes[words[key]])
        self.context.publishing.heartbeat()
        looked_up = self.context.catalog.look_up(dict.fromkeys(name for names in best.values() for name in names))
        scanned = {
            key: [name for name in names if name in looked_up and not looked_up[name].placed]
            for key, names in best.items()
        }
        hits = {
            key: (Candidate(type=name[0], qualified_name=name[1], because=BY_SEARCH), looked_up[name].guid)
            for key, (name, *further_names) in ((key, names) for key, names in scanned.items() if names)
            if not further_names
        }
        return hits, {key: tuple(names[:_MAX_RIVALS]) for key, names in scanned.items() if len(names) > 1}

    def _nodes(self, texts: Sequence[str]) -> Iterator[Mapping[str, Sequence[Node]]]:
        """The results of a search for each text: many texts in a call, fewer where there are too many results."""
        catalog = self.context.catalog

        def search(some_names: Sequence[str]) -> Mapping[str, Sequence[Node]] | None:
            self.context.publishing.heartbeat()
            if len(some_names) == 1:
                return {some_names[0]: catalog.search(some_names[0], _MAX_RESULTS)}
            return catalog.search_all(some_names)

        for batch in batches(texts, _MAX_TEXTS):
            yield from halved(batch, search)


def search_matches(catalog: Catalog, key: AssetKey) -> tuple[tuple[AssetKey, Rank], ...]:
    """All search results that match an asset, best first, with their ranks; none where its type is not searched for."""
    words = search_terms(*key)
    return _fitting(key, catalog.search(words, _MAX_RESULTS) if words else ())


def _fitting(key: AssetKey, nodes: Iterable[Node]) -> tuple[tuple[AssetKey, Rank], ...]:
    """The nodes that match, best first."""
    ranks = {
        node.key: fit
        for node in nodes
        if not str(node.attributes.get("description") or "").startswith(PLACED) and (fit := rank(key, node.key))
    }
    return tuple((name, ranks[name]) for name in sorted(sorted(ranks), key=lambda name: ranks[name], reverse=True))


def _best(key: AssetKey, nodes: Iterable[Node]) -> tuple[AssetKey, ...]:
    """The best match among search results; several where they are equally good."""
    fitting = _fitting(key, nodes)
    return tuple(name for name, fit in fitting if fit == fitting[0][1])


def resolved_entity(
    process: Process, records: Mapping[AssetKey, AssetRecord], *, with_indirect: bool
) -> ProcessEntity | None:
    """The entity of a process on its matched assets; None where its inputs and outputs match one asset. Pure."""
    named = resolve_names(process, records)
    if named is None:
        return None
    return process_entity(named, with_indirect=with_indirect, notes=_ambiguity_notes(process, records))


def resolve_names(process: Process, records: Mapping[AssetKey, AssetRecord]) -> Process | None:
    """The process with its assets and their columns renamed to the matches; its own name stays. Pure."""
    finals = {key: record.scanned for key, record in records.items() if record.scanned and record.scanned != key}
    if not any(asset.key in finals for asset in (*process.inputs, *process.outputs)):
        return process
    names = {key[1]: final[1] for key, final in finals.items()}
    outputs = _named(process.outputs, finals)
    sinks = {asset.key for asset in outputs}
    inputs = tuple(asset for asset in _named(process.inputs, finals) if asset.key not in sinks)
    if not inputs:
        return None
    read_names = {asset.qualified_name for asset in inputs}
    edges = (
        structs.replace(edge, input=_column(edge.input, names), output=_column(edge.output, names))
        for edge in process.columns
    )
    columns = tuple(sorted({edge for edge in edges if edge.input.qualified_name in read_names}))
    return structs.replace(process, inputs=inputs, outputs=outputs, columns=columns)


def _named(assets: Iterable[Asset], finals: Mapping[AssetKey, AssetKey]) -> tuple[Asset, ...]:
    """Each asset once: several may match one scanned asset."""
    named: dict[AssetKey, Asset] = {}
    for asset in assets:
        final = finals.get(asset.key, asset.key)
        named.setdefault(final, structs.replace(asset, type=final[0], qualified_name=final[1]))
    return tuple(sorted(named.values()))


def _column(column: Column, names: Mapping[str, str]) -> Column:
    name = names.get(column.qualified_name)
    return Column(qualified_name=name, column=column.column) if name else column


def _ambiguity_notes(process: Process, records: Mapping[AssetKey, AssetRecord]) -> tuple[str, ...]:
    """Sentences on data sets with several equally good matches, of which none was chosen."""
    keys = dict.fromkeys(asset.key for asset in (*process.inputs, *process.outputs))
    ambiguous = [key for key in keys if key in records and records[key].rivals]
    rivals = {key: ", ".join(_short(name) for _, name in records[key].rivals[:_MAX_NOTES]) for key in ambiguous}
    return tuple(f"Several assets may be {_short(key[1])}: {rivals[key]}." for key in ambiguous[:_MAX_NOTES])


def _short(name: str) -> str:
    return name if len(name) <= _MAX_NAME else f"{name[:_MAX_NAME]}…"
