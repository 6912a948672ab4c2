"""Pre-registration: the assets that contracts promise are in the catalog before their first run.

They are placeholders with the promised columns, owner and description, and with a status, and they are written in the
publisher's way (`shared/publishing/placeholders.py`): a job's lineage lands on them, and `reconcile` moves it to the
asset that a scan finds later. Scanned assets are left alone. All is done under the publisher's lease, and a repetition
changes nothing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from msgspec import structs

from shared.catalog.port import AssetKey, batches
from shared.governance.checks.findings import Facts, UpstreamLineage, Verdict, lineage_of
from shared.lineage.document import LineageDocument
from shared.maintenance.reconciliation import refreshed_matches
from shared.model import Declared
from shared.publishing.context import PublishContext, remove_unlinked, turn
from shared.publishing.placeholders import CALLS_TO_PLACE, describe, is_outdated, place
from shared.records.asset_record import AssetRecord, Promise
from shared.records.assets import all_assets, read_assets
from shared.storage_layout import asset_key
from throughline.contracts.checking import check_contract
from throughline.products.naming import PromisedAsset


@dataclass(frozen=True, slots=True, kw_only=True)
class Registration:
    """The records of promised assets as they should be: `create`: the catalog lacks them; `change`: their placeholders
    show something else; `keep`: they show it; `scanned`: a scan found them. `others`: by another contract's promise.
    `withdraw`: the contracts promised them earlier, and do no longer.
    """

    create: tuple[AssetRecord, ...] = ()
    change: tuple[AssetRecord, ...] = ()
    keep: tuple[AssetRecord, ...] = ()
    scanned: tuple[AssetRecord, ...] = ()
    others: tuple[AssetRecord, ...] = ()
    withdraw: tuple[AssetRecord, ...] = ()

    @property
    def has_changes(self) -> bool:
        """Whether the catalog changes."""
        return bool(self.create or self.change or self.withdraw)

    @property
    def promised(self) -> tuple[AssetRecord, ...]:
        """All records with a promise of these contracts."""
        return (*self.create, *self.change, *self.keep, *self.scanned)


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """What was done; the records of the promised assets after it; and the qualified names of assets that the catalog
    refused, each with the reason.
    """

    registration: Registration
    records: tuple[AssetRecord, ...]
    refused: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedLineage:
    """The lineage of runs, by which promises are judged, and the facts beside it. `numbers`: of the data sets that runs
    have written, by type and qualified name.
    """

    upstream: UpstreamLineage
    facts: Facts
    numbers: Mapping[AssetKey, int]

    @classmethod
    def of(cls, document: LineageDocument, facts: Facts) -> "JudgedLineage":
        """Index a document."""
        upstream = lineage_of(document)
        datasets = document.datasets
        numbers = {(datasets[n].type, datasets[n].qualified_name): n for n in upstream.flows_into}
        return cls(upstream=upstream, facts=facts, numbers=numbers)

    def promise(self, promised: PromisedAsset, key: AssetKey, earlier: Promise | None) -> Promise:
        """The promise of an asset, which the catalog has as `key`. `earlier`: what its record has."""
        table, contract = promised.table, promised.contract
        broken: set[str] = set()
        if is_written := key in self.numbers:
            one_table = replace(contract, tables=(replace(table, names=(key[1].rstrip("/"),)),))
            results = check_contract(self.upstream.document, one_table, self.facts, upstream=self.upstream)
            broken = {result.demand for result in results if result.verdict is Verdict.BROKEN}
        return Promise(
            source=promised.source,
            title=contract.title,
            columns=tuple((column.name, column.physical or column.logical) for column in table.columns),
            declared=Declared(owner=contract.owner, description=table.description),
            is_written=is_written or (earlier is not None and earlier.is_written),
            broken=tuple(sorted(broken)),
        )


def planned(
    context: PublishContext,
    promises: Sequence[PromisedAsset],
    lineage: JudgedLineage,
    stored: Mapping[AssetKey, AssetRecord] | None = None,
) -> Registration:
    """Compare what is promised with records and catalog: looks the assets up, and writes nothing. `stored`: their
    records, which are read where they are not given. Raises as storage and catalog do.
    """
    by_key = {promised.asset.key: promised for promised in promises}
    if stored is None:
        stored = read_assets(context.storage, by_key)
    earlier_records = [
        stored.get(key) or AssetRecord(own=key, asset=promised.asset, also=promised.asset.also)
        for key, promised in sorted(by_key.items())
    ]
    groups: dict[str, list[AssetRecord]] = {name: [] for name in ("create", "change", "keep", "scanned", "others")}
    for batch in batches(earlier_records, context.publishing.batch):
        for earlier, fresh_asset_record in zip(batch, refreshed_matches(context, batch), strict=True):
            promised = by_key[fresh_asset_record.own]
            if fresh_asset_record.promise and fresh_asset_record.promise.source != promised.source:
                groups["others"].append(fresh_asset_record)
                continue
            promise = lineage.promise(promised, fresh_asset_record.key, fresh_asset_record.promise)
            record = structs.replace(
                fresh_asset_record, asset=fresh_asset_record.asset or promised.asset, promise=promise
            )
            groups[_group(record)].append(_as_stored(record, earlier))
    sources = {promised.source for promised in promises}
    withdrawn = [
        structs.replace(record, promise=None)
        for record in all_assets(context.storage)
        if record.promise and record.promise.source in sources and record.own not in by_key
    ]
    return Registration(withdraw=tuple(withdrawn), **{name: tuple(records) for name, records in groups.items()})


def _group(record: AssetRecord) -> str:
    if record.scanned:
        return "scanned"
    if not record.guid:
        return "create"
    return "change" if is_outdated(record) else "keep"


def _as_stored(record: AssetRecord, earlier: AssetRecord) -> AssetRecord:
    """The stored record where nothing but the time of the look-up differs."""
    return earlier if structs.replace(record, at=earlier.at) == earlier else record


def register(
    context: PublishContext,
    promises: Sequence[PromisedAsset],
    lineage: JudgedLineage,
    progress: Callable[[int], None] = lambda _: None,
) -> Registered:
    """Create and describe the assets, and keep their promises. Repeating it continues. Raises as storage and catalog
    do, and WriteConflict while another publisher holds the lease for three minutes.
    """
    with turn(context):
        rows, storage = context.assets, context.storage
        registration = planned(
            context, promises, lineage, rows.read(storage, [promised.asset.key for promised in promises])
        )
        withdrawn = rows.read(storage, [record.own for record in registration.withdraw])
        for record in registration.promised:
            rows.put(record)
        for record in withdrawn.values():
            rows.put(structs.replace(record, promise=None))
        rows.flush(storage)
        refused: dict[str, str] = {}
        for batch in batches(registration.create, context.publishing.batch):
            assets = [record.asset for record in batch if record.asset]
            lands = context.publishing.now() + context.after(CALLS_TO_PLACE * (len(assets) + 1))
            guids = place(context, assets, lands=lands)
            refused |= {record.own[1]: "the catalog gave it no guid" for record in batch if record.own not in guids}
            rows.flush(storage)
        described = (*registration.create, *registration.change, *withdrawn.values())
        for batch in batches(described, context.publishing.batch):
            description = describe(context, [asset_key(record.own) for record in batch])
            if description.unavailable:
                raise description.unavailable
            names = {asset_key(record.own): record.own[1] for record in batch}
            refused |= {names[key]: str(error) for key, error in description.errors.items()}
            refused |= {
                names[key]: "it is still being written: repeat this in three minutes"
                for key in (*description.later, *description.untried)
            }
            progress(len(batch))
        records = rows.read(storage, [promised.asset.key for promised in promises])
    return Registered(registration=registration, records=tuple(records.values()), refused=refused)


def remove_withdrawn(context: PublishContext, registration: Registration) -> int:
    """Remove the placeholders that are promised no longer and that nothing uses: how many."""
    keys = [record.own for record in registration.withdraw if record.is_placeholder]
    if not keys:
        return 0
    with turn(context):
        return sum(len(remove_unlinked(context, batch).removed) for batch in batches(keys, context.publishing.batch))
