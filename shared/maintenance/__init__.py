"""Commands that repair or move what is on record: replay, rebuild, verify, backfill, retire, purge.

Imports processing, publishing, events and records.
"""
