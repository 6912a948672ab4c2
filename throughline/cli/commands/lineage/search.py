"""`throughline search`: find data sets and columns by their names, and by what is known of them."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from itertools import chain
from typing import Annotated

import typer

from shared.lineage.questions import LineageIndex
from shared.lineage.search_index import Found
from shared.texts import suggestion
from throughline.cli.commands.lineage.document_source import lineage_document
from throughline.cli.context.target import HOME, Home
from throughline.cli.ui.console import counted, fail, note, print_json
from throughline.cli.ui.options import AsJson, FromLake, ListLimit, Wide
from throughline.cli.ui.tables import print_table

_MOST = 40


class _Facts(LineageIndex):
    """The document with what the filters ask of it, by numbers of data sets and columns."""

    @cached_property
    def dataset_tags(self) -> Mapping[int, tuple[str, ...]]:
        """The tags of each data set and of its columns."""
        columns = ((self.document.columns[column].dataset, tag) for column, tags in self.tags.items() for tag in tags)
        own_tags = ((number, tag) for number, dataset in enumerate(self.document.datasets) for tag in dataset.tags)
        return _gathered(chain(own_tags, columns))

    @cached_property
    def untraced(self) -> frozenset[int]:
        """The data sets with a column whose source is not known."""
        return frozenset(self.document.columns[number].dataset for number in self.unknown)

    @cached_property
    def linked(self) -> frozenset[int]:
        """The data sets with lineage."""
        return frozenset(end for flow in self.document.flows for end in (flow.input, flow.output))

    @cached_property
    def writers(self) -> Mapping[int, tuple[str, ...]]:
        """The jobs that write each data set."""
        processes = self.document.processes
        return _gathered(
            (flow.output, processes[flow.process].job or processes[flow.process].name) for flow in self.document.flows
        )

    def tags_of(self, match: Found) -> tuple[str, ...]:
        """The tags of a column; or of a data set and of any column of it."""
        if match.column is not None:
            return self.tags.get(match.column, ())
        return self.dataset_tags.get(match.dataset, ())

    def is_untraced(self, match: Found) -> bool:
        """Whether no source is known for a column, or for some column of a data set."""
        return match.dataset in self.untraced if match.column is None else match.column in self.unknown


def _gathered(pairs: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    """The names of each number, sorted."""
    gathered: defaultdict[int, set[str]] = defaultdict(set)
    for number, name in pairs:
        gathered[number].add(name)
    return {number: tuple(sorted(names)) for number, names in gathered.items()}


def search(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="Parts of names; `table.column` for columns of tables")],
    *,
    tag: Annotated[str, typer.Option(metavar="TAG", help="Only data sets and columns with this tag")] = "",
    owner: Annotated[str, typer.Option(metavar="NAME", help="Only data sets with this text in an owner's name")] = "",
    store: Annotated[str, typer.Option(metavar="NAME", help="Only stores with this text in their name")] = "",
    orphan: Annotated[bool, typer.Option("--orphan", help="Only data sets without lineage")] = False,
    untraced: Annotated[
        bool,
        typer.Option(
            "--untraced",
            help="Only columns whose sources are unknown (not those that have none, as constants), and data sets with "
            "such columns",
        ),
    ] = False,
    lake: FromLake = "",
    most: ListLimit = _MOST,
    wide: Wide = False,
    as_json: AsJson = False,
    home: Home = HOME,
) -> None:
    """Find data sets and columns, the best match first, as the search of `throughline view` does.

    throughline search customer
    throughline search raw orders.amount
    throughline search email --untraced --json
    throughline search id --lake build/lake --tag PII
    """
    document = lineage_document(context, home, lake)
    facts = _Facts(document)
    filters: dict[str, Callable[[Found], bool]] = {}
    if tag:
        filters["--tag"] = lambda match: tag in facts.tags_of(match)
    if owner:
        filters["--owner"] = lambda match: owner.lower() in document.datasets[match.dataset].owner.lower()
    if store:
        filters["--store"] = lambda match: store.lower() in document.datasets[match.dataset].store.lower()
    if orphan:
        filters["--orphan"] = lambda match: match.column is None and match.dataset not in facts.linked
    if untraced:
        filters["--untraced"] = facts.is_untraced
    unfiltered = facts.search.find(text, limit=None)
    every = [match for match in unfiltered if all(fits(match) for fits in filters.values())]
    shown = every[: most or None]
    if as_json:
        print_json([_plain(facts, match) for match in shown])
        return
    if not every and unfiltered:
        columns = sum(match.column is not None for match in unfiltered)
        numbers = {"data set": len(unfiltered) - columns, "column": columns}
        matched = " and ".join(counted(number, noun) for noun, number in numbers.items() if number)
        fail(f"nothing matches {text!r} with {' and '.join(filters)}; without filters it matches {matched}")
    if not every:
        names = [dataset.name for dataset in document.datasets]
        names += [column.name for column in document.columns if column.name]
        fail(f"nothing matches {text!r}.{suggestion(text, names)}")
    print_table(("data set", "column", "tags", "written by"), list(_rows(facts, shown)), wide=wide)
    if len(shown) < len(every):
        note("more", f"{counted(len(every) - len(shown), 'result')} not shown: --most 0 lists all")


def _rows(facts: _Facts, matches: Iterable[Found]) -> Iterable[list[str]]:
    for match in matches:
        column = "" if match.column is None else facts.document.columns[match.column].name
        mark = " (no known source)" if match.column in facts.unknown else ""
        yield [
            facts.document.datasets[match.dataset].qualified_name,
            column + mark,
            ", ".join(facts.tags_of(match)),
            ", ".join(facts.writers.get(match.dataset, ())),
        ]


def _plain(facts: _Facts, match: Found) -> dict[str, object]:
    dataset = facts.document.datasets[match.dataset]
    return {
        "dataset": dataset.qualified_name,
        "type": dataset.type,
        "column": None if match.column is None else facts.document.columns[match.column].name,
        "tags": list(facts.tags_of(match)),
        "owner": dataset.owner,
        "untraced": facts.is_untraced(match),
        "written_by": list(facts.writers.get(match.dataset, ())),
    }
