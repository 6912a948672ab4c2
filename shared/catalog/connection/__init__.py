"""The account: its end points, dialect, collections and types, and calls to them that retry and keep a rate."""
