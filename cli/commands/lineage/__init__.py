"""Commands that read lineage."""
