"""The lineage page: built into one HTML file, and served on loopback. The page itself is in `viewer/`."""
