"""Verify the record: scanners find inconsistencies; each kind of inconsistency names its repair."""
