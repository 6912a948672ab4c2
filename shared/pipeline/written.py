"""With what versions of naming and layout all was written that is stored: one row of `control`.

What an older Throughline wrote is used as it is, and upgraded by `throughline upgrade`; what a newer one wrote is left
alone, for this one would not understand it.
"""

from dataclasses import dataclass

from shared.errors import Misconfigured
from shared.places import CONTROL, LEDGER
from shared.storage import Row, Storage
from shared.versions import LAYOUT, NAMING


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The versions of naming and layout."""

    naming: str = NAMING
    layout: int = LAYOUT

    @property
    def order(self) -> tuple[int, int]:
        """By which older and newer are told."""
        return self.layout, int(self.naming.removeprefix("v"))

    def __str__(self) -> str:
        return f"naming {self.naming}, layout {self.layout}"


NOW = Versions()
FIRST = Versions(naming="v1", layout=1)
"""What wrote before versions were noted."""


def mismatch(written: Versions, now: Versions) -> str:
    """What is to be done about what these versions wrote, in a sentence; empty for nothing. Pure.

    Raises Misconfigured where a newer Throughline has been here.
    """
    if written == now:
        return ""
    if written.layout > now.layout or written.order > now.order:
        raise Misconfigured(
            f"What is stored was written by a newer Throughline ({written}; this one writes {now}): install that one"
        )
    return f"What is stored was written by an older Throughline ({written}): `throughline upgrade` moves it to {now}"


def written_with(storage: Storage) -> Versions | None:
    """The versions on record; None before anything was written."""
    found = storage.read(CONTROL, "versions", "written")
    if found:
        return Versions(naming=str(found.values["naming"]), layout=int(str(found.values["layout"])))
    return FIRST if next(storage.scan(LEDGER), None) else None


def note_versions(storage: Storage, now: Versions = NOW) -> None:
    """Put on record that all is as these versions write it."""
    row = Row(partition="versions", key="written", values={"naming": now.naming, "layout": now.layout})
    storage.upsert(CONTROL, row)


def check_versions(storage: Storage, now: Versions = NOW) -> str:
    """At the start: what is to be done about what is stored, if anything; where nothing is yet, the versions are noted.

    Raises Misconfigured where a newer Throughline has been here, and StorageUnavailable.
    """
    written = written_with(storage)
    problem = mismatch(written or now, now)
    if not problem and storage.read(CONTROL, "versions", "written") is None:
        note_versions(storage, now)
    return problem
