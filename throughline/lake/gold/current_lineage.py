"""Gold, `lineage_current`: the contributions of application runs, aggregated to the processes that the catalog should
hold.
"""

from collections.abc import Iterator
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f
from pyspark.sql.window import Window

from shared.atlas.entities import process_entity
from shared.model import ApplicationTimes, Contribution
from shared.translation.aggregate import SupersessionPolicy, aggregate
from throughline.lake.engine.arrow import grouped, stream
from throughline.lake.engine.arrow_cells import Record, Row
from throughline.lake.silver.refinement import Meaning
from throughline.lake.tables.declaration import struct
from throughline.lake.tables.encoding import application_times_of, assets, contribution_of, edges, pack
from throughline.lake.tables.lake import Lake
from throughline.lake.tables.schemas import CONTRIBUTIONS, CURRENT, RUNS

_ROWS = struct(CURRENT.content)


def add_all_up(lake: Lake, meaning: Meaning, *, batch: int, since: int) -> int:
    """Update `lineage_current` from silver. Returns how many processes changed."""
    with lake.kept("processes_touched", _touched(lake, meaning, since)) as touched_processes:
        if touched_processes.isEmpty():
            return 0
        rows = _that_count(contributions(lake, touched_processes), meaning)
        ordered = lake.engine.in_order(rows, ("process",), ("application_run", "digest"), keep=rows.columns)
        process_rows = stream(
            ordered,
            partial(_processes, meaning),
            _ROWS,
            largest=largest_content(lake, touched_processes),
            weigh="content",
        )
        return lake.put(CURRENT, process_rows, batch=batch, scope=touched_processes)


def _touched(lake: Lake, meaning: Meaning, since: int) -> DataFrame:
    """The processes to recompute: contributions changed, an application run ended, or their revisit time has come."""
    runs = lake.changed(RUNS, since).select(f.col("run_id").alias("application_run"))
    of_runs = lake.read(CONTRIBUTIONS).join(runs, "application_run", "left_semi")
    rows = lake.changed(CONTRIBUTIONS, since).select("process").union(of_runs.select("process"))
    if meaning.as_of:
        due_rows = lake.live(CURRENT).where(f.col("revisit") <= f.lit(meaning.as_of))
        rows = rows.union(due_rows.select("process"))
    return rows.distinct()


def contributions(lake: Lake, touched_processes: DataFrame) -> DataFrame:
    """The contributions to these processes, with the times and ends of their application runs."""
    facts = lake.read(RUNS).select(
        f.col("run_id").alias("application_run"),
        f.col("first").alias("app_first"),
        f.col("last").alias("app_last"),
        "ended",
    )
    contributions = lake.live(CONTRIBUTIONS).where("not eliminated").join(touched_processes, "process", "left_semi")
    return contributions.select("process", "application_run", "digest", "first", "last", "content").join(
        facts, "application_run", "left"
    )


def linked_assets(lake: Lake) -> DataFrame:
    """The inputs and outputs of the current lineage, with their `process`, and whether it has `written` them."""
    sides = f.concat(_side("inputs", is_written=False), _side("outputs", is_written=True))
    return lake.live(CURRENT).select("process", f.explode(sides).alias("one")).select("process", "one.*")


def _side(name: str, *, is_written: bool) -> Column:
    columns = ("qualified_name", "type")
    return f.transform(
        name,
        lambda element: f.struct(*(element[name].alias(name) for name in columns), f.lit(is_written).alias("written")),
    )


def largest_content(lake: Lake, touched_processes: DataFrame) -> int | None:
    """The size in bytes of the largest contribution to these processes, superseded or not."""
    contributions = lake.read(CONTRIBUTIONS).join(touched_processes, "process", "left_semi")
    return lake.engine.largest(contributions, f.length("content"))


def _that_count(rows: DataFrame, meaning: Meaning) -> DataFrame:
    """Without superseded contributions, by the rule of `aggregate`: a process then holds only rows that count, however
    many application runs have written it.
    """
    run = Window.partitionBy("process", "application_run")
    began = f.least(f.min("first").over(run), f.col("app_first"))
    rows = rows.withColumn("since", f.struct(began.alias("began"), f.col("application_run")))
    is_over = f.col("ended") == "COMPLETE"
    if meaning.as_of:
        last = f.greatest(f.max("last").over(run), f.col("app_last"))
        rows = rows.withColumn("spoke", last)
        is_over |= f.col("ended").isNull() & (f.col("spoke") <= f.lit(meaning.as_of - meaning.quiet))
    newest = f.max(f.when(is_over, f.col("since"))).over(Window.partitionBy("process"))
    rows = rows.withColumn("newest", newest)
    return rows.where(f.col("newest").isNull() | (f.col("since") >= f.col("newest"))).drop("since", "newest", "spoke")


def _processes(meaning: Meaning, rows: Iterator[Record]) -> Iterator[Row]:
    """The process of the contributions to each name."""
    patience = SupersessionPolicy(quiet=meaning.quiet, unseen=meaning.unseen)
    for name, process_rows in grouped(rows, "process"):
        facts, contributions = dict[str, ApplicationTimes](), list[Contribution]()
        for row in process_rows:
            facts[row.application_run] = application_times_of(row)
            contributions.append(contribution_of(row))
        total = aggregate(contributions, facts, now=meaning.as_of, patience=patience)
        process = total.process
        if process is None:
            continue
        entity = process_entity(process, with_indirect=meaning.with_indirect)
        yield {
            "process": name,
            "name": process.name,
            "operations": list(process.operations),
            "inputs": assets(process, "inputs"),
            "outputs": assets(process, "outputs"),
            "columns": edges(process),
            "sourceless": [{"output": column.qualified_name, "column": column.column} for column in process.sourceless],
            "end_not_seen": process.end_not_seen,
            "generic_identity": process.generic_identity,
            "fingerprint": entity.fingerprint,
            "revisit": total.revisit,
            "content": pack(process),
        }
