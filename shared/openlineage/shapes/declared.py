"""Facets in which people and tools declare what a run, a job, a data set or a column is: tags, owners, descriptions.

TagsRunFacet, TagsJobFacet and TagsDatasetFacet 1-0-0; OwnershipJobFacet and OwnershipDatasetFacet 1-0-1;
DocumentationJobFacet and DocumentationDatasetFacet 1-1-0. None of them is needed for lineage.
"""

from collections.abc import Iterator
from typing import Annotated

from shared.openlineage.shapes.base import Wire
from shared.openlineage.shapes.bounds import ColumnName, Description, Name, OwnersOf, TagsOf


class DeclaredTag(Wire, frozen=True):
    """A key with a value; `source` names who set it (USER, SPARK, DBT CORE …), `field` the column that it is of."""

    key: Name
    value: Name | None = None
    source: Name | None = None
    field: ColumnName | None = None


class Tags(Wire, frozen=True):
    """The tags of a run, a job, or a data set with its columns."""

    tags: Annotated[tuple[DeclaredTag, ...], TagsOf] | None = None


class Owner(Wire, frozen=True):
    """A person, team or application, as `user:ann` or `team:data`; `type` as MAINTAINER."""

    name: Name
    type: Name | None = None


class Ownership(Wire, frozen=True):
    """The owners of a job or a data set."""

    owners: Annotated[tuple[Owner, ...], OwnersOf] | None = None


class Documentation(Wire, frozen=True):
    """A description for people; `content_type` is its MIME type."""

    description: Description | None = None
    content_type: Name | None = None


def tag_values(facet: Tags | None) -> Iterator[tuple[str, str, str]]:
    """Key, value and column of each tag."""
    for tag in (facet.tags or ()) if facet else ():
        yield tag.key, tag.value or "", tag.field or ""


def owner_names(facet: Ownership | None) -> Iterator[str]:
    """The names of the owners."""
    return (owner.name for owner in (facet.owners or ()) if owner.name) if facet else iter(())


def description_in(facet: Documentation | None) -> str:
    """The description; empty where there is none."""
    return (facet.description or "").strip() if facet else ""
