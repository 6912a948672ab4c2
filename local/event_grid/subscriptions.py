"""The blob triggers of an app: which functions are notified of which blobs."""

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from local.host.blobs.pattern import Pattern
from local.host.index import disabled
from local.host.settings import expand, read_json


@dataclass(frozen=True, slots=True, kw_only=True)
class Subscription:
    """The path of a blob trigger, and its function."""

    function: str
    pattern: Pattern


def subscriptions(app: Path, environment: Mapping[str, str]) -> tuple[Subscription, ...]:
    """Return a subscription for each enabled blob trigger of an app."""
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
