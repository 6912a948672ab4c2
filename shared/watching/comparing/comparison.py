"""All changes between two snapshots."""

from collections.abc import Iterator

from shared.watching.comparing.alignment import aligned
from shared.watching.comparing.changes import Change, ChangeKind, Severity, Topic
from shared.watching.comparing.lineage_changes import lineage_changes
from shared.watching.comparing.mask_changes import mask_changes
from shared.watching.comparing.quality_changes import quality_changes
from shared.watching.comparing.schema_changes import renames, schema_changes
from shared.watching.comparing.snapshot import Snapshot
from shared.watching.comparing.view import View


def views(before: Snapshot, after: Snapshot) -> tuple[View, View]:
    """The two states by names. The first one has the names that its data sets have now."""
    return View(aligned(before.document, after.document)), View(after.document)


def changes(before: Snapshot, after: Snapshot) -> tuple[Change, ...]:
    """The changes from one snapshot to the next, sorted. Equal snapshots have none."""
    was, now = views(before, after)
    renamed = renames(was, now)
    found = (
        *schema_changes(was, now, renamed),
        *lineage_changes(was, now, renamed),
        *mask_changes(was, now, renamed),
        *quality_changes(was, now),
        *_overdue(before, after, now),
        *_broken(before, after),
    )
    return tuple(sorted(found))


def _overdue(before: Snapshot, after: Snapshot, now: View) -> Iterator[Change]:
    known = {(each.process, each.last_start) for each in before.overdue}
    for each in after.overdue:
        process = now.processes.get(each.process)
        if process and (each.process, each.last_start) not in known:
            keys = tuple(now.datasets)
            written = {keys[number] for number in process.outputs}
            yield Change(
                topic=Topic.OVERDUE,
                severity=Severity.RISKY,
                kind=ChangeKind.JOB_OVERDUE,
                process=each.process,
                before=each.last_start.isoformat(),
                after=each.due.isoformat(),
                processes=(each.process,),
                starts=tuple(sorted(column for column in now.columns if column[:2] in written)),
            )


def _broken(before: Snapshot, after: Snapshot) -> Iterator[Change]:
    known = {(each.policy, each.rule) for each in before.broken}
    for each in after.broken:
        if (each.policy, each.rule) not in known:
            yield Change(
                topic=Topic.GATE,
                severity=Severity.BREAKING,
                kind=ChangeKind.GATE_BROKEN,
                policy=each.policy,
                before=each.rule,
                after=each.sentence,
                others=tuple((*key, "") for key in each.datasets),
            )
