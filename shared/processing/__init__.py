"""Process runs: load, merge, translate, store contributions, mark processes to be published; retries and the sweep.

Imports events and records.
"""
