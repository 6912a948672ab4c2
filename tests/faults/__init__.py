"""Fault injection: storage and catalog that fail in every possible way, and simulated histories on them."""
