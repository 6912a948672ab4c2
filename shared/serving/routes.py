"""The routes of the API: one table, from which requests are answered and the OpenAPI document is written."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_type_hints

from shared.lineage.graph import Way
from shared.serving import answers, marquez
from shared.serving.requests import AS_OF, LIMIT, OFFSET, Parameter


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path below `api/v1/`, with names in braces; its parameters; and the function that answers it from a document,
    with the names and the parameters as its arguments.
    """

    path: str
    meaning: str
    run: Callable[..., Any]
    parameters: tuple[Parameter, ...] = ()

    @property
    def answer(self) -> Any:
        """The type of its answer."""
        return get_type_hints(self.run.func if isinstance(self.run, partial) else self.run)["return"]


def _route(path: str, meaning: str, run: Callable[..., Any], *parameters: Parameter) -> Route:
    return Route(path=path, meaning=meaning, run=run, parameters=parameters)


NODE = Parameter(
    name="nodeId",
    argument="node",
    meaning="dataset:NAMESPACE:NAME, job:NAMESPACE:NAME, or of columns datasetField:NAMESPACE:NAME:FIELD",
    required=True,
)
DEPTH = Parameter(name="depth", meaning="how many data sets away", kind="number", default="20", largest=100)
DATASET = Parameter(name="dataset", meaning="a qualified name, the end of a path, or a short name", required=True)
COLUMN = Parameter(name="column", meaning="a column of the data set")
TEXT = Parameter(name="q", argument="text", meaning="parts of a name", required=True, largest=500)
_PAGE = (LIMIT, OFFSET)
_NODES = (DATASET, COLUMN, DEPTH, *_PAGE)

QUESTIONS = "throughline/"
"""The folder of the questions that Marquez' API has no words for."""
DAYS, COMPARE, OPENAPI = f"{QUESTIONS}days", f"{QUESTIONS}compare", "openapi.json"
"""Paths of answers that are not about one document."""

ROUTES: tuple[Route, ...] = (
    _route("namespaces", "The namespaces of data sets and jobs", marquez.namespaces, *_PAGE),
    _route("namespaces/{namespace}", "One namespace", marquez.one_namespace),
    _route("namespaces/{namespace}/datasets", "The data sets of a namespace", marquez.datasets, *_PAGE),
    _route("namespaces/{namespace}/datasets/{name}", "One data set", marquez.dataset_in),
    _route("namespaces/{namespace}/jobs", "The jobs of a namespace", marquez.jobs, *_PAGE),
    _route("namespaces/{namespace}/jobs/{name}", "One job", marquez.job_in),
    _route("lineage", "What a data set or a job is made of, and what is made of it", marquez.lineage, NODE, DEPTH),
    _route(
        "column-lineage",
        "The columns that the values of columns come from, and those that they reach",
        marquez.column_lineage,
        NODE,
        DEPTH,
        Parameter(
            name="withDownstream",
            argument="downstream",
            meaning="also what is made of the columns",
            kind="flag",
            default="false",
        ),
    ),
    _route(
        "search",
        "Data sets and jobs by parts of their names",
        marquez.search,
        TEXT,
        Parameter(name="filter", argument="kind", meaning="one kind only", kind="choice", choices=("DATASET", "JOB")),
        Parameter(name="namespace", meaning="of this namespace only"),
        Parameter(name="limit", meaning="how many results", kind="number", default="10", least=1, largest=1000),
    ),
    _route(
        f"{QUESTIONS}search",
        "Data sets and columns by parts of their names, as the page finds them",
        answers.search,
        TEXT,
        *_PAGE,
    ),
    _route(
        f"{QUESTIONS}explain",
        "Where a column comes from, step by step",
        answers.explain,
        DATASET,
        replace(COLUMN, required=True),
        DEPTH,
    ),
    _route(
        f"{QUESTIONS}impact",
        "What depends on a data set or a column",
        answers.impact,
        DATASET,
        COLUMN,
        Parameter(name="conditions", meaning="also where it only decides about rows", kind="flag", default="false"),
        *_PAGE,
    ),
    _route(
        f"{QUESTIONS}{Way.UPSTREAM}",
        "What a data set or a column is made of",
        partial(answers.neighbours, way=Way.UPSTREAM),
        *_NODES,
    ),
    _route(
        f"{QUESTIONS}{Way.DOWNSTREAM}",
        "What is made of a data set or a column",
        partial(answers.neighbours, way=Way.DOWNSTREAM),
        *_NODES,
    ),
    _route(
        f"{QUESTIONS}ways",
        "All ways from one data set or column to another",
        answers.ways,
        Parameter(name="from", argument="source", meaning=DATASET.meaning, required=True),
        Parameter(name="from_column", argument="source_column", meaning="a column of it"),
        Parameter(name="to", argument="target", meaning=DATASET.meaning, required=True),
        Parameter(name="to_column", argument="target_column", meaning="a column of it"),
        *_PAGE,
    ),
    _route(f"{QUESTIONS}masks", "The steps that let only a mask of a value arrive", answers.masks, *_PAGE),
    _route(f"{QUESTIONS}unknown", "The columns whose source is not known", answers.unknown, *_PAGE),
    _route(
        f"{QUESTIONS}coverage",
        "How many columns have a known source, of all data sets or of one",
        answers.coverage,
        replace(DATASET, required=False),
        *_PAGE,
    ),
)
"""Answers about one document: each takes `as_of` too."""

BY_PATH = {route.path: route for route in ROUTES}
COMPARED = (
    Parameter(name="from", meaning="the earlier day in UTC", kind="day", required=True),
    Parameter(name="to", meaning="the later day in UTC; without it now", kind="day"),
)
"""The parameters of COMPARE."""


def parameters_of(path: str) -> tuple[Parameter, ...]:
    """The parameters of the answer at a path below `api/v1/`. Raises KeyError where there is none."""
    return {DAYS: (), COMPARE: COMPARED}[path] if path in (DAYS, COMPARE) else (*BY_PATH[path].parameters, AS_OF)


def route_of(path: str, namespaces: Callable[[], tuple[str, ...]]) -> tuple[Route, dict[str, str]] | None:
    """The route of a path below `api/v1/`, with the names in it. `namespaces` gives those of the document: one may
    contain slashes, and the longest that fits counts.
    """
    if path in BY_PATH:
        return BY_PATH[path], {}
    path_below = path.removeprefix("namespaces/")
    if path_below == path or not path_below:
        return None
    candidates = (name for name in namespaces() if f"{path_below}/".startswith(f"{name}/"))
    namespace = max(candidates, key=len, default="")
    if not namespace:
        namespace = _before(path_below)
    ending = path_below[len(namespace) :]
    for kind in ("datasets", "jobs"):
        if ending == f"/{kind}":
            return BY_PATH[f"namespaces/{{namespace}}/{kind}"], {"namespace": namespace}
        if ending.startswith(f"/{kind}/"):
            name = ending.removeprefix(f"/{kind}/")
            return BY_PATH[f"namespaces/{{namespace}}/{kind}/{{name}}"], {"namespace": namespace, "name": name}
    return (BY_PATH["namespaces/{namespace}"], {"namespace": namespace}) if not ending else None


def _before(path_below: str) -> str:
    """The namespace of a path with one that is not namespaces: all before the first word of the path that is ours."""
    places = [place for place in (path_below.find("/datasets"), path_below.find("/jobs")) if place > 0]
    return path_below[: min(places)] if places else path_below
