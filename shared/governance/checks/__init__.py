"""Check policies against lineage: broken and unknown demands, and reports for pipelines."""
