"""The union of rows that have different columns."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def union_of(*parts: DataFrame) -> DataFrame:
    """All rows of the parts, with all their columns: null where a part lacks one. PySpark's own union with missing
    columns fails on Sail, where such nulls have no type.
    """
    types = {name: of for part in parts for name, of in part.dtypes}

    def whole(part: DataFrame) -> DataFrame:
        known_columns = set(part.columns)
        null = {name: f.lit(None).cast(of).alias(name) for name, of in types.items() if name not in known_columns}
        return part.select(*(null.get(name, f.col(name)) for name in types))

    return reduce(lambda above, below: above.unionByName(below), map(whole, parts))
