"""Helpers for tests: events, histories, damaged records, stand-ins. No module of tests imports another."""
