"""Verify the record: checks find inconsistencies, each of a kind that names its repair."""
