"""The triggers of an app that new blobs start: by Event Grid's notice, or by a queue that Event Grid fills."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shared.storage_layout import EVENTS
from throughline.local.host.blobs import Pattern
from throughline.local.host.index import disabled
from throughline.local.host.settings import expand, read_json

_EVENTS = Pattern(f"{EVENTS}/{{name}}")
"""The blobs whose notices go to a queue, as in infra/modules/events.bicep."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The path of the blobs, and their function; `queue` gets the notices where the function has a queue trigger."""

    function: str
    pattern: Pattern
    queue: str = ""


def subscriptions(app: Path, environment: Mapping[str, str]) -> tuple[Subscription, ...]:
    """Return a subscription for each enabled blob or queue trigger of an app."""
    return tuple(_subscriptions(app, environment))


def _subscriptions(app: Path, environment: Mapping[str, str]) -> Iterator[Subscription]:
    for path in sorted(app.glob("*/function.json")):
        content: dict[str, Any] = read_json(path)
        if disabled(path.parent.name, content, environment):
            continue
        for binding in content.get("bindings", ()):
            if binding.get("type") == "blobTrigger":
                with contextlib.suppress(KeyError):  # the host does not run such a function either
                    yield Subscription(function=path.parent.name, pattern=Pattern(expand(binding["path"], environment)))
            elif binding.get("type") == "queueTrigger":
                yield Subscription(function=path.parent.name, pattern=_EVENTS, queue=binding["queueName"])
