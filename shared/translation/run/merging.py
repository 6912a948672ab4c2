"""Merge a run's events: the listener's, and Spark's own plan with the SQL in it."""

from collections.abc import Iterable

from shared.openlineage.decoding import Event
from shared.openlineage.run import MergedRun
from shared.plans.jdbc import QueryFlow
from shared.translation.run.overlay import merge_with_plan


def merge_run(events: Iterable[Event]) -> MergedRun:
    """All events of one run (at least one, all with the same run id; one has a body) as one value."""
    return merge_with_plan(events, _read_query)


def _read_query(text: str, dialect: str) -> QueryFlow | None:
    from shared.translation.sql.jdbc_queries import read_from  # noqa: PLC0415 - sqlglot costs a third of a second

    return read_from(text, dialect)
