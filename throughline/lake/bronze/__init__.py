"""Bronze: every event once, with its text and its decoded form.

Imports `tables` and `engine`.
"""
