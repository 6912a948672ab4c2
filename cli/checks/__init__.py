"""The checks of `throughline doctor`: each looks at one subject, and yields findings with codes."""

from cli.checks.azure import Deployed, Target, check_deployment
from cli.checks.azure.place import place_of
from cli.checks.data import UNKNOWN, check_connection, check_counts, check_storage
from cli.checks.findings import Finding, Places, State, bad, good, unseen
from cli.checks.machine import check_machine
from cli.checks.rules import SECTIONS, Rule, as_table

__all__ = [
    "SECTIONS",
    "UNKNOWN",
    "Deployed",
    "Finding",
    "Places",
    "Rule",
    "State",
    "Target",
    "as_table",
    "bad",
    "check_connection",
    "check_counts",
    "check_deployment",
    "check_machine",
    "check_storage",
    "good",
    "place_of",
    "unseen",
]
