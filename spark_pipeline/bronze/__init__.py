"""Bronze: every event once, with its text and what the core decoded from it.

Imports `tables` and `engine`.
"""
