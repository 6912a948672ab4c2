"""The triggers of an app that new blobs start: by Event Grid's notice, or by a queue that Event Grid fills."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from shared.storage_layout import EVENTS
from throughline.local.host.blobs import Pattern
from throughline.local.host.index import read_functions


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The path of the blobs, and their function; `queue` gets the notices where the function has a queue trigger."""

    function: str
    pattern: Pattern
    queue: str = ""


def subscriptions(app: Path, environment: Mapping[str, str]) -> tuple[Subscription, ...]:
    """Return a subscription for each enabled blob or queue trigger of an app. Raises AppError for an invalid app."""
    return tuple(_subscriptions(app, environment))


def _subscriptions(app: Path, environment: Mapping[str, str]) -> Iterator[Subscription]:
    for function in read_functions(app, environment):
        data = function.trigger.data
        if function.trigger.type == "blobTrigger":
            yield Subscription(function=function.name, pattern=Pattern(data["path"]))
        elif function.trigger.type == "queueTrigger":  # its notices are of the same blobs: infra/modules/events.bicep
            yield Subscription(function=function.name, pattern=Pattern(EVENTS), queue=data["queueName"])
