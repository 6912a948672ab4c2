"""Event Grid on one machine: watches Azurite and posts an event for each new blob to the functions host's webhook.

Azurite emits no events, so new blobs are found by listing the container. Posts follow the documented schema
(https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage), one event each, as configured in
infra/subscription.bicep, to our own host or to `func start`: the blob extension accepts them with any `source` in
function.json. Delivery is at least once: an event without a 2xx answer is posted again, and so are the last events
before a stop after the next start. `python -m throughline.local.event_grid` runs it beside a `func start` of the user.
"""

from throughline.local.event_grid.deliver import EventGrid
from throughline.local.event_grid.subscriptions import Subscription, subscriptions

__all__ = ["EventGrid", "Subscription", "subscriptions"]
