"""Questions about one document of lineage, and about two: each a pure function on an index, a graph or documents."""
