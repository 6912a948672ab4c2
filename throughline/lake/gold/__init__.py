"""Gold: current lineage, its history, impact, tags, schema changes and coverage.

Imports `silver`, `tables` and `engine`.
"""
