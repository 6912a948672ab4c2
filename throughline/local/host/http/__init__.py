"""HTTP triggers of the local host."""
