"""A job that runs queries on tables in which one column at a time is changed: `changed_job.py FOLDER`.

`worlds.json` has the worlds of `cells`. `queries.json` has by name a text, the sources that may change something, the
positions of the columns that the plan's conditions connect with each source, and the sources of each column's values by
the plan. `merge.json` is as for `traced_job.py`.

Each source is changed in both ways. A source whose expected change did not occur is changed again in further worlds,
and an origin that was not found in a column's cells is searched for there. `seen.json` gets by name the origins in the
cells of each column, and for each source the positions of the columns whose cells changed at all (`any`), and of those
in which more than the source's own numbers changed (`numbers`: only its numbers were replaced; `cells`: all its cells).
"""

import json
import re
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

ORIGIN = re.compile(r"\[(s\d\.\w)#(\d+)\]", re.IGNORECASE)
Cell = tuple[tuple[str, str], ...] | None
"""A cell's origins and their numbers, sorted; None for null."""

folder = Path(sys.argv[1])
spark = SparkSession.builder.appName("Changed").getOrCreate()
spark.udf.register("glued", lambda first, second: (first or "") + (second or ""))
worlds = json.loads((folder / "worlds.json").read_text())
target, made = json.loads((folder / "merge.json").read_text())
views: set[str] = set()


def view(table: str, number: int, changed: str, change_kind: str) -> str:
    """Return the name of a view of a table in a world, with one column changed or none."""
    name = f"{table}_{number}" + (f"_{changed[-1]}_{change_kind}" if changed.startswith(table) else "")
    if name not in views:
        cells = worlds[number]["drawn"] | ({changed: worlds[number][change_kind][changed]} if changed else {})
        columns = sorted(column for column in cells if column.startswith(f"{table}."))
        rows = zip(*(cells[column] for column in columns), strict=True)
        values = ", ".join(f"({', '.join(repr(value) if value else 'NULL' for value in row)})" for row in rows)
        names = ", ".join(column[-1] for column in columns)
        spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM VALUES {values} AS v({names})")  # noqa: S608 - of our grammar
        views.add(name)
    return name


def run(text: str, number: int, changed: str = "", change_kind: str = "") -> list[list[Cell]]:
    """Return the cells of each column in the result of a text in a world."""
    text = re.sub(r"\bs\d\b(?!\.)", lambda table: view(table[0], number, changed, change_kind), text)
    if text.startswith("MERGE "):
        spark.sql(made)
        spark.sql(text)
        text = f"SELECT a, b, c FROM {target}"  # noqa: S608 - of our grammar
    frame = spark.sql(text)
    rows = frame.collect()
    return [[cell(row[place]) for row in rows] for place in range(len(frame.columns))]


def cell(value: str | None) -> Cell:
    """Return a cell's content, independent of its order."""
    if value is None:
        return None
    return tuple(sorted((origin.lower(), number) for origin, number in ORIGIN.findall(value)))


def without(source: str, cells: list[Cell]) -> Counter[Cell]:
    """Return the cells without the numbers of a source."""
    return Counter(
        each and tuple(sorted((origin, "" if origin == source else number) for origin, number in each))
        for each in cells
    )


def observe(
    text: str, sources: list[str], expected: Mapping[str, list[int]], values: list[list[str]]
) -> dict[str, Any]:
    """Return the observations of one text."""
    observed_places: dict[str, dict[str, set[int]]] = {
        source: {"any": set(), "numbers": set(), "cells": set()} for source in sources
    }
    origins: list[set[str]] = []
    runs = 0
    for number in range(len(worlds)):
        change_kind = ("numbers", "cells")[number // 2 % 2]
        missing = [
            source
            for source in sources
            if set(expected.get(source, ())) - observed_places[source]["numbers"] - observed_places[source]["cells"]
        ]
        changed = sources if number in {0, 2} else missing
        unmet = not origins or any(
            set(expected_origins) - found_origins
            for expected_origins, found_origins in zip(values, origins, strict=True)
        )
        if not changed and not unmet:
            continue
        rows_before = run(text, number)
        origins = origins or [set() for _ in rows_before]
        results = {source: run(text, number, source, change_kind) for source in changed}
        runs += 1 + len(results)
        for result in (rows_before, *results.values()):
            for place, cells in enumerate(result):
                origins[place].update(origin for cell_origins in cells if cell_origins for origin, _ in cell_origins)
        for source, rows_after in results.items():
            for place, (first, second) in enumerate(zip(rows_before, rows_after, strict=True)):
                if Counter(first) != Counter(second):
                    observed_places[source]["any"].add(place)
                if without(source, first) != without(source, second):
                    observed_places[source][change_kind].add(place)
    changed_places = {
        source: {kind: sorted(places) for kind, places in places_by_kind.items()}
        for source, places_by_kind in observed_places.items()
    }
    return {"origins": [sorted(origin) for origin in origins], "changed": changed_places, "runs": runs}


results, refused = {}, {}
for name, (text, sources, expected, values) in json.loads((folder / "queries.json").read_text()).items():
    try:
        results[name] = observe(text, sources, expected, values)
    except PySparkException as error:
        refused[name] = " ".join(str(error).split())
(folder / "seen.json").write_text(json.dumps(results))
(folder / "refused.json").write_text(json.dumps(refused))
spark.stop()
