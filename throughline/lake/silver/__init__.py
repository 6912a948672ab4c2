"""Silver: merged runs, the contribution of each run to its processes, and these contributions without staging.

Imports `bronze`, `tables` and `engine`.
"""
