"""The lake's Delta tables: their declared columns, reading and changing them, and how values are encoded in them.

Imports `engine` and the pure core.
"""
