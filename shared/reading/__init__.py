"""Reading lineage, in Python: what a data set, or one of its columns, is made of, and what is made of it.

from shared.bootstrap import worker
from shared.reading import InCatalog, lineage

found = lineage(InCatalog(worker().catalog), "customer_master", direction="upstream", depth=3, column="name")
"""

from shared.reading.following import Lineage, Step, lineage
from shared.reading.sources import AmbiguousError, Dataset, InCatalog, Link, OnRecord, Source, UnknownError, one_of

__all__ = [
    "AmbiguousError",
    "Dataset",
    "InCatalog",
    "Lineage",
    "Link",
    "OnRecord",
    "Source",
    "Step",
    "UnknownError",
    "lineage",
    "one_of",
]
