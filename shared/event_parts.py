"""OpenLineage events that Throughline itself writes: runs that it forwards, and what other tools have on record."""

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
    "lineage": "1-0-0/LineageFacet.json#/$defs/LineageDatasetFacet",
    "nominalTime": "1-0-1/NominalTimeRunFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "ownership": "1-0-1/Ownership{carrier}Facet",
    "parent": "1-1-0/ParentRunFacet",
    "processing_engine": "1-1-1/ProcessingEngineRunFacet",
    "schema": "1-2-0/SchemaDatasetFacet",
    "sql": "1-1-0/SQLJobFacet",
    "tags": "1-0-0/Tags{carrier}Facet",
    "test": "1-0-1/TestRunFacet",
}
"""Version and name of each facet that is sent; `{carrier}` stands for Run, Job or Dataset. A file of another name is
named whole.
"""
_OF_DBT = "https://raw.githubusercontent.com/OpenLineage/OpenLineage/main/integration/common/openlineage/common/schema/"
_SCHEMAS_OF_DBT: Mapping[str, str] = {
    "dbt_exposures": "dbt-exposures-dataset-facet.json#/$defs/DbtExposuresDatasetFacet",
    "dbt_model": "dbt-model-dataset-facet.json#/$defs/DbtModelDatasetFacet",
}
"""Those that are OpenLineage's dbt integration's own, not the specification's."""


def event_of(producer: str, kind: str, **parts: Any) -> Json:
    """An event of this kind: RunEvent or JobEvent."""
    return {**parts, "producer": producer, "schemaURL": f"{_SPEC}{kind}"}


def facets_of(producer: str, carrier: str, **facets: Json) -> Json:
    """Facets with what the specification asks of each."""
    return {
        name: {"_producer": producer, "_schemaURL": _schema(name, carrier), **content}
        for name, content in facets.items()
    }


def _schema(name: str, carrier: str) -> str:
    if name in _SCHEMAS_OF_DBT:
        return f"{_OF_DBT}{_SCHEMAS_OF_DBT[name]}"
    schema = _SCHEMAS[name].format(carrier=carrier)
    return f"{_FACETS}{schema}" if "#" in schema else f"{_FACETS}{schema}.json#/$defs/{schema.partition('/')[2]}"
