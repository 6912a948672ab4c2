"""Process runs: load, merge, translate, store contributions, queue processes to be published; retries and the sweep.

Imports events and records.
"""
