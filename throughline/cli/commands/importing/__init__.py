"""`throughline import`: lineage that other tools have written down."""
