"""The union of rows that have different columns."""

from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as f


def union_of(*parts: DataFrame) -> DataFrame:
    """All rows of the parts, with all their columns: null where a part lacks one. PySpark's own union with missing
    columns fails on Sail, where such nulls have no type.
    """
    types = {name: type_name for part in parts for name, type_name in part.dtypes}

    def whole(part: DataFrame) -> DataFrame:
        known_columns = set(part.columns)
        null = {
            name: f.lit(None).cast(type_name).alias(name)
            for name, type_name in types.items()
            if name not in known_columns
        }
        return part.select(*(null.get(name, f.col(name)) for name in types))

    return reduce(lambda upper_rows, lower_rows: upper_rows.unionByName(lower_rows), map(whole, parts))
