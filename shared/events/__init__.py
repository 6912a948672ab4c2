"""Stored events: load the events of a run, compact and archive them, and keep dead letters.

Imports records.
"""
