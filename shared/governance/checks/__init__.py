"""Policies against lineage: what breaks them, what is not known, and reports for pipelines."""
