"""Stored events: their rows and blobs, the archive with its index, and dead letters.

Imports records.
"""
