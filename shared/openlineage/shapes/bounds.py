"""Size limits of an event: one table behind the wire types, decoding and docs/operate/input-limits.md.

The limits are far above what listeners send (Spark's own omits column lineage beyond 1,000 columns) and far below what
would exhaust memory. msgspec checks lengths and counts while it reads, at no cost. A part beyond its limit is omitted
and its path recorded.
"""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta

REFUSED = "the event is refused"
LEFT_OUT = "the part is left out, and the rest is used"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A limit: `most` of `what`, and the consequence for an event `beyond` it."""

    what: str
    most: int
    beyond: str


NAME = Bound(what="characters of a namespace or a name", most=8_192, beyond=LEFT_OUT)
COLUMN_NAME = Bound(what="characters of a column's name", most=32_768, beyond=LEFT_OUT)
"""Spark names an expression without an alias by its whole text."""
DATASETS = Bound(what="inputs, and as many outputs", most=10_000, beyond=REFUSED)
COLUMNS = Bound(what="columns of a data set, and of its column lineage", most=50_000, beyond=LEFT_OUT)
SOURCES = Bound(what="source columns of a column", most=50_000, beyond=LEFT_OUT)
OTHER_NAMES = Bound(what="other names of a data set", most=1_000, beyond=LEFT_OUT)
STEPS = Bound(what="transformations of a source column", most=100, beyond=LEFT_OUT)
PROPERTIES = Bound(what="environment properties", most=1_000, beyond=LEFT_OUT)
TAGS = Bound(what="tags of a run, a job or a data set", most=50_000, beyond=LEFT_OUT)
OWNERS = Bound(what="owners of a job or a data set", most=1_000, beyond=LEFT_OUT)
DESCRIPTION = Bound(what="characters of a description", most=32_768, beyond=LEFT_OUT)
ASSERTIONS = Bound(what="tests of a data set, and quantiles of a column", most=10_000, beyond=LEFT_OUT)
ENTRIES = Bound(what="entries of explicit lineage", most=10_000, beyond=LEFT_OUT)
VALUES = Bound(what="values in a part that is looked at", most=1_000_000, beyond=LEFT_OUT)
"""Counted by their commas, before anything is built: two bytes of JSON may become seventy of memory."""

BOUNDS = (
    NAME,
    COLUMN_NAME,
    DATASETS,
    COLUMNS,
    SOURCES,
    OTHER_NAMES,
    STEPS,
    PROPERTIES,
    TAGS,
    OWNERS,
    DESCRIPTION,
    ASSERTIONS,
    ENTRIES,
    VALUES,
)
"""A job name longer than `NAME` refuses its event: nothing else identifies the job."""

Name = Annotated[str, Meta(max_length=NAME.most)]
"""A namespace or a name of a job or a data set."""

ColumnName = Annotated[str, Meta(max_length=COLUMN_NAME.most)]
"""A column's name."""

Description = Annotated[str, Meta(max_length=DESCRIPTION.most)]
"""A text for people."""

Columns = Meta(max_length=COLUMNS.most)
Sources = Meta(max_length=SOURCES.most)
OtherNames = Meta(max_length=OTHER_NAMES.most)
Steps = Meta(max_length=STEPS.most)
Properties = Meta(max_length=PROPERTIES.most)
TagsOf = Meta(max_length=TAGS.most)
OwnersOf = Meta(max_length=OWNERS.most)
AssertionsOf = Meta(max_length=ASSERTIONS.most)
Quantiles = Meta(max_length=ASSERTIONS.most)
Entries = Meta(max_length=ENTRIES.most)


_SLICE = 1 << 16


def is_crowded(raw: bytes) -> bool:
    """Whether a part has more values than may be built."""
    if len(raw) <= VALUES.most:
        return False
    view = memoryview(raw)  # a Raw has no `count`
    return sum(bytes(view[start : start + _SLICE]).count(b",") for start in range(0, len(raw), _SLICE)) > VALUES.most
