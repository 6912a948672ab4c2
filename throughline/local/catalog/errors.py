"""The errors a catalog answers with, as a table: HTTP status and Atlas' code for each.

The codes are Apache Atlas' own (`AtlasErrorCode`), assigned to calls as observed on real servers of versions 2.1.0 and
2.5.0. The messages are our own: clients decide by the code.
"""

from enum import Enum


class Fault(Enum):
    """The possible errors of a call: status, code and a message with placeholders for the details."""

    MANDATORY_ADDED = (400, "ATLAS-400-00-00C", "{0}.{1}: a mandatory attribute can't be added to an existing type")
    ATTRIBUTE_REMOVED = (400, "ATLAS-400-00-00D", "{0}.{1}: an attribute can't be removed from an existing type")
    TYPE_MISMATCH = (400, "ATLAS-400-00-00F", "expected the type {0}, found {1}")
    UNKNOWN_TYPE = (400, "ATLAS-400-00-014", "{0} type {1} does not exist")
    BAD_PARAMETERS = (400, "ATLAS-400-00-01A", "invalid parameters: {0}")
    BAD_REQUEST = (400, "ATLAS-400-00-029", "{0}")
    BAD_RELATIONSHIP_END = (400, "ATLAS-400-00-036", "{0} can't relate {1} to {2}")
    PROPAGATED = (400, "ATLAS-400-00-06C", "the classification {0} comes from another entity: remove it there")
    NOT_CLASSIFIED = (400, "ATLAS-400-00-06D", "the entity has no classification {0}")
    NOTHING_RELATED = (400, "ATLAS-400-00-07D", "the relationship leads to nothing: no {0} has the guid {1}")
    NOT_ASSIGNED = (400, "ATLAS-400-00-080", "the relationship {0} does not connect the term {1} and the entity {2}")
    FORBIDDEN = (403, "ATLAS-403-00-001", "the caller is not authorized {0}")
    UNKNOWN_TYPE_NAME = (404, "ATLAS-404-00-001", "no {0} is named {1}")
    NO_CLASSIFICATIONS = (404, "ATLAS-404-00-003", "the entity {0} has no classifications")
    UNKNOWN_GUID = (404, "ATLAS-404-00-005", "no entity has the guid {0}")
    BAD_ENTITY = (404, "ATLAS-404-00-007", "the entity can't be stored: {0}")
    UNKNOWN_NAME = (404, "ATLAS-404-00-009", "no {0} has the unique attribute {1}")
    DANGLING_REFERENCE = (404, "ATLAS-404-00-00A", "the referenced entity {0} does not exist")
    TYPE_EXISTS = (409, "ATLAS-409-00-001", "the type {0} exists already")
    ENTITY_EXISTS = (409, "ATLAS-409-00-003", "another {0} is named {1}")
    GLOSSARY_EXISTS = (409, "ATLAS-409-00-007", "the glossary {0} exists already")
    TERM_EXISTS = (409, "ATLAS-409-00-009", "the term {0} exists already")

    def __init__(self, status: int, code: str, template: str) -> None:
        self.status = status
        self.code = code
        self.template = template


class CatalogError(Exception):
    """A refused call. `fault` is the reason; nothing stored has changed."""

    def __init__(self, fault: Fault, *details: object) -> None:
        self.fault = fault
        super().__init__(fault.template.format(*details))

    def to_json(self) -> dict[str, str]:
        """Return the body that Atlas answers with."""
        return {"errorCode": self.fault.code, "errorMessage": str(self)}
