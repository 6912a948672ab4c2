"""One definition of each count that commands print."""

from collections.abc import Mapping

COUNTS: Mapping[str, str] = {
    "received": "events that were acknowledged: those whose blob is stored, and ignored ones",
    "published": "events of a run with a process in the catalog and none left to publish",
    "skipped": "events that change nothing in the catalog, each with a reason",
    "waiting": "events whose run is not processed, whose run has no end yet, or whose process is not published yet",
    "dead": "events that cannot be used (dead letters), without the discarded ones",
    "plans lost": "plans of Spark that the plan listener could not send, as far as its applications told",
    "rejected": "requests that the receiver refused: their events were never received",
    "in progress": "waiting events, without those for the end of their run or of shadow mode or refused",
    "processes": "processes that the ledger holds as written to the catalog",
    "publish queue": "processes to be published: pending, publishing, retrying and refused ones",
    "pending": "queued processes that the next publisher writes",
    "publishing": "queued processes of which an interrupted write may still take effect",
    "retrying": "queued processes in a call that failed, to be tried again after a wait",
    "refused": "queued processes that the catalog refused in a call of their own",
    "revisit": "published processes whose edges expire with time, to be looked at later; not in the sum",
}
"""Name of a count -> what it counts. An event has one of the states published, skipped, waiting and dead; a queued
process is one of pending, publishing, retrying and refused.
"""
