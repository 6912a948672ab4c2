"""What Azure Storage means by refusing us (401, 403)."""

from shared.errors import StorageForbidden

_MEANINGS = {
    "AuthorizationPermissionMismatch": "the identity lacks a role: grant it Storage Blob Data Owner and Storage Table"
    " Data Contributor",
    "AuthorizationFailure": "the network rules of the account keep us out",
    "": "grant it Storage Blob Data Owner and Storage Table Data Contributor, and check the network rules of the"
    " account",
}
"""By Azure Storage's codes (Common REST API error codes): the first is of roles, the second of networks."""


def forbidden(text: str) -> StorageForbidden:
    """The error for a refusal, by the code in its text: the tables' SDK sets no `error_code`."""
    code = next((each for each in _MEANINGS if each and each in text), "")
    return StorageForbidden(f"Storage refused our identity or access: {_MEANINGS[code]}", code=code)
