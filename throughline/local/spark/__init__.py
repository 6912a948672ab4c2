"""Spark jobs with the real listener."""
