"""For each new blob in `events`: fold it into its application if it may change lineage, then publish the queue.

Raises StorageUnavailable only: the host retries, and the sweeper after it.
"""

from functools import partial

import azure.functions as func

from shared.bootstrap import worker
from shared.errors import Quarantined
from shared.events.dead_letters import add_dead_letter
from shared.publishing.publisher import Publisher
from shared.storage_layout import EVENTS, digest_of, stored_from_blob


def main(event: func.InputStream) -> None:
    """`event` is the blob; its name (with the container) says which application and run it belongs to."""
    parts = worker()
    name = (event.name or "").removeprefix(f"{EVENTS}/")
    try:
        place = stored_from_blob(name)
    except Quarantined as error:
        add_dead_letter(parts.storage, name, digest_of(name.encode()), error, parts.telemetry)
        return
    if parts.delivery.deliver(place, event.read()):
        parts.publisher.run(partial(Publisher(context=parts).publish, looks=False))
