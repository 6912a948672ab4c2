"""The rows on record: run states, contributions, application rows, publish queue, ledger, asset matches.

Imports storage and the pure core.
"""
