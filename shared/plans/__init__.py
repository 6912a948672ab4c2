"""Read Spark's analyzed plans, which throughline-plan.jar sends: the lineage that no listener reports. Pure.

Knows Catalyst's logical plans and expressions, by the names of their classes. Imports `openlineage` only.
"""
