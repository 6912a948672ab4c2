"""Silver: merged runs, what each says about its processes, and what of that lasts.

Imports `bronze`, `tables` and `engine`.
"""
