"""For each message of Event Grid in the queue of new events: hand its blob to the parser.

Packages for `delivery=queue` start the parser by this script (throughline/package.py): where the network is
closed, Event Grid cannot call a webhook, but it can write to a storage queue.
"""

import azure.functions as func
from azure.functions.blob import InputStream

from parser_function import main as parse
from shared.bootstrap import worker
from shared.storage_layout import EVENTS

_SUBJECT = f"/blobServices/default/containers/{EVENTS}/blobs/"
"""https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage"""


def main(notice: func.QueueMessage) -> None:
    """Raises ValueError for a message that names no event: the host gives it up after some tries."""
    content = notice.get_json()
    subject = content.get("subject", "") if isinstance(content, dict) else ""
    name = subject.removeprefix(_SUBJECT)
    if not name or name == subject:
        raise ValueError(f"a message that names no blob in {EVENTS}")
    body = worker().storage.get(EVENTS, name)
    if body is not None:  # else it was processed, and archived, before this message came
        parse(InputStream(data=body, name=f"{EVENTS}/{name}", uri=content["data"]["url"], length=len(body)))
