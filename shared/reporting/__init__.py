"""Counts and outcomes of events, runs and processes. Imports publishing, events and records."""

from shared.reporting.run_outcomes import Seen, counted
from shared.reporting.status import By, Group, Status, status

__all__ = [
    "By",
    "Group",
    "Seen",
    "Status",
    "counted",
    "status",
]
