"""Each minute, work that no trigger starts: timeouts, undelivered events, retries, publish queue, watch, forwarding,
canary.
"""

import azure.functions as func

from shared.announcing.rounds import watch_due
from shared.bootstrap import worker
from shared.canary.hops import canary_due
from shared.forwarding.rounds import forward_due
from shared.maintenance.reconciliation import reconcile_due
from shared.publishing.publisher import Publisher
from shared.publishing.shadow import leave_shadow_mode
from shared.query.foreign_round import read_foreign_due
from shared.query.published_document import publish_document
from shared.records.control import record_settings
from shared.records.publish_queue import backlog
from shared.sweeping.sweep import sweep
from shared.telemetry.port import SWEEP


def main(timer: func.TimerRequest) -> None:
    """One sweep; the next one continues where this one was cut short."""
    parts = worker()
    with parts.telemetry.act(SWEEP) as act:
        act.note(past_due=timer.past_due)
        try:
            record_settings(parts.storage, parts.to_record)  # an older process may have started since we did
            act.note(**sweep(parts.storage, parts.sweeping).facts)
        finally:  # a failing sweep must not keep the queue from being published
            leave_shadow_mode(parts.storage, parts.publishing)
            reconcile_due(parts)
            act.note(**read_foreign_due(parts))
            Publisher(context=parts).publish()
        act.note(**backlog(parts.storage))
        act.note(**watch_due(parts.storage, parts.watching, parts.publishing))
        act.note(**forward_due(parts.storage, parts.forwarding))
        if parts.publishing.documents:
            act.note(**publish_document(parts.storage, parts.publishing, parts.document_keep))
    canary_due(parts, parts.names, parts.canary)
