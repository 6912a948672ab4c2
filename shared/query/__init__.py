"""Read lineage in Python: the sources and the dependents of a data set, or of one of its columns.

from shared.bootstrap import worker
from shared.query.processes import InCatalog
from shared.query.traversal import lineage

found = lineage(InCatalog(worker().catalog), "customer_master", direction="upstream", depth=3, column="name")

Imports the catalog port, publishing, events and records.
"""
