"""Foreign lineage: what other programs wrote to the catalog around our data sets, read within the call rate, remembered
by what changed, and as processes of the lineage document.
"""
