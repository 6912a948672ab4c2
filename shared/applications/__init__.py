"""Applications: all that is known of an application run lies in one partition, and changes in one transaction.

Its pure part is `state` and `fold`; the rest reads and writes rows. Imports the pure core, `storage`, `records` and
`telemetry`; nothing of publishing.
"""
