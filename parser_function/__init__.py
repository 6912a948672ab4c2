"""Each new blob in `events`: settle its run when that may have changed, then publish what is dirty.

What it raises is storage being away or busy: the host tries again, and the sweeper after it.
"""

import time

import azure.functions as func

from shared.bootstrap import worker
from shared.errors import Quarantined
from shared.events.run_loader import add_dead_letter
from shared.processing.processor import process_event
from shared.publishing.publisher import Publisher
from shared.storage_layout import EVENTS, digest_of, stored_from_blob


def main(event: func.InputStream) -> None:
    """`event` is the blob; its name (with the container) says which run it belongs to."""
    parts = worker()
    name = (event.name or "").removeprefix(f"{EVENTS}/")
    try:
        place = stored_from_blob(name)
    except Quarantined as error:
        add_dead_letter(parts.storage, name, digest_of(name.encode()), error, parts.telemetry)
        return
    settled = process_event(
        parts.storage,
        place,
        event.read(),
        names=parts.names,
        blob_cache=parts.blob_cache,
        application_cache=parts.application_cache,
        turns=parts.settling,
        rest=time.sleep,
        telemetry=parts.telemetry,
    )
    if settled:
        publisher = Publisher(storage=parts.storage, catalog=parts.catalog, options=parts.publishing)
        parts.publisher.run(publisher.publish)
