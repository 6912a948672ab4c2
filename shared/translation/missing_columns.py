"""Why a process has no column lineage: one plain sentence for people."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from shared.model import DIRECT, Process
from shared.translation.sql.statement_reader import read_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """The process, the contents of its contributions, and the SQL statements of its runs."""

    process: Process
    contents: tuple[Process, ...]
    statements: tuple[str, ...]

    def any(self, field: str) -> bool:
        """Whether a content has a value in this field."""
        return any(getattr(content, field) for content in self.contents)


_REASONS: tuple[tuple[Callable[[_Evidence], bool], str], ...] = (
    (
        lambda found: set(found.process.operations) == {"delete"},
        "a DELETE writes no column values",
    ),
    (
        lambda found: bool(found.process.columns),
        "the listener names only columns that select the rows (filters, joins, groups), none that gives a value",
    ),
    (
        lambda found: found.any("columns"),
        "the known columns come from the target itself or from superseded runs",
    ),
    (
        lambda found: found.any("sourceless"),
        "no source is known for any column: constants, code that the listener can't read, or staging without columns",
    ),
    (
        lambda found: found.any("batch_inputs"),
        "the write is part of a stream's foreachBatch: its inputs are those of the batch, without columns",
    ),
    (
        lambda found: bool(found.statements) and all(read_statement(each) is None for each in found.statements),
        "the listener sent no column lineage, and the job's SQL can't be parsed",
    ),
    (
        lambda found: found.any("unresolved_tables"),
        "the listener sent no column lineage, and no event locates the tables in the job's SQL",
    ),
    (
        lambda found: found.any("parsed"),
        "the inputs are known only from the job's SQL, which leaves open which columns they give",
    ),
    (
        lambda found: (
            not any(
                schema.columns and schema.qualified_name in _outputs(found.process) for schema in found.process.schemas
            )
        ),
        "the listener sent neither column lineage nor a schema of the output",
    ),
    (lambda _: True, "the listener sent no column lineage for this write"),
)
"""The first whose condition holds."""


def why_no_columns(process: Process, contributions: Iterable[Process] = (), statements: Iterable[str] = ()) -> str:
    """The reason why no column's value reaches the process's outputs; empty if one does.

    `contributions`: the contents of the process's contributions, and `statements`: the SQL of its runs. Without them
    the reason follows from the process alone, and may be less specific.
    """
    if any(edge.kind is DIRECT for edge in process.columns):
        return ""
    contents = tuple(contributions) or (process,)
    found = _Evidence(process=process, contents=contents, statements=tuple(filter(None, statements)))
    return next(reason for holds, reason in _REASONS if holds(found))


def _outputs(process: Process) -> set[str]:
    return {asset.qualified_name for asset in process.outputs}
