"""Telemetry of processes that are published."""

from typing import TYPE_CHECKING

from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Plan
from shared.telemetry.kinds import PROCESS

if TYPE_CHECKING:
    from shared.telemetry.port import Fact


def report_process(options: PublishOptions, plan: Plan, state: str, reason: str = "") -> None:
    """Report the outcome for a queued process: its state, and the reason of a refusal."""
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
        facts["lag"] = round((options.now() - dirty.since).total_seconds(), 3)
    options.telemetry.tell(PROCESS, *plan.runs, began=plan.began, **facts)
