"""`make bench`: what Throughline costs, as ratios to its bare parts, both sides measured in one run."""
