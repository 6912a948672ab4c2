"""`throughline status`: counts of events by outcome, which must add up to the events received."""

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from operator import attrgetter
from typing import Annotated, Any

import typer
from msgspec import to_builtins

from shared.applications.fold import CLOSED
from shared.bootstrap import Worker
from shared.events.dead_letters import DISCARDED
from shared.events.stored_runs import RunFilter
from shared.foreign import POSITION as FOREIGN_POSITION
from shared.foreign import ForeignPosition
from shared.forwarding.outbox import TargetStatus, statuses
from shared.forwarding.rules import parse_forward_rules
from shared.openlineage.selection import BY_SETTINGS
from shared.publishing.shadow import Shadow
from shared.query.published_document import DocumentAge, document_age
from shared.reading.reader import wanted_events
from shared.reading.values import EventRecord
from shared.records.control import mismatch, stored_versions
from shared.records.states import EventState
from shared.reporting.run_report import run_report
from shared.reporting.status import By, ColumnSources, EventGroup, Status, Waiting
from shared.reporting.status import status as read_status
from shared.storage.port import Storage
from shared.translation.run.translate import RUN_FAILED
from throughline.cli.context.target import HOME, Home, parts_of
from throughline.cli.records.runs import no_write_of, writes
from throughline.cli.ui.console import counted, fail, left_out, note, out, plain, print_json, reading_bars
from throughline.cli.ui.options import AsJson, Wide
from throughline.cli.ui.tables import print_table

_STATES = ("published", "skipped", "waiting", "dead")
_MAX_SHOWN = 3
_NO_JOB = "(not on record)"
_NOTEWORTHY = frozenset({RUN_FAILED, DISCARDED, CLOSED, *Waiting}) | BY_SETTINGS
"""Reasons of events that might have had lineage; other skipped events have none to publish."""


def status(
    context: typer.Context,
    *,
    by: Annotated[str, typer.Option(metavar="WHAT", help="Count by day, job or sender, or by several: day,job")] = "",
    table: Annotated[
        str,
        typer.Option(
            metavar="TABLE", help="The runs that write this data set instead: a name, the end of a path or * and ?"
        ),
    ] = "",
    most: Annotated[
        int,
        typer.Option(min=0, metavar="N", help="Only the N groups with most events, or with --table the N newest runs"),
    ] = 0,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Count every event received by its outcome: published, skipped, waiting or dead.

    The sum is checked against the stored events. Days are those of the events' own times, in UTC; a sender is the
    namespace of its jobs, and is not on record of archived events. Exit code 1 when the counts do not add up.
    `throughline run` and `throughline events` show single runs.

    With --table it lists the runs that write a table, the newest first: published if the catalog has the lineage of the
    run, else waiting, skipped or dead with the reason. It reads every event.

        throughline status
        throughline status --by day
        throughline status --by day,job --most 20
        throughline status --by sender
        throughline status --table sales/orders
        throughline status --json | jq .waiting_for
    """
    wanted = _wanted(by)
    if most and not (wanted or table):
        fail("--most needs --by or --table", code=2)
    if table and wanted:
        fail("--table lists runs, --by counts events: write one of them", code=2)
    parts = parts_of(context, home)
    storage = parts.storage
    if table:
        show_table_runs(storage, table, most, wide=wide, as_json=as_json)
        return
    with reading_bars() as seen_reading_bars:
        counts_read = read_status(storage, by=wanted, seen=seen_reading_bars)
        stored = stored_versions(storage)
        document = document_age(storage, datetime.now(UTC))
        foreign = FOREIGN_POSITION.load(storage) if parts.publishing.foreign_depth else None
        targets = _targets(parts)
    problem = mismatch(stored) if stored else ""
    if as_json:
        ages = {
            "document": asdict(document) if document else None,
            "foreign_lineage": to_builtins(foreign) if foreign else None,
            "forward": [asdict(target) for target in targets],
        }
        print_json({**_document(counts_read, wanted, most), "version_problem": problem or None, **ages})
    elif wanted:
        _show_groups(counts_read, wanted, most, wide=wide)
    else:
        show(counts_read, wide=wide)
        _note_attention(document, foreign, targets, problem)
    if not counts_read.reconciles:
        raise typer.Exit(1)


def _note_attention(
    document: DocumentAge | None, foreign: ForeignPosition | None, targets: Sequence[TargetStatus], problem: str
) -> None:
    """Name what is late, below the counts."""
    if document and document.is_stale and document.oldest:
        changed = counted(document.waiting, "changed process")
        note(
            "document",
            f"the published document is stale: it lacks {changed}, the first since"
            f" {document.oldest:%Y-%m-%d %H:%M} UTC. The log line `sweep` says why",
        )
    if foreign and foreign.failed:
        note(
            "foreign lineage",
            f"the catalog did not answer at {foreign.tried:%Y-%m-%d %H:%M} UTC, so that of"
            f" {foreign.checked:%Y-%m-%d %H:%M} is shown. The log of the sweeper says why; it tries again",
        )
    for target in targets:
        if target.waiting or target.dead:
            note("forward", target_in_words(target))
    if problem:
        note("versions", problem)


def _targets(parts: Worker) -> tuple[TargetStatus, ...]:
    """The targets of forwarding; none where nothing is forwarded."""
    rules = parts.forward_settings.rules
    return statuses(parts.storage, parse_forward_rules(rules.text, rules.place)) if rules else ()


def target_in_words(target: TargetStatus) -> str:
    """What waits for a target, and why, in one line."""
    since = f" since {target.oldest:%Y-%m-%d %H:%M} UTC" if target.oldest else ""
    words = f"{target.target} has not taken {counted(target.waiting, 'run')}{since}" if target.waiting else ""
    paused = f"it is left alone until {target.paused.until:%H:%M:%S}: {target.paused.reason}" if target.paused else ""
    dead = f"{target.target} refuses {counted(target.dead, 'run')}: {target.dead_because}" if target.dead else ""
    return "; ".join(filter(None, (words, paused, dead))) + ". `throughline forward` lists the targets"


def _wanted(text: str) -> tuple[By, ...]:
    try:
        return tuple(dict.fromkeys(By(part.strip()) for part in text.split(",") if text))
    except ValueError:
        return fail(f"--by takes day, job and sender, separated by commas, not {text!r}", code=2)


def _document(counts_read: Status, by: Sequence[By], most: int) -> dict[str, Any]:
    document = {**asdict(counts_read), "reconciles": counts_read.reconciles}
    del document["groups"]
    if by:
        left_out = set(By) - set(by)
        document["by"] = [
            {name: value for name, value in asdict(event_group).items() if name not in left_out}
            for event_group in _largest(counts_read.groups, most)
        ]
        document["groups"] = len(counts_read.groups)
    return document


def _largest(groups: Sequence[EventGroup], limit: int) -> Sequence[EventGroup]:
    """The `limit` groups (0: all) with the most events, in their order."""
    if not limit:
        return groups
    largest = set(heapq.nlargest(limit, groups, key=lambda group: group.received))
    return [group for group in groups if group in largest]


def _show_groups(counts_read: Status, by: Sequence[By], most: int, *, wide: bool) -> None:
    """A line for each group, one for those that are left out, and the sum of all."""
    groups = _largest(counts_read.groups, most)
    blank, counts = [""] * (len(by) - 1), ("received", *_STATES)
    rows = [[*(getattr(group, dimension) or _NO_JOB for dimension in by), *_numbers(group)] for group in groups]
    notes = [
        [
            f"{count:,} {'waiting for ' if reason in set(Waiting) else ''}{reason}"
            for count, reason in _reasons(group.reasons, wide=wide)
        ]
        for group in groups
    ]
    if others := set(counts_read.groups).difference(groups):
        sums = (f"{sum(getattr(group, name) for group in others):,}" for name in counts)
        rows.append([f"{len(others):,} more", *blank, *sums])
    rows.append([f"{'=' if counts_read.reconciles else '≠'} all", *blank, *_numbers(counts_read)])
    print_table((*by, *counts), rows, numbers=counts, notes=notes, wide=wide)


def _numbers(counts: EventGroup | Status) -> list[str]:
    return [f"{getattr(counts, name):,}" for name in ("received", *_STATES)]


def shadow_in_words(shadow: Shadow) -> str:
    """What shadow mode keeps from the catalog, in one line."""
    words = f"would write {counted(shadow.writes, 'process')}, {counted(shadow.creates, 'asset')}"
    words += f", remove {shadow.removes:,}"
    return f"{words}, describe {shadow.describes:,}" if shadow.describes else words


def columns_in_words(columns: ColumnSources) -> str:
    """Who gave the columns of Spark's runs, in one line."""
    differ = f" ({columns.differ:,} unlike the listener's events)" if columns.differ else ""
    opaque = f", {columns.opaque:,} by plan with upper bounds" if columns.opaque else ""
    partly = f", {columns.partly:,} partly by plan" if columns.partly else ""
    rdd = f", {columns.rdd:,} not known (made by an RDD)" if columns.rdd else ""
    sources_text = f"{columns.exact:,} exact by plan{differ}{opaque}{partly}, {columns.listener:,} by listener only"
    return f"columns of {counted(columns.runs, 'Spark run')}: {sources_text}{rdd}"


def _show_columns(counts_read: Status) -> None:
    if counts_read.columns.runs:
        out.print(columns_in_words(counts_read.columns))
    if counts_read.plans_lost:
        number = counted(counts_read.plans_lost, "plan")
        out.print(
            f"[yellow]plans lost:[/] {number} of Spark did not arrive; the listener gave the columns of their writes"
        )


def show(counts_read: Status, *, wide: bool = False) -> None:
    """Print the counts as a table, what needs attention below it; `wide` lists every reason."""
    width = len(f"= {counts_read.received:,}")
    for name in _STATES:
        out.print(f"{getattr(counts_read, name):>{width},}  {name}")
        reasons = {"skipped": counts_read.skipped_because, "waiting": counts_read.waiting_for}.get(name, {})
        for count, reason in _reasons(reasons, wide=wide or name == "waiting"):
            out.print(f"{'':{width}}  [dim]{count:,} {'for ' if name == 'waiting' else ''}{plain(reason)}[/]")
    out.print(f"[bold]{'=' if counts_read.reconciles else '≠'} {counts_read.received:,}  received[/]")
    out.print(
        f"{counted(counts_read.processes, 'process')} in the catalog, "
        f"{counts_read.publish_queue:,} in the publish queue"
    )
    _show_columns(counts_read)
    if any(asdict(counts_read.shadow).values()):
        out.print(f"[yellow]shadow mode:[/] {shadow_in_words(counts_read.shadow)}; `throughline shadow` lists it")
    if counts_read.ambiguous:
        more = " …" if len(counts_read.ambiguous) > _MAX_SHOWN else ""
        first = ", ".join(counts_read.ambiguous[:_MAX_SHOWN]) + more
        many = counted(len(counts_read.ambiguous), "data set")
        out.print(f"[yellow]ambiguous:[/] {many} with more than one matching catalog asset: {plain(first)}")
        out.print("`throughline reconcile --plan` lists them, `throughline explain … --look` shows why")
    if counts_read.sweep_is_behind:
        out.print("[yellow]sweep:[/] too many events for one sweep: missed ones are found later")
    if counts_read.rejected:
        out.print(f"{counted(counts_read.rejected, 'request')} rejected by the receiver")
    if counts_read.oldest_waiting:
        out.print(f"oldest waiting: {counts_read.oldest_waiting:%Y-%m-%d %H:%M:%S} UTC")
    for error in counts_read.last_errors:
        out.print(f"[red]{plain(error)}[/]")


def _reasons(counts: Mapping[str, int], *, wide: bool) -> list[tuple[int, str]]:
    """Counts with their reasons; events that cannot have lineage are folded into one line, unless `wide`."""
    if wide:
        return [(count, reason) for reason, count in counts.items()]
    shown_reasons = [(count, reason) for reason, count in counts.items() if reason in _NOTEWORTHY]
    folded = sum(counts.values()) - sum(count for count, _ in shown_reasons)
    if folded:
        shown_reasons.append((folded, "carry no lineage to publish, as expected (--wide lists why)"))
    return shown_reasons


_RUNS = 20
"""Runs that are shown unless --most says how many."""


def show_table_runs(storage: Storage, table: str, limit: int, *, wide: bool, as_json: bool) -> None:
    """Print the runs whose events name the table as an output. Ends the command where there is none. Raises
    StorageUnavailable, ArchiveMissing and ContentLost.
    """
    with reading_bars() as seen_reading_bars:
        last = dict[str, EventRecord]()
        for record in wanted_events(storage, RunFilter(), content=True):
            seen_reading_bars("events", 1)
            if writes(record.raw, table):
                run_id = record.event.run_id
                last[run_id] = max(last.get(run_id, record), record, key=attrgetter("event.time"))
        if not last:
            fail(no_write_of(table))
        newest = sorted(last.values(), key=attrgetter("event.time"), reverse=True)
        shown = newest[: limit or _RUNS]
        reports = [
            (record, report)
            for record in shown
            if (report := run_report(storage, record.event.run_id, application=record.event.application))
        ]
    if as_json:
        documents = [
            {
                "run_id": report.run_id,
                "job": record.job,
                "last_event": record.event.time,
                "end": report.end,
                "state": report.state,
                "reason": report.outcome[1] or None,
                "in_catalog": report.outcome[0] == EventState.PUBLISHED,
            }
            for record, report in reports
        ]
        print_json({"runs": documents, "count": len(newest)})
        return
    rows = [
        (f"{record.event.time:%Y-%m-%d %H:%M:%S}", report.run_id, report.outcome[0], record.job, report.outcome[1])
        for record, report in reports
    ]
    notes = () if wide else [list(filter(None, row[3:])) for row in rows]
    print_table(("last event", "run", "state", "job", "reason"), rows, notes=notes, wide=wide, only_wide=2)
    out.print(f"{counted(len(newest), 'run')}{left_out(len(newest) - len(shown))}")
    out.print("\nNext: `throughline run ID` shows one, and what to do about it")
