"""A catalog with all kinds of failures that a publisher meets."""
