"""`throughline watch`: announce changes of lineage, each once, with who is hit."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from shared.announcing.local_channels import TelemetryChannel
from shared.announcing.outbox import standing
from shared.announcing.recorded_state import ReadCatalog, gates_of, no_gates, recorded_snapshot, with_merged_schemas
from shared.announcing.rounds import Watched, WatchOptions, pending_messages
from shared.announcing.rounds import watch as watch_round
from shared.bootstrap import Worker, watching
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_policies
from shared.watching.comparing.snapshot import Snapshot, overdue, snapshot_of
from shared.watching.messages import Message
from shared.watching.rendering import lines
from shared.watching.rules import WatchRules, parse_watch_rules, unmatched
from throughline.cli.commands.lake.lake_session import opened_lake
from throughline.cli.context.parsed_file import parsed_file
from throughline.cli.context.target import HOME, Home, parts_of, reported
from throughline.cli.ui.console import counted, fail, note, out, plain, print_json
from throughline.cli.ui.interrupt import stopping
from throughline.cli.ui.options import AsJson, Plan
from throughline.lake.engine_choice import EngineName

_PAUSE = 60.0
"""Seconds between two rounds; the sweeper has the same."""


def watch(
    context: typer.Context,
    *,
    once: Annotated[bool, typer.Option("--once", help="Do one comparison, then end")] = False,
    plan: Plan = False,
    rules: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The rules; default: those of THROUGHLINE_WATCH")
    ] = None,
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Policies as gates; default: THROUGHLINE_WATCH_POLICY"),
    ] = None,
    lake: Annotated[str, typer.Option(metavar="FOLDER", help="Watch the lake instead of the record")] = "",
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Announce changes of lineage: schemas, sources, lost masks, overdue jobs, broken policies. Each change once, with
    who is hit.

    A file of rules says what goes to which channel: a webhook, Slack, Teams, a file, or telemetry for an alert. The
    first comparison only stores a snapshot. The sweeper does the same where THROUGHLINE_WATCH names the rules; a change
    is announced once, by the one that sees it first. Without --once it goes on until Ctrl-C, a round each minute.

        throughline watch --plan
        throughline watch --once --rules watch.toml
        throughline watch --once --rules watch.toml --policy policy.toml
    """
    rules_of_file = parsed_file(rules, parse_watch_rules) if rules else None
    policies_of_file = parsed_file(policy, parse_policies) if policy else None
    parts = parts_of(context, home, writes=not plan)
    source = "lake" if lake else "record"
    policies = policies_of_file or _policies(parts)

    def look(routing: WatchRules, *, notes: bool = True) -> Snapshot:
        if lake:
            snapshot = _lake(lake, policies, parts.read_catalog)
        else:
            gates = gates_of(policies, parts.read_catalog) if policies else no_gates
            with_foreign = routing.foreign_lineage
            snapshot = recorded_snapshot(parts.storage, parts.publishing, gates, with_foreign=with_foreign)
        names = [policy.name for policy in policies.policies] if policies else []
        for remark in unmatched(routing, snapshot.document, names) if notes else ():
            note(f"rules, line {remark.line}", remark.text)
        return snapshot

    if plan:
        options = _options(parts, rules_of_file) if rules_of_file else parts.watching
        snapshot = look(options.rules if options else WatchRules())
        if standing(parts.storage, source).looked is None:
            note("first snapshot", f"none of the {source} is stored to compare with: --once takes it")
        _show(pending_messages(parts.storage, source, snapshot, datetime.now(UTC)), as_json=as_json)
        return
    options = replace(_options(parts, rules_of_file), source=source)

    def compare(*, at_once: bool) -> Watched | None:
        is_first = standing(parts.storage, source).looked is None
        watched = watch_round(parts.storage, options, lambda: look(options.rules, notes=at_once), at_once=at_once)
        if is_first and watched and watched.looked:
            note(
                "first snapshot",
                f"the {source} is stored as it is now, and nothing is announced yet: the next comparison announces what"
                " changes from now on",
            )
        return watched

    if once:
        _report(compare(at_once=True), as_json=as_json)
        return
    _go_on(partial(compare, at_once=False), as_json=as_json)


def _options(parts: Worker, rules: WatchRules | None) -> WatchOptions:
    """How to watch, by the rules given or those of the settings; ends the command where they are missing or wrong."""
    options = parts.watching
    if rules:
        options = watching(rules, parts.watch_settings, parts.telemetry, parts.read_catalog)
    if options is None:
        fail("no rules: give --rules FILE, or set THROUGHLINE_WATCH. docs/operate/watch.md has an example", code=2)
    local = {name: sender for name, sender in options.senders.items() if not isinstance(sender, TelemetryChannel)}
    if len(local) < len(options.senders):
        note("telemetry", "messages for channels of the kind telemetry are left to the sweeper, which writes its lines")
    return replace(options, senders=local)


def _policies(parts: Worker) -> Rules | None:
    """The policies of the settings."""
    text_file = parts.watch_settings.policy
    return parse_policies(text_file.text, text_file.place) if text_file else None


def _lake(root: str, policies: Rules | None, read_catalog: ReadCatalog) -> Snapshot:
    """The snapshot of a lake. What is overdue, is so at the time of its last event: it knows nothing later."""
    with opened_lake(root, engine=EngineName.auto) as lake_session:
        from throughline.lake.gold.lineage_document import (  # noqa: PLC0415 - needs PySpark
            document_of_lake,
            newest_event,
            quality_of_lake,
            starts_in,
        )

        now = newest_event(lake_session)
        late = (overdue(process, starts, now) for process, starts in starts_in(lake_session).items()) if now else ()
        document = document_of_lake(lake_session, merge=with_merged_schemas)
        judged = document_of_lake(lake_session, expressions=True) if policies else document
        gates = gates_of(policies, read_catalog, quality=quality_of_lake(lake_session)) if policies else no_gates
        broken = tuple(gates(judged))
        return snapshot_of(document, overdue=tuple(overdue_job for overdue_job in late if overdue_job), broken=broken)


def _go_on(compare: Callable[[], Watched | None], *, as_json: bool) -> None:
    """A round each minute until Ctrl-C."""
    with stopping() as stop, reported("What was decided is kept: start it again"):
        while not stop.is_set():
            watched = compare()
            if watched and (watched.decided or watched.sent or watched.refused or watched.failed):
                _print(watched, as_json=as_json)
            stop.wait(_PAUSE)


def _show(messages: Sequence[Message], *, as_json: bool) -> None:
    if as_json:
        print_json({"messages": msgspec.to_builtins(messages)})
        return
    for message in messages:
        first, *further_lines = lines(message)
        out.print(f"[bold]{plain(first)}[/]")
        for line in further_lines:
            out.print(f"  {plain(line)}", soft_wrap=True)
    out.print(f"{counted(len(messages), 'message')} would be decided")


def _report(watched: Watched | None, *, as_json: bool) -> None:
    """Print what a round did; the exit code is 1 where a channel did not take a message."""
    if watched is None:
        fail("another watch is running, most likely the sweeper's: try again in a minute")
    _print(watched, as_json=as_json)
    if watched.failed or watched.refused:
        raise typer.Exit(1)


def _print(watched: Watched, *, as_json: bool) -> None:
    if as_json:
        print_json(asdict(watched))
        return
    parts = (
        f"{counted(watched.decided, 'message')} decided",
        f"{watched.sent:,} sent",
        f"{watched.refused:,} refused by their channels" if watched.refused else "",
        f"{counted(watched.failed, 'channel')} failed and will be tried again" if watched.failed else "",
        f"{watched.quiet:,} kept for quiet hours" if watched.quiet else "",
        f"{watched.other_version:,} kept for the version that wrote them" if watched.other_version else "",
    )
    out.print(", ".join(filter(None, parts)))
