"""Naming rules, store families, and the user's names file."""
