"""Entities and their lineage."""
