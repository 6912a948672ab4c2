"""What a data contract promises of a data set: kept with the data set's record, from before its first run."""

from collections.abc import Iterable
from enum import StrEnum

import msgspec
from msgspec import structs

from shared.model import NOTHING_DECLARED, Declared

_COLUMNS = "columns"


class PromiseStatus(StrEnum):
    """Nobody has written the data set yet; a completed run has; it has, and not everything holds that was promised."""

    PENDING = "PENDING"
    ACTIVE = "ACTIVE"
    DEGRADED = "DEGRADED"


class Promise(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A contract's promise. `source`: the contract, as it is told apart from others; `title`: its name and version, for
    people; `columns`: pairs of name and type; `declared`: owner and description; `is_written`: a completed run has
    written the data set; `broken`: the demands that were broken when the contract was applied last.
    """

    source: str
    title: str
    columns: tuple[tuple[str, str], ...] = ()
    declared: Declared = NOTHING_DECLARED
    is_written: bool = False
    broken: tuple[str, ...] = ()

    def written(self, columns: Iterable[str] = ()) -> "Promise":
        """This, after a completed run. `columns`: all that runs wrote, none where they are not known."""
        seen = {name.lower() for name in columns}
        broken = set(self.broken)
        if seen and any(name.lower() not in seen for name, _ in self.columns):
            broken.add(_COLUMNS)
        return structs.replace(self, is_written=True, broken=tuple(sorted(broken)))

    @property
    def status(self) -> PromiseStatus:
        """The status for people."""
        if not self.is_written:
            return PromiseStatus.PENDING
        return PromiseStatus.DEGRADED if self.broken else PromiseStatus.ACTIVE

    @property
    def sentence(self) -> str:
        """The sentence for the catalog."""
        broken = f" ({', '.join(self.broken)})" if self.status is PromiseStatus.DEGRADED else ""
        return f"Promised by {self.title}: {self.status}{broken}."
