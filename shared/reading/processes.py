"""All recorded processes as they should be now, for reports. Reads only; the catalog is not asked."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from shared.atlas.entities import ProcessEntity
from shared.model import Process, Span
from shared.publishing.context import PublishOptions
from shared.publishing.planning import ProcessRows, current, latest_runs, read_process, read_processes
from shared.publishing.resolution import resolved_entity
from shared.records.asset_record import AssetRecord
from shared.records.assets import all_assets
from shared.storage.port import Storage
from shared.translation.aggregate import published
from shared.translation.process.identity import is_check
from shared.translation.run.facts import RunFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedProcess:
    """A recorded process as it should be now, with EXCLUDED in place of excluded inputs. `key`: its key in the ledger;
    `seen`: when runs contributed to it; `last_supporter`: the last run that supports it, in the application
    `last_application`, with its `facts`; `starts`: when its last runs began to contribute, sorted.
    """

    key: str
    process: Process
    seen: Span | None
    last_supporter: str
    last_application: str = ""
    facts: RunFacts | None = None
    starts: tuple[datetime, ...] = ()


def recorded_processes(storage: Storage, options: PublishOptions) -> Iterator[RecordedProcess]:
    """All recorded processes but checks, also those that the catalog does not get because path settings exclude all
    that they read: one scan. Raises ContentLost.
    """
    yield from filter(None, (_recorded(storage, options, rows) for rows in read_processes(storage)))


def recorded_process(storage: Storage, options: PublishOptions, key: str) -> RecordedProcess | None:
    """One of them, by its key: one query. None where it is not on record. Raises ContentLost."""
    return _recorded(storage, options, read_process(storage, key))


def _recorded(storage: Storage, options: PublishOptions, rows: ProcessRows) -> RecordedProcess | None:
    total, loaded = current(storage, rows, options)
    if total.process is None or is_check(total.process.qualified_name):
        return None
    latest = latest_runs(loaded)
    starts = {start for part in rows.counting.values() for start in part.loaded(storage).starts}
    return RecordedProcess(
        key=rows.key,
        process=total.process,
        seen=rows.seen,
        last_supporter=latest[0][1].run_id if latest else "",
        last_application=latest[0][0] if latest else "",
        facts=latest[0][1].facts if latest else None,
        starts=tuple(sorted(starts | set(rows.entry.forgotten.starts))),
    )


def recorded(storage: Storage, options: PublishOptions) -> Iterator[tuple[Process, ProcessEntity]]:
    """All recorded processes, with the entities that the catalog should hold; matches are remembered ones."""
    matches = {record.own: record for record in all_assets(storage)}
    for record in recorded_processes(storage, options):
        if entity := entity_of(record.process, matches, options):
            yield record.process, entity


def entity_of(
    process: Process, matches: Mapping[tuple[str, str], AssetRecord], options: PublishOptions
) -> ProcessEntity | None:
    """The entity that the catalog should hold of a recorded process; None for none. Pure."""
    visible = published(process)
    return resolved_entity(visible, matches, with_indirect=options.with_indirect) if visible else None
