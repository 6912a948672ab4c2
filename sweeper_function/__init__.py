"""Every minute: what no trigger does. Ends that never come, events never delivered, processes left dirty."""

import logging

import azure.functions as func

from shared.bootstrap import worker
from shared.pipeline import publish, step_out, sweep

_LOG = logging.getLogger("throughline.sweeper")


def main(timer: func.TimerRequest) -> None:
    """One tick; the next one goes on where this one was cut short."""
    parts = worker()
    try:
        swept = sweep(parts.storage, parts.sweeping)
    finally:  # whatever a sweep meets, what is dirty is published
        step_out(parts.storage, parts.publishing)
        published = publish(parts.storage, parts.catalog, parts.publishing)
    _LOG.info("swept past_due=%s %s %s", timer.past_due, swept, published)
