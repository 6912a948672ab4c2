"""OpenLineage's consumer scenarios, sent to Throughline."""
