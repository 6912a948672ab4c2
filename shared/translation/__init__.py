"""Translate merged runs into lineage, and aggregate the lineage of many runs. Pure."""
