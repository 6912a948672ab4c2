"""Read-only calls of Azure by `az`; the values of secrets are never read.

Resources are read by `az rest`, which gives Resource Manager's own JSON: the models of other commands change with the
version of the CLI.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import lru_cache, wraps
from threading import Lock
from typing import Any, TypeVar

from throughline.cli.checks.findings import CheckResult, Places, unseen
from throughline.cli.deploy.azure_cli import WEB_API, Az, AzureCliError

WEB = WEB_API
STORAGE = "2026-04-01"
EVENT_GRID = "2025-02-15"
WORKSPACES = "2025-07-01"
COMPONENTS = "2020-02-02"
ACTION_GROUPS = "2023-01-01"
ALERT_RULES = "2026-03-01"
"""API versions: those of the template's resources in infra/modules, to which a test compares them."""

_NOT_FOUND = re.compile(r"\b(\w*NotFound)\b|\bNot Found\b")
_FORBIDDEN = re.compile(r"\b(AuthorizationFailed|LinkedAuthorizationFailed)\b|Forbidden")
_OF_APPS = re.compile(r"Microsoft\.Web/\S+/(list|action)", re.IGNORECASE)
_DATA_FORBIDDEN = re.compile(r"AuthorizationPermissionMismatch|required permissions needed to perform this operation")


_MAX_LENGTH = 300


def words_of(error: AzureCliError) -> str:
    """The message of an error of `az`, without the command: one line of limited length."""
    message = str(error).partition("` failed: ")[2] or str(error)
    return " ".join(message.split())[:_MAX_LENGTH]


Of = TypeVar("Of", bound=Hashable)
Found = TypeVar("Found")


def once(look: Callable[[Of], Found]) -> Callable[[Of], Found]:
    """The same read, done once for a deployment, also where concurrent checks ask for it."""
    cached_look, turn = lru_cache(maxsize=1)(look), Lock()

    @wraps(look)
    def reading(deployed: Of) -> Found:
        with turn:
            return cached_look(deployed)

    return reading


def get(az: Az, path: str, version: str) -> Any | None:
    """A resource by its id; None where there is none. Raises AzureCliError."""
    return if_there(az, "rest", "--method", "get", "--url", f"{path}?api-version={version}")


def if_there(az: Az, *words: str) -> Any | None:
    """The answer of `az`; None where what is asked for does not exist: it has two messages for that. Raises
    AzureCliError.
    """
    try:
        return az.json(*words)
    except AzureCliError as error:
        if _NOT_FOUND.search(str(error)):
            return None
        raise


def listed(az: Az, path: str, version: str) -> Iterator[Mapping[str, Any]]:
    """The resources of a collection, page by page; none where the collection is missing. Raises AzureCliError."""
    page = get(az, path, version)
    while page:
        yield from page.get("value") or ()
        following = page.get("nextLink")
        page = az.json("rest", "--method", "get", "--url", following) if following else None


def guarded(subject: str, look: Callable[[], Iterator[CheckResult]], places: Places) -> Iterator[CheckResult]:
    """The findings of a check; where a call of `az` fails, a finding that the subject could not be checked."""
    try:
        yield from look()
    except AzureCliError as error:
        yield not_seen(error, subject, places)


def not_seen(error: AzureCliError, subject: str, places: Places) -> CheckResult:
    """The finding for a failed call of `az`: a missing right, or another error."""
    sentence = words_of(error)
    if _DATA_FORBIDDEN.search(sentence):
        scope = places.get("storage_id", "STORAGE_ID")
        return unseen("data-forbidden", subject, sentence, **{**places, "scope": scope})
    if _FORBIDDEN.search(sentence):
        role = "Website Contributor" if _OF_APPS.search(sentence) else "Reader"
        scope = places.get("group_id", "GROUP_ID")
        return unseen("azure-forbidden", subject, sentence, **{**places, "scope": scope, "role": role})
    return unseen("azure-error", subject, sentence)
