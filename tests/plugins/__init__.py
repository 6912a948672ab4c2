"""Fixtures: one file for each real part they start."""
