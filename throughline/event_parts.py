"""OpenLineage events that Throughline itself writes, of what other tools have on record: their common parts."""

from collections.abc import Mapping
from typing import Any

Json = dict[str, Any]
_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_FACETS = "https://openlineage.io/spec/facets/"
_SCHEMAS: Mapping[str, str] = {
    "columnLineage": "1-2-0/ColumnLineageDatasetFacet",
    "dataQualityAssertions": "1-1-0/DataQualityAssertionsDatasetFacet",
    "documentation": "1-1-0/Documentation{carrier}Facet",
    "jobType": "2-0-4/JobTypeJobFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "ownership": "1-0-1/Ownership{carrier}Facet",
    "parent": "1-1-0/ParentRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-1-1/SchemaDatasetFacet",
    "sql": "1-1-0/SQLJobFacet",
    "tags": "1-0-0/Tags{carrier}Facet",
    "test": "1-0-1/TestRunFacet",
}
"""Version and name of each facet that is sent; `{carrier}` stands for Run, Job or Dataset."""


def event_of(producer: str, kind: str, **parts: Any) -> Json:
    """An event of this kind: RunEvent or JobEvent."""
    return {**parts, "producer": producer, "schemaURL": f"{_SPEC}{kind}"}


def facets_of(producer: str, carrier: str, **facets: Json) -> Json:
    """Facets with what the specification asks of each."""
    schemas = {name: _SCHEMAS[name].format(carrier=carrier) for name in facets}
    return {
        name: {
            "_producer": producer,
            "_schemaURL": f"{_FACETS}{schemas[name]}.json#/$defs/{schemas[name].partition('/')[2]}",
            **content,
        }
        for name, content in facets.items()
    }
