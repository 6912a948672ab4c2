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


def view(table: str, number: int, changed: str, how: str) -> str:
    """Return the name of a view of a table in a world, with one column changed or none."""
    name = f"{table}_{number}" + (f"_{changed[-1]}_{how}" if changed.startswith(table) else "")
    if name not in views:
        cells = worlds[number]["drawn"] | ({changed: worlds[number][how][changed]} if changed else {})
        columns = sorted(each for each in cells if each.startswith(f"{table}."))
        rows = zip(*(cells[column] for column in columns), strict=True)
        values = ", ".join(f"({', '.join(repr(each) if each else 'NULL' for each in row)})" for row in rows)
        names = ", ".join(column[-1] for column in columns)
        spark.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM VALUES {values} AS v({names})")  # noqa: S608 - of our grammar
        views.add(name)
    return name


def run(text: str, number: int, changed: str = "", how: str = "") -> list[list[Cell]]:
    """Return the cells of each column in the result of a text in a world."""
    text = re.sub(r"\bs\d\b(?!\.)", lambda table: view(table[0], number, changed, how), text)
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
    seen: dict[str, dict[str, set[int]]] = {
        source: {"any": set(), "numbers": set(), "cells": set()} for source in sources
    }
    origins: list[set[str]] = []
    runs = 0
    for number in range(len(worlds)):
        how = ("numbers", "cells")[number // 2 % 2]
        missing = [
            source
            for source in sources
            if set(expected.get(source, ())) - seen[source]["numbers"] - seen[source]["cells"]
        ]
        changed = sources if number in {0, 2} else missing
        unmet = not origins or any(set(wanted) - met for wanted, met in zip(values, origins, strict=True))
        if not changed and not unmet:
            continue
        before = run(text, number)
        origins = origins or [set() for _ in before]
        results = {source: run(text, number, source, how) for source in changed}
        runs += 1 + len(results)
        for result in (before, *results.values()):
            for place, cells in enumerate(result):
                origins[place].update(origin for each in cells if each for origin, _ in each)
        for source, after in results.items():
            for place, (first, second) in enumerate(zip(before, after, strict=True)):
                if Counter(first) != Counter(second):
                    seen[source]["any"].add(place)
                if without(source, first) != without(source, second):
                    seen[source][how].add(place)
    found = {source: {kind: sorted(places) for kind, places in each.items()} for source, each in seen.items()}
    return {"origins": [sorted(origin) for origin in origins], "changed": found, "runs": runs}


results, refused = {}, {}
for name, (text, sources, expected, values) in json.loads((folder / "queries.json").read_text()).items():
    try:
        results[name] = observe(text, sources, expected, values)
    except PySparkException as error:
        refused[name] = " ".join(str(error).split())
(folder / "seen.json").write_text(json.dumps(results))
(folder / "refused.json").write_text(json.dumps(refused))
spark.stop()
