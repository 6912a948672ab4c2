"""How much of an event is looked at: one table, of which the wire's types, decoding and docs/operate/input-limits.md
are made.

The numbers are far above what listeners send (Spark's leaves column lineage out beyond 1,000 columns by itself) and far
below what would cost memory that others need. Lengths and counts of facets are checked by msgspec while it reads, so
they cost nothing; what goes beyond is salvaged: the part is left out, and its path is on record.
"""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

REFUSED = "the event is refused"
LEFT_OUT = "the part is left out, and the rest is used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """At most so many of something, and what becomes of more."""

    what: str
    most: int
    beyond: str


NAME = Bound(what="characters of a namespace or a name", most=8_192, beyond=LEFT_OUT)
COLUMN_NAME = Bound(what="characters of a column's name", most=32_768, beyond=LEFT_OUT)
"""Spark calls an expression without an alias by its whole text."""
DATASETS = Bound(what="inputs, and as many outputs", most=10_000, beyond=REFUSED)
COLUMNS = Bound(what="columns of a data set, and of its column lineage", most=50_000, beyond=LEFT_OUT)
SOURCES = Bound(what="source columns of a column", most=50_000, beyond=LEFT_OUT)
OTHER_NAMES = Bound(what="other names of a data set", most=1_000, beyond=LEFT_OUT)
STEPS = Bound(what="transformations of a source column", most=100, beyond=LEFT_OUT)
PROPERTIES = Bound(what="environment properties", most=1_000, beyond=LEFT_OUT)
VALUES = Bound(what="values in a part that is looked at", most=1_000_000, beyond=LEFT_OUT)
"""Counted by their commas, before anything is built: two bytes of JSON may become seventy of memory."""

BOUNDS = (NAME, COLUMN_NAME, DATASETS, COLUMNS, SOURCES, OTHER_NAMES, STEPS, PROPERTIES, VALUES)
"""All of them. A job that is named by more than `NAME` has its event refused: nothing else says whose it is."""

Name = Annotated[str, Meta(max_length=NAME.most)]
"""A namespace or a name of a job or a data set."""

ColumnName = Annotated[str, Meta(max_length=COLUMN_NAME.most)]
"""A column's name."""

Columns = Meta(max_length=COLUMNS.most)
Sources = Meta(max_length=SOURCES.most)
OtherNames = Meta(max_length=OTHER_NAMES.most)
Steps = Meta(max_length=STEPS.most)
Properties = Meta(max_length=PROPERTIES.most)


_SLICE = 1 << 16


def is_crowded(raw: bytes) -> bool:
    """Whether a part has so many values that it is not to be built."""
    if len(raw) <= VALUES.most:
        return False
    view = memoryview(raw)  # a Raw has no `count`
    return sum(bytes(view[start : start + _SLICE]).count(b",") for start in range(0, len(raw), _SLICE)) > VALUES.most
