"""Plans: the process as the catalog should hold it, and the assets that it refers to."""
