"""Generate histories in the archive's layout from real events: for tests and measurements. Without Spark."""
