"""Placeholders: create, update and remove assets that no scan has found, and their columns."""
