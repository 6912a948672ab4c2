"""Commands that act on lineage by a file of rules."""
