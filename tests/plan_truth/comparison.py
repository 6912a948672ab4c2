"""Compare the reader's lineage of a query with the expected one: each difference has a known reason, or none."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from shared.openlineage.run import MergedDataset
from shared.openlineage.wire import InputField
from shared.plans.reader import PlanLineage
from tests.plan_truth.expected import Expected, Source, Sources

LEAVES = "sqlglot's lineage"


class Explanation(NamedTuple):
    """The reason of a column's difference: the kinds of edges that only sqlglot, or only the plan, has."""

    reason: str
    differs: tuple[str, ...]
    more_in_plan: bool = False


_GROUPING = Explanation(
    "grouping() gives a row's grouping set: it reads no value of the column that it names", ("values", LEAVES)
)
_RANKED = Explanation(
    "the rank's partition uses grouping(), which reads no value of the columns that it names", ("conditions", LEAVES)
)
_SUBQUERY = Explanation(
    "a condition on a scalar subquery's rows decides about its value; sqlglot's lineage leaves it out",
    (LEAVES,),
    more_in_plan=True,
)
EXPLAINED: Mapping[tuple[str, int], Explanation] = {
    **{("v14_q9", column): _SUBQUERY for column in range(5)},
    ("v14_q27", 2): _GROUPING,
    **{(query, 3): _GROUPING for query in ("v14_q36", "v14_q70", "v14_q86")},
    **{(query, 4): _RANKED for query in ("v14_q36", "v14_q70", "v14_q86")},
}
"""The reasons by query and column position. In all of them the plan reader is right."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A difference: the column's position, -1 for the rows; `ours` and `theirs` are the edges of only one side."""

    query: str
    column: int
    what: str
    ours: frozenset[Source]
    theirs: frozenset[Source]

    @property
    def reason(self) -> str | None:
        """Why, if it is known."""
        known_explanation = EXPLAINED.get((self.query, self.column))
        if known_explanation is None or self.what not in known_explanation.differs:
            return None
        return None if (self.theirs if known_explanation.more_in_plan else self.ours) else known_explanation.reason


def differences(query: str, lineage: PlanLineage, truth: Expected) -> list[Difference]:
    """Return all differences of a query. A plan with a part that no rule knows is a difference too."""
    if not lineage.exact or len(lineage.outputs) != 1:
        return [_difference(query, -1, f"not exact: {lineage.unknown}", frozenset(), truth.rows)]
    (output,) = lineage.outputs
    if len(output.schema) != len(truth.columns):
        return [_difference(query, -1, "number of columns", frozenset(), truth.rows)]
    columns = list(columns_of(output, (f"c{place}" for place in range(len(truth.columns)))))
    compared = [(-1, "rows", frozenset(map(source_of, output.rows)), truth.rows)]
    for place, (our_column, their_column, leaves) in enumerate(zip(columns, truth.columns, truth.leaves, strict=True)):
        compared += [
            (place, "values", our_column.values, their_column.values),
            (place, "conditions", our_column.conditions, their_column.conditions),
            (place, LEAVES, our_column.all, leaves),
        ]
    return [
        _difference(query, place, subject, our_sources, their_sources)
        for place, subject, our_sources, their_sources in compared
        if our_sources != their_sources
    ]


def _difference(
    query: str, place: int, subject: str, our_sources: frozenset[Source], their_sources: frozenset[Source]
) -> Difference:
    return Difference(
        query=query, column=place, what=subject, ours=our_sources - their_sources, theirs=their_sources - our_sources
    )


def columns_of(output: MergedDataset, names: Iterable[str]) -> Iterator[Sources]:
    """Return the sources of the columns of these names."""
    known_fields = dict(output.fields)
    for name in names:
        inputs = [input_field for output in known_fields.get(name, ()) for input_field in output.input_fields or ()]
        yield Sources(_acting(inputs, direct=True), _acting(inputs, direct=False))


def _acting(inputs: list[InputField], *, direct: bool) -> frozenset[Source]:
    return frozenset(
        source_of(input_field)
        for input_field in inputs
        if any((step.type == "DIRECT") == direct for step in input_field.transformations or ())
    )


def source_of(input_field: InputField) -> Source:
    """Return the table and column of a source."""
    return input_field.name.rpartition("/")[2], input_field.field
