"""The chain that damaged events go through: the whole core, from bytes to entities."""

from collections.abc import Sequence

from shared.atlas.entities import asset_entity, process_entity
from shared.errors import Refused
from shared.openlineage.decoding import Event, decode
from shared.openlineage.selection import select
from shared.redaction import redacted
from shared.translation.reference import History, translate_history


def survives(raws: Sequence[bytes]) -> int:
    """Check that damaged events are refused or understood; return the number of refused ones.

    Any other exception is a fault, and so is our AssertionError: lineage that depends on the order or number of
    events, or an entity that no catalog accepts.
    """
    events: list[Event] = []
    refused = 0
    for raw in raws:
        try:
            events.append(decode(raw))
        except Refused:
            refused += 1
    for event in events:
        select(event)
        _redacted(event)
    history = translate_history(events)
    assert translate_history([*reversed(events), *events]) == history, (
        "the lineage depends on the order or number of events"
    )
    _entities(history)
    return refused


def _redacted(event: Event) -> None:
    """Check that a redacted event is readable, identifies its run, and contains nothing to redact."""
    decoded_event = decode(redacted(event))
    assert (decoded_event.run_id, decoded_event.time, decoded_event.type) == (event.run_id, event.time, event.type)
    assert not decoded_event.omitted


def _entities(history: History) -> None:
    for process in history.processes:
        for with_indirect in (False, True):
            assert process_entity(process, with_indirect=with_indirect).fingerprint
        for asset in (*process.inputs, *process.outputs):
            name = asset_entity(asset).qualified_name
            assert name.isprintable(), name
