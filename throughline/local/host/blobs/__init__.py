"""Blob triggers of the local host."""
