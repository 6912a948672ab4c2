"""Telemetry of processes that are published."""

from typing import TYPE_CHECKING

from shared.publishing.planning.options import PublishOptions
from shared.publishing.planning.planner import Plan
from shared.telemetry.kinds import PROCESS

if TYPE_CHECKING:
    from shared.telemetry.port import Fact


def report_process(options: PublishOptions, plan: Plan, state: str, reason: str = "") -> None:
    """Report the outcome for a queued process: its state, and the reason of a refusal."""
    entity, queued = plan.entity, plan.queue_entry
    facts: dict[str, Fact] = {
        "process": entity.qualified_name if entity else plan.entry.qualified_name or queued.process,
        "state": state,
        "attempts": queued.attempts + 1,
    }
    if reason:
        facts["reason"] = reason
    if entity:
        facts |= {"inputs": len(entity.inputs), "outputs": len(entity.outputs)}
    if state in {"written", "removed"} and queued.since and not queued.revisit:
        facts["lag"] = round((options.now() - queued.since).total_seconds(), 3)
    options.telemetry.report(PROCESS, *plan.runs, began=plan.began, **facts)
