"""Plans: what the catalog should hold of a process, and on which of its assets."""
