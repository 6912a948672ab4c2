"""Counts and outcomes of events, runs and processes. Imports publishing, events and records."""
