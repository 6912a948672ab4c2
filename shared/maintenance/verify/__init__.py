"""Verify the record: scanners find inconsistencies, and each kind names its repair."""
