"""Documents of lineage for tests: small ones, written as arrows, and random ones."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from shared.lineage.document import (
    FORMAT,
    NOT_SET,
    Column,
    Dataset,
    Edge,
    Flow,
    Health,
    Kind,
    LineageDocument,
    Process,
    Tag,
)

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
_KINDS = {
    "->": Kind.IDENTITY,
    "~>": Kind.TRANSFORMATION,
    "+>": Kind.AGGREGATION,
    "#>": Kind.MASK,
    "%>": Kind.OPAQUE,
    "?>": Kind.CONDITION,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The properties of a process in a small document; `age`: the time since its last run."""

    health: Health = Health.GOOD
    age: timedelta | None = timedelta(hours=1)
    exact: bool = False
    unresolved: tuple[str, ...] = ()


def lineage(
    *arrows: str,
    jobs: Mapping[str, Job] | None = None,
    tags: Iterable[tuple[str, str]] = (),
    columns: Iterable[str] = (),
    constants: Iterable[str] = (),
    history: bool = False,
) -> LineageDocument:
    """Return a document of arrows: `crm.email -> gold.mail by load = sha2(email, 256) since 3` (days ago; `until`).

    `->` identity, `~>` transformation, `+>` aggregation, `#>` mask, `%>` opaque, `?>` condition (into `gold.`: all
    rows), `=>` a flow without columns. `columns`: further columns; `constants`: columns without a source.
    """
    parsed_arrows = [_arrow(each) for each in arrows]
    names = {
        *(end for each in parsed_arrows for end in (each.source, each.target) if "." in end),
        *columns,
        *constants,
        *(column for column, _ in tags),
    }
    datasets = sorted(
        {each.partition(".")[0] for one in parsed_arrows for each in (one.source, one.target)}
        | {n.partition(".")[0] for n in names}
    )
    numbers = {name: number for number, name in enumerate(datasets)}
    held_columns = sorted(
        Column(numbers[name.partition(".")[0]], name.partition(".")[2], constant=name in set(constants))
        for name in names
    )
    places = {f"{datasets[column.dataset]}.{column.name}": number for number, column in enumerate(held_columns)}
    makers = sorted({each.job for each in parsed_arrows})
    moments = sorted(
        {NOW - timedelta(days=each) for one in parsed_arrows for each in (one.since, one.until) if each is not None}
        | {NOW - job.age for job in (jobs or {}).values() if job.age is not None}
        | {NOW - timedelta(hours=1)}
    )
    moment_numbers = {moment: number for number, moment in enumerate(moments)}

    def when(days: float | None) -> int:
        return NOT_SET if days is None else moment_numbers[NOW - timedelta(days=days)]

    def process(name: str) -> Process:
        job = (jobs or {}).get(name, Job())
        own_arrows = [arrow for arrow in parsed_arrows if arrow.job == name]
        return Process(
            qualified_name=f"throughline:{name}",
            name=name,
            job=name,
            inputs=tuple(sorted({numbers[arrow.source.partition(".")[0]] for arrow in own_arrows})),
            outputs=tuple(sorted({numbers[arrow.target.partition(".")[0]] for arrow in own_arrows})),
            unresolved_tables=job.unresolved,
            exact=job.exact,
            health=job.health,
            last_seen=NOT_SET if job.age is None else moment_numbers[NOW - job.age],
        )

    flows = {
        Flow(
            makers.index(arrow.job),
            numbers[arrow.source.partition(".")[0]],
            numbers[arrow.target.partition(".")[0]],
            when(arrow.since),
            when(arrow.until),
        )
        for arrow in parsed_arrows
    }
    edges = {
        Edge(
            makers.index(arrow.job),
            places[arrow.source],
            places[arrow.target],
            arrow.kind,
            arrow.kind is Kind.MASK,
            False,
            when(arrow.since),
            when(arrow.until),
            (),
            arrow.expression,
        )
        for arrow in parsed_arrows
        if arrow.kind
    }
    return LineageDocument(
        format=FORMAT,
        source="lake" if history else "record",
        history=history,
        times=tuple(moments),
        datasets=tuple(Dataset(qualified_name=f"abfss://lake/{name}", type="fs_path", name=name) for name in datasets),
        columns=tuple(held_columns),
        processes=tuple(process(name) for name in makers),
        flows=tuple(sorted(flows)),
        edges=tuple(sorted(edges)),
        tags=tuple(sorted(Tag(places[column], tag) for column, tag in tags)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Arrow:
    source: str
    target: str
    kind: Kind | None
    job: str = "job"
    expression: str = ""
    since: float | None = None
    until: float | None = None


def _arrow(text: str) -> _Arrow:
    head, _, expression = text.partition(" = ")
    source, sign, target, *option_words = head.split()
    options = dict(zip(option_words[::2], option_words[1::2], strict=True))
    arrow = _Arrow(
        source=source,
        target=target,
        kind=None if sign == "=>" else _KINDS[sign],
        job=options.get("by", "job"),
        expression=expression,
    )
    since, until = options.get("since"), options.get("until")
    return replace(arrow, since=float(since) if since else None, until=float(until) if until else None)


def column_number(document: LineageDocument, column: str) -> int:
    """Return the number of a column by DATASET.COLUMN."""
    dataset, _, name = column.partition(".")
    return next(
        number
        for number, column in enumerate(document.columns)
        if column.name == name and document.datasets[column.dataset].name == dataset
    )


def random_lineage(seed: int) -> LineageDocument:
    """Return a small random document with cycles, masks beside plain paths, conditions, and columns without sources."""
    chance = random.Random(seed)
    datasets, width = chance.randint(2, 7), chance.randint(1, 4)
    columns = [f"d{number}.c{each}" for number in range(datasets) for each in range(width)]
    arrows, jobs = [], {}
    for number in range(chance.randint(1, 8)):
        job = f"job{number}"
        target = chance.randrange(datasets)
        jobs[job] = Job(
            exact=chance.random() < 0.5,
            unresolved=("somewhere",) if chance.random() < 0.06 else (),
            health=chance.choice(list(Health)),
            age=chance.choice([None, timedelta(hours=1), timedelta(hours=30)]),
        )
        for _ in range(chance.randint(1, 2 * width)):
            sign = chance.choice(["->", "->", "~>", "+>", "#>", "%>", "?>", "=>"])
            source = chance.choice(columns)
            target_name = f"d{target}.c{chance.randrange(width)}"
            if sign == "=>":
                source, target_name = source.partition(".")[0], f"d{target}"
            elif sign == "?>":
                target_name = f"d{target}."
            since = f" since {chance.choice([1, 20])}" if chance.random() < 0.4 else ""
            until = " until 0.5" if since and chance.random() < 0.3 else ""
            arrows.append(f"{source} {sign} {target_name} by {job}{since}{until}")
    tags = [(chance.choice(columns), chance.choice(["pii", "secret"])) for _ in range(chance.randint(0, 2))]
    return lineage(*arrows, jobs=jobs, columns=columns, tags=tags, history=True)
