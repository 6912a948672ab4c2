"""Read lineage in Python: what a data set, or one of its columns, is made of, and what is made of it.

from shared.bootstrap import worker
from shared.query import InCatalog, lineage

found = lineage(InCatalog(worker().catalog), "customer_master", direction="upstream", depth=3, column="name")

Imports the catalog port, publishing, events and records.
"""
