"""What commands do to the record: replay, publish what is missing, verify, reconcile, retire, purge.

Imports applications, sweeping, reading, publishing, events and records.
"""
