"""Connectors copy each table to its own topic or each topic to its own table, in one run for all of them.

Their events name every table and every topic of the connector, and say nowhere which belongs to which: the names do. A
source of Debezium calls the topic of the table `shop.public.orders` `PREFIX.public.orders`, its JDBC sink the table of
that topic `PREFIX_public_orders` (`collection.name.format` in Debezium's page of the JDBC connector), and others call
both alike but for database and schema.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from shared.openlineage.run import DatasetKey, MergedDataset

CONNECTORS = frozenset({"DEBEZIUM", "KAFKA_CONNECT"})
"""The integrations of the jobType facet whose jobs are connectors."""

_MOST_PARTS = 6
"""Of a name's end; more than database, schema and table have."""


def with_copied_sources(inputs: Sequence[MergedDataset], outputs: Sequence[MergedDataset]) -> tuple[MergedDataset, ...]:
    """The outputs of a connector, each with the inputs whose names say that it is their copy as its only sources. One
    that is called like no input, or has sources already, stays: any input may be its source.
    """
    by_end: _ByEnd = {}
    for dataset in inputs:
        for name in {dataset.name, dataset.name.replace(".", "_")}:  # dots mean database and schema in a sink
            length, ends = _ends(name)
            for end in ends:
                by_end.setdefault(end, []).append((length, dataset.key))
    return tuple(
        replace(output, sources=copied)
        if output.sources is None and (copied := _copied(by_end, output.name))
        else output
        for output in outputs
    )


_ByEnd = dict[tuple[str, ...], list[tuple[int, DatasetKey]]]
"""Data sets with the number of parts of their names, by each end of the name."""


def _ends(name: str) -> tuple[int, Iterator[tuple[str, ...]]]:
    """The number of a name's parts, and its ends, the longest first."""
    parts = tuple(name.casefold().split("."))
    return len(parts), (parts[-length:] for length in range(min(len(parts), _MOST_PARTS), 0, -1))


def _copied(by_end: _ByEnd, name: str) -> tuple[DatasetKey, ...]:
    """The data sets that share the longest end with a name. One of both names may have more parts in front, the other
    only one: a prefix or a database.
    """
    length, ends = _ends(name)
    for end in ends:
        if keys := {key for other, key in by_end.get(end, ()) if len(end) >= min(length, other) - 1}:
            return tuple(sorted(keys))
    return ()
