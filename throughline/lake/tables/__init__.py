"""The lake's Delta tables: their declared columns, how to read and change them, and how they encode values.

Imports `engine` and the pure core.
"""
