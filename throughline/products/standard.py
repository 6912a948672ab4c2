"""The shape of the Open Data Product Standard, whose publishers have no package of it. Imported only to read a product:
pydantic is an extra.
"""

from typing import Any

import pydantic
from open_data_contract_standard.model import Team, TeamMember


class _Part(pydantic.BaseModel):
    """`Any`: a key that is read and not used."""

    model_config = pydantic.ConfigDict(extra="forbid")
    tags: Any = None
    customProperties: Any = None  # noqa: N815 - the standard's word, as all of them
    authoritativeDefinitions: Any = None  # noqa: N815


class _InputContract(_Part):
    id: str
    version: str


class _InputPort(_Part):
    name: str
    version: str
    contractId: str  # noqa: N815


class _OutputPort(_Part):
    name: str
    version: str
    contractId: str | None = None  # noqa: N815
    inputContracts: list[_InputContract] | None = None  # noqa: N815
    description: Any = None
    type: Any = None
    sbom: Any = None


class DataProduct(_Part):
    """A file of the standard."""

    apiVersion: str  # noqa: N815
    kind: str
    id: str
    status: str
    name: str | None = None
    inputPorts: list[_InputPort] | None = None  # noqa: N815
    outputPorts: list[_OutputPort] | None = None  # noqa: N815
    team: Team | list[TeamMember] | None = None
    version: Any = None
    domain: Any = None
    tenant: Any = None
    description: Any = None
    managementPorts: Any = None  # noqa: N815
    support: Any = None
    productCreatedTs: Any = None  # noqa: N815
