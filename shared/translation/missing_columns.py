"""Why a process has no column lineage, or no source at all: one plain sentence for people."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.model import DIRECT, Process
from shared.translation.sql.statement_reader import read_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """The process, the contents of its contributions, and the SQL statements of its runs; `rows_from`: where their rows
    come from that no data set has.
    """

    process: Process
    contents: tuple[Process, ...]
    statements: tuple[str, ...]
    rows_from: tuple[str, ...]

    def any(self, field: str) -> bool:
        """Whether a content has a value in this field."""
        return any(getattr(content, field) for content in self.contents)


_ROWS = "its rows are {}"
_REASONS: tuple[tuple[Callable[[_Evidence], bool], str], ...] = (
    (
        lambda evidence: set(evidence.process.operations) == {"delete"},
        "a DELETE writes no column values",
    ),
    (
        lambda evidence: bool(evidence.process.columns),
        "the listener names only columns that select the rows (filters, joins, groups), none that gives a value",
    ),
    (
        lambda evidence: evidence.any("columns"),
        "only the table itself, or runs that a newer run has replaced, gave columns",
    ),
    (
        lambda evidence: bool(evidence.rows_from),
        _ROWS,
    ),
    (
        lambda evidence: evidence.any("sourceless"),
        "no source is known for any column: constants, code that the listener can't read, or staging without columns",
    ),
    (
        lambda evidence: evidence.any("batch_inputs"),
        "the write is part of a stream's foreachBatch: its inputs are those of the batch, without columns",
    ),
    (
        lambda evidence: (
            bool(evidence.statements) and all(read_statement(statement) is None for statement in evidence.statements)
        ),
        "the listener sent no column lineage, and the job's SQL can't be parsed",
    ),
    (
        lambda evidence: evidence.any("unresolved_tables"),
        "the listener sent no column lineage, and no event locates the tables in the job's SQL",
    ),
    (
        lambda evidence: evidence.any("parsed"),
        "the inputs are known only from the job's SQL, which leaves open which columns they give",
    ),
    (
        lambda evidence: (
            not any(
                schema.columns and schema.qualified_name in _outputs(evidence.process)
                for schema in evidence.process.schemas
            )
        ),
        "the listener sent neither column lineage nor a schema of the output",
    ),
    (lambda _: True, "the listener sent no column lineage for this write"),
)
"""The first whose condition holds."""


def why_no_columns(
    process: Process,
    contributions: Iterable[Process] = (),
    statements: Iterable[str] = (),
    *,
    rows_from: Iterable[str] = (),
) -> str:
    """The reason why no column's value reaches the process's outputs; empty if one does.

    `contributions`: the contents of the process's contributions, `statements`: the SQL of its runs, and `rows_from`:
    where rows come from that no data set has, by Spark's plans of them. Without these the reason follows from the
    process alone, and may be less specific.
    """
    if any(edge.kind is DIRECT for edge in process.columns):
        return ""
    contents = tuple(contributions) or (process,)
    evidence = _Evidence(
        process=process,
        contents=contents,
        statements=tuple(filter(None, statements)),
        rows_from=tuple(rows_from),
    )
    return next(reason for holds, reason in _REASONS if holds(evidence)).format("; ".join(evidence.rows_from))


def why_no_source(*, excluded: bool, rows_from: Iterable[str]) -> str:
    """The reason why no source is known of what a run writes, so that there is no process. `excluded`: a filter leaves
    out sources of it; `rows_from`: as above.
    """
    if excluded:
        return "a filter leaves out every source of it (THROUGHLINE_EXCLUDE_PATHS, THROUGHLINE_INCLUDE_PATHS)"
    origin = "; ".join(rows_from)
    return _ROWS.format(origin) if origin else "no event names a source of it"


def _outputs(process: Process) -> set[str]:
    return {asset.qualified_name for asset in process.outputs}
