"""Basic search."""
