"""Aggregate the contributions to a process into the process that the catalog should hold.

A process is the union of the contributions that are not superseded. A newer application run that has written the
process supersedes older ones once it has completed or been quiet for long enough. Newer is by the application run's
earliest event time, then its id, never by arrival. In applications that never end, contributions unseen for days before
the process's newest one are dropped; so are those of an ended application once a newer one that never ends has written
without them for as long.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from shared.model import ApplicationTimes, ColumnEdge, Contribution, Process, Span
from shared.translation.process.union import ALL_ROWS, latest, sources, union


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
    found = tuple(contributions)
    if len(found) < 2:  # noqa: PLR2004 - a single one is never superseded
        return AggregatedProcess(process=_without_noise(found[0].content) if found else None)
    patience = patience or SupersessionPolicy()
    ordered = _applications(found, applications)
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
    for each in contributions:
        grouped.setdefault(each.application_run, []).append(each)
    applications = []
    for run, own_contributions in grouped.items():
        known_application_times = facts.get(run, _NOTHING_KNOWN)
        span = own_contributions[0].seen
        for each in own_contributions[1:]:
            span |= each.seen
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
