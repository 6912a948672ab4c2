"""Fixtures and options of the tests, one file for each part."""
