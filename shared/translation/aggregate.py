"""Aggregate the contributions to a process into the process that the catalog should hold, without what settings
exclude.

A process is the union of the contributions that are not superseded. A newer application run that has written the
process supersedes older ones once it has completed or been quiet for long enough. Newer is by the application run's
earliest event time, then its id, never by arrival. In applications that never end, contributions unseen for days before
the process's newest one are dropped; so are those of an ended application once a newer one that never ends has written
without them for as long.

Path settings remove data sets from a process. Applied last, to the aggregated process: lineage still passes through
excluded tables, records stay complete, and a changed setting needs no replay of events. The catalog gets a process
without them. Policies get a process in which `EXCLUDED` stands for the excluded sources, so that a filter never makes
lineage look clean.

What excluded jobs write is not known: data sets that are written by jobs whose events the settings ignore.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from shared.model import (
    ANY_EXCLUDED,
    DIRECT,
    EXCLUDED,
    ApplicationTimes,
    Asset,
    Column,
    ColumnEdge,
    Contribution,
    Process,
    Span,
)
from shared.naming.names import canonical
from shared.naming.stores.families import Identity
from shared.openlineage.selection import MATCH_ALL, GlobFilter
from shared.translation.process.union import ALL_ROWS, latest, sources, union, union_edges
from shared.translation.run.facts import _MAX_STATEMENT, RunFacts, Written
from shared.translation.sql.statement_reader import redact


def asset_names(asset: Asset) -> tuple[str, ...]:
    """The names that path patterns match: the qualified name, the events' spellings, and names of the table."""
    spelled = f"{asset.namespace.rstrip('/')}/{asset.name.lstrip('/')}"
    return (asset.qualified_name, asset.name, spelled, *asset.tables)


def with_excluded(process: Process | None, paths: GlobFilter) -> Process | None:
    """The process without rejected outputs, and with EXCLUDED in place of rejected inputs and their columns; None if no
    output is left.
    """
    if process is None or paths == MATCH_ALL:
        return process
    inputs = tuple(asset for asset in process.inputs if paths.accepts(asset_names(asset)))
    outputs = tuple(asset for asset in process.outputs if paths.accepts(asset_names(asset)))
    if not outputs:
        return None
    if len(inputs) == len(process.inputs) and len(outputs) == len(process.outputs):
        return process
    sinks = {asset.qualified_name for asset in outputs}
    kept_sinks = sinks | {asset.qualified_name for asset in inputs}
    return replace(
        process,
        inputs=tuple(sorted((*inputs, EXCLUDED))) if len(inputs) < len(process.inputs) else inputs,
        outputs=outputs,
        columns=union_edges(
            edge if edge.input.qualified_name in kept_sinks else replace(edge, input=ANY_EXCLUDED, expressions=())
            for edge in process.columns
            if edge.output.qualified_name in sinks
        ),
        sourceless=tuple(column for column in process.sourceless if column.qualified_name in sinks),
        parsed=tuple(name for name in process.parsed if name in kept_sinks),
        schemas=tuple(schema for schema in process.schemas if schema.qualified_name in kept_sinks),
    )


def published(process: Process | None) -> Process | None:
    """The process as the catalog gets it: without EXCLUDED and its columns; None if it has no other input."""
    if process is None or EXCLUDED not in process.inputs:
        return process
    inputs = tuple(asset for asset in process.inputs if asset != EXCLUDED)
    columns = tuple(edge for edge in process.columns if edge.input != ANY_EXCLUDED)
    return replace(process, inputs=inputs, columns=columns) if inputs else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ExcludedWrite:
    """A data set by its spelling in events, with its names in catalogs of tables, and the time of the last ignored
    event by which it was written.
    """

    namespace: str
    name: str
    tables: tuple[str, ...] = ()
    last: datetime

    @property
    def spelling(self) -> str:
        """Namespace and name as one text."""
        return f"{self.namespace.rstrip('/')}/{self.name.lstrip('/')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Writes:
    """Excluded writes by the identities and the tables of their data sets."""

    by_identity: Mapping[Identity, ExcludedWrite]
    by_table: Mapping[str, ExcludedWrite]

    @classmethod
    def of(cls, writes: Iterable[ExcludedWrite]) -> "Writes":
        """Of several writes to one data set the last."""
        ordered = sorted(writes, key=lambda write: write.last)
        return cls(
            by_identity={
                canonical(excluded_write.namespace, excluded_write.name): excluded_write for excluded_write in ordered
            },
            by_table={table.lower(): write_of_table for write_of_table in ordered for table in write_of_table.tables},
        )

    def to(self, asset: Asset) -> ExcludedWrite | None:
        """The write to an asset, if there is one."""
        write_by_identity = self.by_identity.get(canonical(asset.namespace, asset.name))
        return write_by_identity or next(
            (self.by_table[table] for table in asset.tables if table in self.by_table), None
        )


def excluded_jobs(
    writes: Iterable[ExcludedWrite], processes: Iterable[tuple[Process, datetime | None]]
) -> Iterator[tuple[Process, datetime]]:
    """A process for each data set of these processes (with the times of their last runs) that an excluded write reached
    later than they did. It makes each known column of EXCLUDED; the time is that of the write.
    """
    by_asset = Writes.of(writes)
    assets: dict[str, Asset] = {}
    columns: dict[str, set[str]] = {}
    written_moments: dict[str, datetime] = {}
    for process, last in processes:
        assets |= {asset.qualified_name: asset for asset in (*process.inputs, *process.outputs)}
        if last:
            written_moments |= {
                output.qualified_name: max(last, written_moments.get(output.qualified_name, last))
                for output in process.outputs
            }
        for schema in process.schemas:
            columns.setdefault(schema.qualified_name, set()).update(name for name, _ in schema.columns)
        for end in (end for edge in process.columns for end in (edge.input, edge.output)):
            columns.setdefault(end.qualified_name, set()).add(end.column)
    for name, asset in sorted(assets.items()):
        write = by_asset.to(asset)
        if write and (name not in written_moments or written_moments[name] < write.last):
            yield _process(asset, sorted(columns.get(name, set()) - {ALL_ROWS})), write.last


def _process(asset: Asset, columns: Iterable[str]) -> Process:
    return Process(
        qualified_name=f"{EXCLUDED.namespace}/jobs/{asset.qualified_name}",
        name="jobs that a filter leaves out",
        operations=(),
        inputs=(EXCLUDED,),
        outputs=(asset,),
        columns=tuple(
            ColumnEdge(input=ANY_EXCLUDED, output=Column(qualified_name=asset.qualified_name, column=name), kind=DIRECT)
            for name in columns
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SupersessionPolicy:
    """Delays: `quiet` until a newer run without an end counts as over, `unseen` until a contribution is dropped."""

    quiet: timedelta = timedelta(hours=1)
    unseen: timedelta = timedelta(days=7)


class AggregatedProcess(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The process (None without an input or output), and when the passing of time alone may change it."""

    process: Process | None
    revisit: datetime | None = None


class _Application(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    run: str
    first: datetime
    last: datetime
    ended: str | None
    contributions: tuple[Contribution, ...]


_NOTHING_KNOWN = ApplicationTimes()


def aggregate(
    contributions: Iterable[Contribution],
    applications: Mapping[str, ApplicationTimes],
    *,
    now: datetime | None,
    patience: SupersessionPolicy | None = None,
) -> AggregatedProcess:
    """Aggregate the contributions to one process as of `now` (None: no clock, so quietness never counts)."""
    known_contributions = tuple(contributions)
    if len(known_contributions) < 2:  # noqa: PLR2004 - a single one is never superseded
        return AggregatedProcess(
            process=_without_noise(known_contributions[0].content) if known_contributions else None
        )
    patience = patience or SupersessionPolicy()
    ordered = _applications(known_contributions, applications)
    oldest, revisit = 0, None
    for index, application in enumerate(ordered):
        quiet = application.last + patience.quiet
        unended = application.ended is None
        if application.ended == "COMPLETE" or (unended and now and quiet <= now):
            oldest, revisit = index, None
        elif unended and now and index > 0:
            revisit = min(quiet, revisit or quiet)
    seen_contributions = _still_seen(ordered[oldest:], patience)
    process = union([contribution.content for contribution in seen_contributions])
    return AggregatedProcess(
        process=_without_noise(replace(process, schemas=latest(seen_contributions))), revisit=revisit
    )


def _still_seen(current: Sequence[_Application], patience: SupersessionPolicy) -> list[Contribution]:
    """The contributions of these applications (oldest first) that were not unseen for too long.

    The age of an ended application does not count: a monthly one must not lose, at the first write of its next run,
    edges that a later write of that run will contribute again.
    """
    newest = max(contribution.seen.last for application in current for contribution in application.contributions)
    kept_contributions: list[Contribution] = []
    endless_since: datetime | None = None
    for application in reversed(current):
        if not application.ended:
            endless_since = application.first
        kept_contributions += [
            contribution
            for contribution in application.contributions
            if endless_since is None or newest - max(contribution.seen.last, endless_since) <= patience.unseen
        ]
    return kept_contributions


def _applications(
    contributions: Iterable[Contribution], facts: Mapping[str, ApplicationTimes]
) -> tuple[_Application, ...]:
    """The application runs that contributed, oldest first."""
    grouped: dict[str, list[Contribution]] = {}
    for contribution in contributions:
        grouped.setdefault(contribution.application_run, []).append(contribution)
    applications = []
    for run, own_contributions in grouped.items():
        known_application_times = facts.get(run, _NOTHING_KNOWN)
        span = own_contributions[0].seen
        for contribution in own_contributions[1:]:
            span |= contribution.seen
        if known_application_times.first and known_application_times.last:
            span |= Span(first=known_application_times.first, last=known_application_times.last)
        applications.append(
            _Application(
                run=run,
                first=span.first,
                last=span.last,
                ended=known_application_times.ended,
                contributions=tuple(own_contributions),
            )
        )
    return tuple(sorted(applications, key=lambda application: (application.first, application.run)))


def _prefer_reported(columns: tuple[ColumnEdge, ...]) -> tuple[ColumnEdge, ...]:
    """The edges without parsed ones between two data sets for which events report columns. Edges to all rows stay:
    events often omit them (the ON of a MERGE).
    """
    reported = {(edge.input.qualified_name, edge.output.qualified_name) for edge in columns if not edge.parsed}
    return tuple(
        edge
        for edge in columns
        if not edge.parsed
        or edge.output.column == ALL_ROWS
        or (edge.input.qualified_name, edge.output.qualified_name) not in reported
    )


_PARSED = attrgetter("parsed")


def _without_noise(process: Process) -> Process | None:
    """The process without self-loops (a MERGE's target is not its own source); None without an input or output."""
    sinks = {asset.qualified_name for asset in process.outputs}
    inputs = tuple([asset for asset in sources(process) if asset.qualified_name not in sinks])
    if not inputs or not process.outputs:
        return None
    parsed = any(map(_PARSED, process.columns))
    if len(inputs) == len(process.inputs) and not (process.batch_inputs or process.unresolved_tables or parsed):
        return process
    columns = tuple(edge for edge in process.columns if edge.input.qualified_name not in sinks)
    columns = _prefer_reported(columns) if parsed else columns
    return replace(process, inputs=inputs, columns=columns, batch_inputs=())


def amount_written(facts: RunFacts, asset: Asset, *, is_only: bool) -> Written | None:
    """How much a run wrote to a data set; `is_only`: it wrote no other one, which may have another name there."""
    amounts = [amount for amount in facts.written if (amount.namespace, amount.name) == (asset.namespace, asset.name)]
    if not amounts and is_only and len(facts.written) == 1:
        amounts = list(facts.written)
    return amounts[0] if amounts else None


def describe_run(facts: RunFacts, process: Process, statement: str = "") -> str:
    """A few lines for people: the facts that concern this process, and the SQL statement without literals."""
    outcome = f", succeeded in {_duration((facts.last - facts.first).total_seconds())}" if facts.ended else ""
    is_only = len(process.outputs) == 1
    amounts = _amounts(amount_written(facts, asset, is_only=is_only) for asset in process.outputs)
    lines = [
        f"{_time(facts)}{outcome}{amounts}.",
        _sentence("Job", facts.job, ("in", facts.namespace), ("on", facts.platform), ("by", facts.user)),
        _sentence("Workspace", facts.workspace),
        facts.link,
        _sentence("Engine", facts.engine, ("with listener", facts.listener)),
        _sentence("Code", facts.code, ("at commit", facts.commit)),
        *(f"{title[:1].upper()}{title[1:]}: {text}." for title, text in facts.stated),
        f"SQL: {redact(statement)[:_MAX_STATEMENT]}" if statement else "",
    ]
    return "\n".join(filter(None, lines))


def describe_write(facts: RunFacts, asset: Asset, *, is_only: bool) -> str:
    """A line for people: when and by which job a run wrote this data set, and how much; `is_only` as `amount_written`
    has it.
    """
    job = f" by {facts.job}" if facts.job else ""
    return f"{_time(facts)}{job}{_amounts([amount_written(facts, asset, is_only=is_only)])}."


def _time(facts: RunFacts) -> str:
    return f"{facts.last:%Y-%m-%d %H:%M} UTC"


def _sentence(title: str, value: str, *phrases: tuple[str, str]) -> str:
    text = " ".join([f"{title}: {value}"] + [f"{preposition} {word}" for preposition, word in phrases if word])
    return f"{text}." if value else ""


def _amounts(amounts: Iterable[Written | None]) -> str:
    reported = list(filter(None, amounts))
    rows = [amount.rows for amount in reported if amount.rows is not None]
    sizes = [amount.size for amount in reported if amount.size is not None]
    return (f"; {sum(rows):,} rows" if rows else "") + (f"{',' if rows else ';'} {_size(sum(sizes))}" if sizes else "")


def _duration(seconds: float) -> str:
    rounded = round(seconds)
    if rounded < 60:  # noqa: PLR2004 - a minute
        return f"{rounded} s"
    minutes, remainder = divmod(rounded, 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {remainder} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _size(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:  # noqa: PLR2004 - what a unit holds
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
