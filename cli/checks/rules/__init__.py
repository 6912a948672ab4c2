"""Every rule of `throughline doctor`. docs/operate/recovery.md shows them; a test holds the page to this table."""

from cli.checks.rules.apps import CODE, HOST
from cli.checks.rules.azure import DEPLOYMENT, REACH
from cli.checks.rules.catalog import CATALOG
from cli.checks.rules.events import EVENTS
from cli.checks.rules.here import COUNTS, MACHINE, SETTINGS, STORAGE
from cli.checks.rules.receiver import RECEIVER
from cli.checks.rules.rule import Rule, as_table

__all__ = ["BY_CODE", "SECTIONS", "Rule", "as_table"]

SECTIONS: dict[str, tuple[Rule, ...]] = {
    "This machine": MACHINE,
    "Into Azure": REACH,
    "The deployment": DEPLOYMENT,
    "The apps": CODE,
    "The host": HOST,
    "The way of events": EVENTS,
    "Storage": STORAGE,
    "The catalog": CATALOG,
    "The receiver": RECEIVER,
    "The settings": SETTINGS,
    "The counts": COUNTS,
}
"""The rules by subject, in the order in which the checks run."""

BY_CODE = {rule.code: rule for rules in SECTIONS.values() for rule in rules}
