"""Texts for people: marks that act as escapes, and the nearest known name. Pure; imports nothing."""
