"""Delivery of events from the account to the parser: topic, subscription, key, delivery counts, poison queue."""

from collections.abc import Iterator, Mapping
from typing import Any

from shared.storage_layout import EVENTS
from throughline.cli.checks.azure.apps import PARSER, FunctionApp
from throughline.cli.checks.azure.deployed import Deployed
from throughline.cli.checks.azure.reading import EVENT_GRID, get
from throughline.cli.checks.findings import CheckResult, bad, good
from throughline.package import NEW_EVENTS

_SUBSCRIPTION = "events"
"""Its name in infra/subscription.bicep."""

_PREFIX = f"/blobServices/default/containers/{EVENTS}/"


def subscription(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether the worker's parser gets notices of new events, by its webhook or by the queue that Event Grid fills."""
    topic_id = _topic_id(deployed)
    if get(deployed.az, topic_id, EVENT_GRID) is None:
        name = deployed.outputs["EVENT_TOPIC_NAME"]
        yield bad("topic-missing", "Event Grid", f"there is no system topic {name}", **app.places)
        return
    subscription_found = get(deployed.az, f"{topic_id}/eventSubscriptions/{_SUBSCRIPTION}", EVENT_GRID)
    if not deployed.by_webhook:
        yield _queue_subscription(deployed, app, (subscription_found or {}).get("properties") or {})
        return
    if subscription_found is None:
        yield bad("subscription-missing", "Event Grid", f"no subscription {_SUBSCRIPTION!r}", **app.places)
        return
    properties = subscription_found["properties"]
    state = properties.get("provisioningState")
    problem = _elsewhere(properties, app)
    if state != "Succeeded":
        yield bad("subscription-failed", "Event Grid", f"the subscription is {state}", **app.places)
    elif problem:
        yield bad("subscription-elsewhere", "Event Grid", problem, **app.places)
    else:
        yield good("Event Grid", f"notifies {app.name} of new events")


def _queue_subscription(deployed: Deployed, app: FunctionApp, properties: Mapping[str, Any]) -> CheckResult:
    """Whether the subscription fills the queue that the parser reads; without `properties` there is none."""
    destination = (properties.get("deliveryWithResourceIdentity") or {}).get("destination") or {}
    place = destination.get("properties") or {}
    state, queue = properties.get("provisioningState", "missing"), place.get("queueName")
    in_account = str(place.get("resourceId", "")).lower() == deployed.storage_id.lower()
    if state == "Succeeded" and queue == NEW_EVENTS and in_account:
        return good("Event Grid", f"puts notices of new events into {queue}")
    state_text = f"the subscription to {NEW_EVENTS} is {state}, and fills {queue or 'no queue'}"
    return bad("queue-subscription", "Event Grid", state_text, **app.places)


def _topic_id(deployed: Deployed) -> str:
    return deployed.resource(f"Microsoft.EventGrid/systemTopics/{deployed.outputs['EVENT_TOPIC_NAME']}")


def _elsewhere(properties: Mapping[str, Any], app: FunctionApp) -> str:
    """Where notices go, if not to the parser's webhook; else empty. Azure shows the address without its query."""
    base = str(((properties.get("destination") or {}).get("properties") or {}).get("endpointBaseUrl") or "")
    expected_address = f"https://{app.host}/runtime/webhooks/blobs"
    if base.partition("?")[0].rstrip("/").lower() != expected_address.lower():
        return f"notices go to {base or 'no webhook'}, and not to {expected_address}"
    query = base.partition("?")[2]
    if query and f"Host.Functions.{PARSER}" not in query:
        return f"notices go to another function: {query.partition('&code=')[0]}"
    begins = (properties.get("filter") or {}).get("subjectBeginsWith")
    return "" if begins == _PREFIX else f"the filter begins with {begins!r}, and not with {_PREFIX!r}"


def deliveries(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """How many events Event Grid has delivered, and how many it has not."""
    delivered, failed = _totals(deployed, ("DeliverySuccessCount", "DeliveryAttemptFailCount"), "PT1H", "1h")
    number_lost = sum(_totals(deployed, ("DroppedEventCount", "DeadLetteredCount"), "P1D", "1d"))
    counts = f"{delivered:,} delivered, {failed:,} attempts failed in an hour"
    wrong = []
    if failed > delivered:
        wrong.append(bad("delivery-failing", "deliveries", counts, **app.places))
    if number_lost:
        wrong.append(bad("delivery-given-up", "deliveries", f"{number_lost:,} given up in a day", **app.places))
    yield from wrong or [good("deliveries", counts)]


def _totals(deployed: Deployed, names: tuple[str, ...], interval: str, offset: str) -> list[int]:
    """The totals of these metrics, in their order; 0 for one that Azure does not give."""
    answer = deployed.az.json(
        *("monitor", "metrics", "list", "--resource", _topic_id(deployed), "--aggregation", "Total"),
        *("--interval", interval, "--offset", offset, "--metrics", *names),
    )
    totals = {
        metric["name"]["value"]: sum(
            point.get("total") or 0 for series in metric.get("timeseries") or () for point in series.get("data") or ()
        )
        for metric in answer["value"]
    }
    return [int(totals.get(name, 0)) for name in names]


_MOST_MESSAGES = 32
"""What one look into a queue shows."""

_POISON = "webjobs-blobtrigger-poison"


def poison(deployed: Deployed, app: FunctionApp) -> Iterator[CheckResult]:
    """Whether the host has given up on events: their messages are in its poison queue."""
    count, name = 0, _POISON if deployed.by_webhook else f"{NEW_EVENTS}-poison"
    if _stored(deployed, "queue", "exists", "--name", name).get("exists"):
        peek = ("message", "peek", "--queue-name", name, "--num-messages", str(_MOST_MESSAGES))
        count = _stored(deployed, *peek, "--query", "length(@)")
    if count:
        many = f"{count} messages" + (" or more" if count == _MOST_MESSAGES else "")
        yield bad("poison-queue", "poison queue", many, **app.places, queue=name)
    else:
        yield good("poison queue", "empty")


def _stored(deployed: Deployed, *words: str) -> Any:
    """What `az storage` answers about the account, asked with the rights of the signed-in user."""
    account = ("--account-name", deployed.outputs["STORAGE_ACCOUNT_NAME"], "--auth-mode", "login")
    return deployed.az.json("storage", *words, *account)
