"""Event Grid on one machine: watches Azurite and posts an event for each new blob to the functions host's webhook.

Azurite emits no events, so new blobs are found by listing the container. Posts follow the documented schema
(https://learn.microsoft.com/azure/event-grid/event-schema-blob-storage), one event each as infra/subscription.bicep
asks for, to our own host or to `func start`: the blob extension takes them whatever `source` function.json names.
Delivery is at least once: what is not answered with a 2xx is posted again, and what was posted last before an end is
posted again after it. `python -m local.event_grid` runs it beside a `func start` by hand.
"""

from local.event_grid.deliver import EventGrid
from local.event_grid.subscriptions import Subscription, subscriptions
from local.event_grid.weather import Weather

__all__ = ["EventGrid", "Subscription", "Weather", "subscriptions"]
