"""Read Spark's analyzed plans, which throughline-plan.jar sends: lineage that the OpenLineage listener omits. Pure.

Knows Catalyst's logical plans and expressions, by the names of their classes. Imports `openlineage` only.
"""
