"""Placeholders for data sets that no scan has found: create them, and describe them: columns and lifecycle state.

What a placeholder should show is computed from its record alone: the columns that processes report, and the changes
that applications made of it. `shown` is a digest of what it shows, as far as we know. The publisher is the only writer,
so this converges:

1. A process is written into the ledger with the keys of its assets before their records change, and its digest of
   schemas after that; meanwhile it is being written, or that digest is unknown. So reports of an interrupted write are
   put right when its process is published again.
2. A placeholder whose `shown` differs from what it should show is described. Before the call its record says that it is
   not known what it shows, and until when a call may take effect; after the call, what it shows.
3. An interrupted write may have created or described placeholders later than we know: publishing its process again
   describes them again.
"""

import logging
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

import msgspec
from msgspec import structs

from shared.atlas.columns import weight
from shared.atlas.entities import AssetEntity, asset_entity, lasting_text
from shared.catalog.port import MOST_GUIDS, AssetKey, Catalog, batches
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Asset, AssetSchema, Process
from shared.publishing.context import PublishContext
from shared.publishing.planning import Plan
from shared.records.asset_record import AssetRecord, ColumnReport, LastWrite, merged_reports
from shared.records.waits import Landing
from shared.secrets import text_without_secrets
from shared.storage_layout import asset_key, digest_of
from shared.translation.aggregate import describe_write

_LOG = logging.getLogger("throughline.placeholders")

CALLS_TO_PLACE = 2
"""Calls to create data sets: with their columns, and without where these are refused."""
_CALLS_TO_DESCRIBE = 6
_DESCRIBED_AT_ONCE = 25
"""Columns for each further call: half of what a call holds, since most are read and then written."""


def schema_digest(process: Process | None) -> str:
    """A digest of the schemas that a process reports; empty where there are none."""
    return digest_of(msgspec.json.encode(process.schemas)) if process and process.schemas else ""


def column_report(process: Process, key: AssetKey) -> ColumnReport | None:
    """What a process reports of an asset that it uses; None where it reports nothing."""
    schemas = [schema for schema in process.schemas if schema.qualified_name == key[1]]
    is_written = key in {asset.key for asset in process.outputs}
    is_read = key in {asset.key for asset in process.inputs}
    if not schemas or not (is_written or is_read):
        return None
    columns = {name: kind for schema in reversed(schemas) for name, kind in schema.columns}
    name = (process.qualified_name,)
    return ColumnReport(
        columns=tuple(columns.items()) if len(schemas) > 1 else schemas[0].columns,
        declared=structs.replace(schemas[0].declared, tags=()),
        writers=name if is_written else (),
        readers=() if is_written else name,
    )


def merged_schema(key: AssetKey, processes: Iterable[Process]) -> AssetSchema:
    """The schema of an asset as these processes report it together. Pure."""
    reports = (column_report(process, key) for process in processes)
    return merged_reports(key, filter(None, reports))


def described(record: AssetRecord) -> AssetEntity:
    """The placeholder of a data set as it should be. Pure."""
    type_, name = record.own
    asset = record.asset or Asset(type=type_, qualified_name=name, namespace="", name="")
    state, schema, promise = record.state, record.schema, record.promise_now
    lifecycle = state.sentence if state else ""
    return asset_entity(
        asset,
        " ".join(filter(None, (lifecycle, promise.sentence if promise else ""))),
        schema.columns,
        schema.declared,
        properties=(promise.status, promise.title) if promise else (),
        promised_owner=bool(promise and promise.declared.owner),
        last_write=record.last_write.text if record.last_write else "",
        tests=record.tests,
    )


def shown_digest(entity: AssetEntity) -> str:
    """A digest of what a placeholder shows but for its last write and the results of quality tests, which travel with
    another change.
    """
    attributes = [(name, lasting_text(text)) for name, text in entity.attributes]
    return digest_of(msgspec.json.encode((attributes, entity.columns)))


def is_outdated(record: AssetRecord) -> bool:
    """Whether our placeholder does not show what it should, as far as we know."""
    return record.is_placeholder and record.shown != shown_digest(described(record))


def calls_to_describe(columns: int) -> int:
    """The most calls that an update of a data set with so many columns takes: read it and its schema, write it, remove
    superfluous columns.
    """
    return _CALLS_TO_DESCRIBE + columns // _DESCRIBED_AT_ONCE + columns // MOST_GUIDS


def report_columns(context: PublishContext, plan: Plan) -> frozenset[str]:
    """Note in the records of its assets what the process of a plan reports now, also of those that it used before.
    Returns the keys of all these. What the placeholders of an interrupted write show is not known any more.
    """
    rows, process = context.assets, plan.process
    keys = {asset_key(asset.key): asset.key for asset in plan.assets}
    rows.by_key(context.storage, keys.keys() | plan.entry.assets)
    note_writes(context, plan)
    for key, stored in rows.by_key(context.storage, keys.keys() | plan.entry.assets).items():
        report = column_report(process, keys[key]) if process and key in keys else None
        record = stored.with_report(plan.name, report)
        if process and not process.end_not_seen and record.own in {asset.key for asset in process.outputs}:
            record = record.completed()
        if plan.was_interrupted or plan.repeats:
            record = structs.replace(record, shown="", with_columns=True)
        rows.put(record)
    return frozenset(keys.keys() | plan.entry.assets)


def note_writes(context: PublishContext, plan: Plan) -> None:
    """Note the last write of the process of a plan in the records of what it writes, as far as they were read; of a
    process that is gone, that it wrote nothing.
    """
    process = plan.process
    if process is None:
        for key in plan.entry.assets:
            context.assets.note_write(key, plan.entry.qualified_name, None)
    elif plan.latest:
        facts = plan.latest[1].facts
        for asset in process.outputs:
            text = describe_write(facts, asset, is_only=len(process.outputs) == 1)
            write = LastWrite(facts.last, process.qualified_name, text)
            context.assets.note_write(asset_key(asset.key), process.qualified_name, write)


def place(context: PublishContext, assets: Iterable[Asset], *, lands: datetime) -> dict[AssetKey, str]:
    """Create those of these assets that the catalog does not have. Returns the guids of all assets; those are missing
    that the catalog refused, or that could not be created before the time `lands`.
    """
    rows, batch_limit = context.assets, context.publishing.batch
    records = rows.read(context.storage, dict.fromkeys(asset.key for asset in assets))
    entities = {key: described(record) for key, record in sorted(records.items()) if not record.guid}

    def weigh(entity: AssetEntity) -> int:
        """The number of its entities: without its columns, if these are too many for a call."""
        number = weight(entity.type, entity.columns)
        return number if number <= batch_limit else 1

    for batch in batches(entities.values(), batch_limit, weigh):
        if not context.is_in_time(lands, CALLS_TO_PLACE):
            break
        created, whole_keys = _created(context.catalog, batch, batch_limit)
        for entity in batch:
            if entity.key in created:
                is_whole = entity.key in whole_keys or not entity.columns
                record = structs.replace(
                    records[entity.key],
                    guid=created[entity.key],
                    at=context.publishing.now(),
                    searched=None,
                    shown=shown_digest(entity) if is_whole else "",
                    with_columns=bool(entity.columns) if is_whole else False,
                )
                records[entity.key] = record
                rows.put(record)
    return {key: record.guid for key, record in ((record.key, record) for record in records.values()) if record.guid}


def _created(catalog: Catalog, entities: Sequence[AssetEntity], size: int) -> tuple[dict[AssetKey, str], set[AssetKey]]:
    """The guids, and the assets created with their columns. An asset too wide for a call is created without; where
    columns are refused all are: a catalog with other column types must not prevent lineage.
    """
    fitting = [entity if entity.weight <= size else replace(entity, columns=()) for entity in entities]
    try:
        return catalog.create_assets(fitting), {entity.key for entity in fitting if entity.columns}
    except CatalogRefused as refusal:
        if refusal.no_access or not any(entity.columns for entity in fitting):
            raise
        _LOG.warning("columns refused error=%s", text_without_secrets(str(refusal)))
    return catalog.create_assets([replace(entity, columns=()) for entity in fitting]), set()


@dataclass(slots=True, kw_only=True)
class Description:
    """What became of describing placeholders: how many were `written`; `later`: when those are to be described again
    whose calls may be replaced by older ones, or are waited for, by key; `errors`: why others failed, by key;
    `untried`: the keys of those for which no call was made; `unavailable`: why the catalog was not called further.
    """

    written: int = 0
    later: dict[str, datetime] = field(default_factory=dict)
    errors: dict[str, Exception] = field(default_factory=dict)
    untried: list[str] = field(default_factory=list)
    unavailable: CatalogUnavailable | CatalogRefused | None = None


_Outdated = dict[str, tuple[AssetRecord, AssetEntity]]
"""The records of placeholders, and what they should show, by key."""


def describe(context: PublishContext, keys: Iterable[str]) -> Description:
    """Describe those placeholders among these data sets (by key) that do not show what they should. Writes all records
    that were noted. Raises WriteConflict.
    """
    rows, storage = context.assets, context.storage
    description = Description()
    outdated = _outdated(context, frozenset(keys), description)
    _compare(context, outdated, description)
    if description.unavailable:
        description.untried += outdated
    else:
        _begin(context, outdated)
    rows.flush(storage)
    for key, (record, entity) in outdated.items() if not description.unavailable else ():
        context.publishing.heartbeat()
        in_time = context.is_in_time(record.landing.lands, calls_to_describe(len(entity.columns)))
        if description.unavailable or not in_time:
            description.untried.append(key)
            rows.put(structs.replace(record, landing=record.landing.answered()))
        else:
            rows.put(_described(context, record, entity, description))
    rows.flush(storage)
    return description


def _outdated(context: PublishContext, keys: frozenset[str], description: Description) -> _Outdated:
    """The placeholders to describe now."""
    outdated: _Outdated = {}
    now = context.publishing.now()
    for key, record in sorted(context.assets.by_key(context.storage, keys).items()):
        if not record.is_placeholder:
            continue
        entity, must_repeat = described(record), record.landing.must_repeat(now)
        if record.shown == shown_digest(entity) and not must_repeat:
            continue
        if record.landing.is_open(now):
            description.later[key] = record.landing.until
        else:
            with_columns = record.with_columns or bool(entity.columns) or must_repeat
            outdated[key] = structs.replace(record, with_columns=with_columns), entity
    return outdated


def _compare(context: PublishContext, outdated: _Outdated, description: Description) -> None:
    """Read what those placeholders show of which that is not known, many in a call: those that show what they should
    are taken out. After an interrupted write most do.
    """
    options = context.publishing
    unknown = [
        key for key, (record, _) in outdated.items() if not record.shown or record.landing.must_repeat(options.now())
    ]
    for batch in batches(unknown, options.batch):
        if len(batch) == 1:
            continue  # it is read when it is described
        options.heartbeat()
        bare_keys = frozenset(outdated[key][0].own for key in batch if _is_bare(*outdated[key]))
        try:
            up_to_date = context.catalog.up_to_date([outdated[key][1] for key in batch], bare=bare_keys)
        except (CatalogRefused, CatalogUnavailable) as error:
            if isinstance(error, CatalogRefused) and not error.no_access:
                continue  # each by itself will tell which one it is
            description.unavailable = error
            return
        for key in batch:
            record, entity = outdated[key]
            if entity.key in up_to_date:
                del outdated[key]
                landing = record.landing.begun(options.now(), timedelta(0)).answered()
                context.assets.put(_shown(record, entity, landing, description))


def _begin(context: PublishContext, outdated: _Outdated) -> None:
    """Note of placeholders to be described that it is not known what they show."""
    now, calls = context.publishing.now(), 1
    for key, (record, entity) in outdated.items():
        calls += calls_to_describe(len(entity.columns))
        noted = structs.replace(record, shown="", landing=record.landing.begun(now, context.after(calls)))
        outdated[key] = noted, entity
        context.assets.put(noted)


def _is_bare(record: AssetRecord, entity: AssetEntity) -> bool:
    """Whether it is to have no columns."""
    return record.with_columns and not entity.columns


def _described(
    context: PublishContext, record: AssetRecord, entity: AssetEntity, description: Description
) -> AssetRecord:
    """Describe a placeholder: its record after that. Where its columns are refused the rest is written."""
    catalog, key = context.catalog, asset_key(record.own)
    try:
        description.written += catalog.describe_placeholder(entity, bare=_is_bare(record, entity))
    except (CatalogRefused, CatalogUnavailable) as error:
        description.errors[key] = error
        if isinstance(error, CatalogUnavailable) or error.no_access:
            description.unavailable = error
        elif entity.columns:
            with suppress(CatalogRefused):  # the first refusal counts
                catalog.describe_placeholder(replace(entity, columns=()))
        return structs.replace(record, landing=context.landed(record.landing, error))
    return _shown(record, entity, context.landed(record.landing), description)


def _shown(record: AssetRecord, entity: AssetEntity, landing: Landing, description: Description) -> AssetRecord:
    """The record of a placeholder that shows what it should."""
    if landing.repetition:
        description.later[asset_key(record.own)] = landing.repetition
    return structs.replace(record, shown=shown_digest(entity), with_columns=bool(entity.columns), landing=landing)
