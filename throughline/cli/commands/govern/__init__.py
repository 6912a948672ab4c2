"""Commands that apply a file of rules to lineage."""
