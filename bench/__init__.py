"""`make bench`: how much Throughline costs, as ratios to what it is made of, measured side by side in one run."""
