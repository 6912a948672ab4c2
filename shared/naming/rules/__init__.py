"""Naming rules: what a rule and a store family are, and the user's own rules. Pure."""
