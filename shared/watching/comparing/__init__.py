"""Compare two snapshots of lineage: the changes between them. Imports the document of lineage only."""
