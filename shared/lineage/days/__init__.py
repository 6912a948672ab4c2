"""Documents of lineage of several days: one as its difference from another, and one of two with the changes."""
