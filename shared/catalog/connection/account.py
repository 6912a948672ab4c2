"""The account port on Purview (its collections, their policies, and who we are to it), and the types port on Atlas v2.

Type definitions are grouped by their kind, in one call for all.
"""

import base64
import json as jsonlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, urlsplit

from shared.catalog.connection.dialect import ACCOUNT_VERSION, POLICY_VERSION, Policy, dialect_of
from shared.catalog.connection.transport import SteadyAtlasClient
from shared.catalog.port import Collection


class PurviewAccount:
    """The account port over pyapacheatlas' client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client
        self.host = dialect_of(client.endpoint_url).host

    def caller(self) -> dict[str, str]:
        """As the port says: from the token's claims, which are not checked here; a server checks them."""
        token = self._client.generate_request_headers().get("Authorization", "").removeprefix("Bearer ")
        parts = token.split(".")
        if len(parts) != 3:  # noqa: PLR2004 - a signed token has three parts; a fixed one of the local catalog has none
            return {"oid": token.partition(":")[2]} if ":" in token else {}
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims: dict[str, Any] = jsonlib.loads(base64.urlsafe_b64decode(padded))
        return {key: str(claims[key]) for key in ("oid", "tid", "appid", "upn", "unique_name") if key in claims}

    def collections(self) -> tuple[Collection, ...]:
        """As the port says."""
        return tuple(
            Collection(
                name=str(row["name"]),
                shown=str(row.get("friendlyName") or row["name"]),
                parent=str((row.get("parentCollection") or {}).get("referenceName") or ""),
            )
            for row in self._rows(f"{self.host}/account/collections")
        )

    def _rows(self, place: str) -> Iterator[dict[str, Any]]:
        """Yield the rows of a list that is given in pages.

        Of the address of the next page (`nextLink`) only `$skipToken` is used, so our token goes to no other host.
        https://learn.microsoft.com/rest/api/purview/accountdataplane/collections/list-collections
        """
        skip: dict[str, str] = {}
        while True:
            answer = self._client.call("GET", place, params={"api-version": ACCOUNT_VERSION, **skip})
            yield from answer.get("value") or ()
            tokens = parse_qs(urlsplit(str(answer.get("nextLink") or "")).query).get("$skipToken")
            if not tokens:
                return
            skip = {"$skipToken": tokens[0]}

    def policy(self, collection: str) -> Policy:
        """As the port says."""
        place = f"{self.host}/policystore/collections/{collection}/metadataPolicy"
        return dict(self._client.call("GET", place, params={"api-version": POLICY_VERSION}))

    def put_policy(self, policy: Policy) -> None:
        """As the port says."""
        place = f"{self.host}/policystore/metadataPolicies/{policy['id']}"
        self._client.call("PUT", place, params={"api-version": POLICY_VERSION}, json=policy)


_PLACE = "/types/typedefs"
_KINDS = {
    "ENTITY": "entityDefs",
    "RELATIONSHIP": "relationshipDefs",
    "ENUM": "enumDefs",
    "STRUCT": "structDefs",
    "CLASSIFICATION": "classificationDefs",
    "BUSINESS_METADATA": "businessMetadataDefs",
}
_MADE_BY_SERVERS = frozenset({"category", "subTypes", "relationshipAttributeDefs"})


class AtlasTypes:
    """The types port over pyapacheatlas' client."""

    def __init__(self, client: SteadyAtlasClient) -> None:
        self._client = client

    def held(self) -> Sequence[Mapping[str, Any]]:
        """As the port says."""
        answer = self._client.call("GET", _PLACE)  # the library would check and regroup them
        return [
            {**definition, "category": category}
            for category, kind in _KINDS.items()
            for definition in answer.get(kind) or ()
        ]

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client.call("POST", _PLACE, json=_grouped(definitions))

    def update(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        """As the port says."""
        self._client.call("PUT", _PLACE, json=_grouped(definitions))


def _grouped(definitions: Iterable[Mapping[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_kind: dict[str, list[dict[str, Any]]] = {kind: [] for kind in _KINDS.values()}
    for definition in definitions:
        plain = {key: value for key, value in definition.items() if key not in _MADE_BY_SERVERS}
        by_kind[_KINDS[definition["category"]]].append(plain)
    return by_kind
