"""What the pipeline tells of itself, as facts: one place for what each line, span and metric holds."""

from contextlib import suppress
from datetime import UTC, datetime

from shared.errors import Quarantined
from shared.pipeline.dirty import dirty_processes
from shared.pipeline.planning import Plan, Publishing
from shared.places import stored_from_blob
from shared.storage import Storage
from shared.telemetry import LETTER, PROCESS, Fact, Telemetry


def tell_letter(telemetry: Telemetry, blob: str, error: Exception) -> None:
    """An event became a dead letter."""
    runs = []
    with suppress(Quarantined):  # a foreign name tells no run
        runs.append(stored_from_blob(blob).run_id)
    telemetry.tell(LETTER, *runs, state="dead", blob=blob, reason=f"{type(error).__name__}: {error}")


def tell_process(how: Publishing, plan: Plan, state: str, reason: str = "") -> None:
    """What became of a process that was to be published."""
    entity, dirty = plan.entity, plan.dirty
    facts: dict[str, Fact] = {
        "process": entity.qualified_name if entity else plan.entry.qualified_name or dirty.process,
        "state": state,
        "attempts": dirty.attempts + 1,
    }
    if reason:
        facts["reason"] = reason
    if entity:
        facts |= {"inputs": len(entity.inputs), "outputs": len(entity.outputs)}
    if state in {"written", "removed"} and dirty.since and not dirty.revisit:
        facts["lag"] = round((how.now() - dirty.since).total_seconds(), 3)
    how.telemetry.tell(PROCESS, *plan.runs, began=plan.began, **facts)


def backlog(storage: Storage) -> dict[str, Fact]:
    """How many processes are to be published, and for how many seconds the oldest of them has been."""
    now = datetime.now(UTC)
    marks = [each for each in dirty_processes(storage)[0] if not each.revisit]
    oldest = min((each.since for each in marks if each.since), default=now)
    return {"dirty": len(marks), "dirty_oldest": round((now - oldest).total_seconds(), 3)}
