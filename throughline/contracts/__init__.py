"""Data contracts: what a producer promised of data sets, held to the lineage that runs have shown."""
