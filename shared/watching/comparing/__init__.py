"""Comparing: two snapshots of lineage, and the changes between them. Imports the document of lineage only."""
