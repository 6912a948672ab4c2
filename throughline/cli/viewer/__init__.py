"""The server of the lineage page on loopback. The page itself is in `viewer/`, its answers in `shared/serving/`."""
