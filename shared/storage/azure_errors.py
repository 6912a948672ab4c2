"""The errors of Azure's SDKs, and the answers of Azure Storage, as errors of our own tree."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from azure.core.exceptions import (
    ClientAuthenticationError,
    HttpResponseError,
    ServiceRequestError,
    ServiceResponseError,
)
from urllib3.exceptions import LocationParseError

from shared.errors import StorageBusy, StorageForbidden, StorageUnavailable, retry_after
from shared.http_errors import name_of

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_NO_ACCESS = frozenset({401, 403})
"""The tables' SDK raises a plain HttpResponseError for these."""
_THROTTLED = frozenset({429, 503})
"""What Azure Storage answers above its rates: 503 ServerBusy; its front ends also 429."""
_MEANINGS = {
    "AuthorizationPermissionMismatch": "the identity lacks a role: grant it Storage Blob Data Owner and Storage Table"
    " Data Contributor",
    "AuthorizationFailure": "the network rules of the account block this address",
    "": "grant it Storage Blob Data Owner and Storage Table Data Contributor, and check the network rules of the"
    " account",
}
"""By Azure Storage's codes (Common REST API error codes): the first is of roles, the second of networks."""
_CODE = re.compile(rb'<Code>(\w+)</Code>|"code"\s*:\s*"(\w+)"')


@contextmanager
def translated_errors() -> Iterator[None]:
    """Raise the SDK's errors as those of `shared/errors.py`; errors that a mistake of ours causes pass through.

    The SDK's text is dropped (`from None`): it may hold the whole address of the call, with its signature.
    """
    try:
        yield
    except (ServiceRequestError, ServiceResponseError, LocationParseError) as error:  # the last: of no host name
        cause = getattr(error, "inner_exception", None) or error
        raise StorageUnavailable(f"Storage did not answer: {name_of(cause)}") from None
    except HttpResponseError as error:
        if isinstance(error, ClientAuthenticationError) and error.response is None:  # of azure-identity
            raise StorageForbidden("No token for storage: sign in (`az login`), or give an identity") from None
        if isinstance(error, ClientAuthenticationError) or error.status_code in _NO_ACCESS:
            raise _forbidden(str(error)) from None
        if error.status_code is None or error.status_code < 400:  # noqa: PLR2004 - HTTP's own number
            raise StorageUnavailable(f"Storage's answer can't be read: {type(error).__name__}") from None
        if error.status_code not in _TRANSIENT and "BeingDeleted" not in str(error):
            raise
        asked = getattr(error.response, "headers", {}).get("Retry-After", "")
        kind = StorageBusy if error.status_code in _THROTTLED else StorageUnavailable
        raise kind(f"Storage answered {error.status_code}", after=retry_after(asked) or 5.0) from None


def error_code(content: bytes) -> str:
    """The code in the body of an answer that refuses a request, of blobs (XML) or tables (JSON); empty without one."""
    code = _CODE.search(content)
    return (code[1] or code[2]).decode() if code else ""


def expect_conflict(answer: Any, code: str) -> None:
    """Raise StorageUnavailable for a 409 with another code, such as of a container that is being deleted."""
    if error_code(answer.read()) != code:
        raise StorageUnavailable("Storage answered 409: the blob or row can't be written now")


def _forbidden(text: str) -> StorageForbidden:
    """The error for a refusal, by the code in its text: the tables' SDK sets no `error_code`."""
    code = next((each for each in _MEANINGS if each and each in text), "")
    return StorageForbidden(f"Storage refused our identity or access: {_MEANINGS[code]}", code=code)
