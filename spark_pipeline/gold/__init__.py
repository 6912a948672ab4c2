"""Gold: current lineage, its history, impact, tags, schema changes and coverage.

Imports `silver`, `tables` and `engine`.
"""

from spark_pipeline.gold.column_index import Columns
from spark_pipeline.gold.coverage import write_coverage, write_schema_changes
from spark_pipeline.gold.current_lineage import add_all_up
from spark_pipeline.gold.impact import column_edges, columns_of, downstream, impact, write_impact, write_tags
from spark_pipeline.gold.lineage_history import write_history

__all__ = [
    "Columns",
    "add_all_up",
    "column_edges",
    "columns_of",
    "downstream",
    "impact",
    "write_coverage",
    "write_history",
    "write_impact",
    "write_schema_changes",
    "write_tags",
]
