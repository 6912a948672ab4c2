"""The routes of the API: one table, from which requests are answered and the OpenAPI document is written."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from shared.lineage.graph import Way
from shared.serving import answers, marquez
from shared.serving import marquez_values as values
from shared.serving.requests import AS_OF, LIMIT, OFFSET, Parameter
from shared.serving.view import LineageView

Arguments = Mapping[str, Any]
"""The values of a request's parameters by name; those of the path too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """A path below `api/v1/`, with names in braces; its parameters; the type of its answer, and what gives it."""

    path: str
    meaning: str
    answer: type
    run: Callable[[LineageView, Arguments], Any]
    parameters: tuple[Parameter, ...] = ()


NODE = Parameter(
    name="nodeId",
    meaning="dataset:NAMESPACE:NAME, job:NAMESPACE:NAME, or of columns datasetField:NAMESPACE:NAME:FIELD",
    required=True,
)
DEPTH = Parameter(name="depth", meaning="how many data sets away", kind="number", default="20", largest=100)
DATASET = Parameter(name="dataset", meaning="a qualified name, the end of a path, or a short name", required=True)
COLUMN = Parameter(name="column", meaning="a column of the data set")
_PAGE = (LIMIT, OFFSET)


def _page(arguments: Arguments) -> tuple[int, int]:
    return arguments["limit"], arguments["offset"]


QUESTIONS = "throughline/"
"""The folder of the questions that Marquez' API has no words for."""


def _neighbours(way: Way, meaning: str) -> Route:
    return Route(
        path=f"{QUESTIONS}{way}",
        meaning=meaning,
        answer=answers.Neighbours,
        parameters=(DATASET, COLUMN, DEPTH, *_PAGE),
        run=lambda view, arguments: answers.neighbours(
            view, arguments["dataset"], arguments["column"], *_page(arguments), way=way, depth=arguments["depth"]
        ),
    )


DAYS, COMPARE, OPENAPI = f"{QUESTIONS}days", f"{QUESTIONS}compare", "openapi.json"
"""Paths of answers that are not about one document."""

ROUTES: tuple[Route, ...] = (
    Route(
        path="namespaces",
        meaning="The namespaces of data sets and jobs",
        answer=values.Namespaces,
        parameters=_PAGE,
        run=lambda view, arguments: marquez.namespaces(view, *_page(arguments)),
    ),
    Route(
        path="namespaces/{namespace}",
        meaning="One namespace",
        answer=values.Namespace,
        run=lambda _view, arguments: values.Namespace(name=arguments["namespace"]),
    ),
    Route(
        path="namespaces/{namespace}/datasets",
        meaning="The data sets of a namespace",
        answer=values.MarquezDatasets,
        parameters=_PAGE,
        run=lambda view, arguments: marquez.datasets(view, arguments["namespace"], *_page(arguments)),
    ),
    Route(
        path="namespaces/{namespace}/datasets/{name}",
        meaning="One data set",
        answer=values.MarquezDataset,
        run=lambda view, arguments: marquez.dataset_in(view, arguments["namespace"], arguments["name"]),
    ),
    Route(
        path="namespaces/{namespace}/jobs",
        meaning="The jobs of a namespace",
        answer=values.MarquezJobs,
        parameters=_PAGE,
        run=lambda view, arguments: marquez.jobs(view, arguments["namespace"], *_page(arguments)),
    ),
    Route(
        path="namespaces/{namespace}/jobs/{name}",
        meaning="One job",
        answer=values.MarquezJob,
        run=lambda view, arguments: marquez.job_in(view, arguments["namespace"], arguments["name"]),
    ),
    Route(
        path="lineage",
        meaning="What a data set or a job is made of, and what is made of it",
        answer=values.Graph,
        parameters=(NODE, DEPTH),
        run=lambda view, arguments: marquez.lineage(view, arguments["nodeId"], arguments["depth"]),
    ),
    Route(
        path="column-lineage",
        meaning="The columns that the values of columns come from, and those that they reach",
        answer=values.ColumnGraph,
        parameters=(
            NODE,
            DEPTH,
            Parameter(name="withDownstream", meaning="also what is made of the columns", kind="flag", default="false"),
        ),
        run=lambda view, arguments: marquez.column_lineage(
            view, arguments["nodeId"], arguments["depth"], downstream=arguments["withDownstream"]
        ),
    ),
    Route(
        path="search",
        meaning="Data sets and jobs by parts of their names",
        answer=values.SearchResults,
        parameters=(
            Parameter(name="q", meaning="parts of a name", required=True, largest=500),
            Parameter(name="filter", meaning="one kind only", kind="choice", choices=("DATASET", "JOB")),
            Parameter(name="namespace", meaning="of this namespace only"),
            Parameter(name="limit", meaning="how many results", kind="number", default="10", least=1, largest=1000),
        ),
        run=lambda view, arguments: marquez.search(
            view, arguments["q"], arguments["limit"], kind=arguments["filter"], namespace=arguments["namespace"]
        ),
    ),
    Route(
        path=f"{QUESTIONS}search",
        meaning="Data sets and columns by parts of their names, as the page finds them",
        answer=answers.FoundPage,
        parameters=(Parameter(name="q", meaning="parts of a name", required=True, largest=500), *_PAGE),
        run=lambda view, arguments: answers.search(view, arguments["q"], *_page(arguments)),
    ),
    Route(
        path=f"{QUESTIONS}explain",
        meaning="Where a column comes from, step by step",
        answer=answers.OriginTree,
        parameters=(DATASET, Parameter(name="column", meaning=COLUMN.meaning, required=True), DEPTH),
        run=lambda view, arguments: answers.explain(
            view, arguments["dataset"], arguments["column"], arguments["depth"]
        ),
    ),
    Route(
        path=f"{QUESTIONS}impact",
        meaning="What depends on a data set or a column",
        answer=answers.Impact,
        parameters=(
            DATASET,
            COLUMN,
            Parameter(name="conditions", meaning="also where it only decides about rows", kind="flag", default="false"),
            *_PAGE,
        ),
        run=lambda view, arguments: answers.impact(
            view, arguments["dataset"], arguments["column"], *_page(arguments), conditions=arguments["conditions"]
        ),
    ),
    _neighbours(Way.UPSTREAM, "What a data set or a column is made of"),
    _neighbours(Way.DOWNSTREAM, "What is made of a data set or a column"),
    Route(
        path=f"{QUESTIONS}ways",
        meaning="All ways from one data set or column to another",
        answer=answers.Steps,
        parameters=(
            Parameter(name="from", meaning=DATASET.meaning, required=True),
            Parameter(name="from_column", meaning="a column of it"),
            Parameter(name="to", meaning=DATASET.meaning, required=True),
            Parameter(name="to_column", meaning="a column of it"),
            *_PAGE,
        ),
        run=lambda view, arguments: answers.ways(
            view,
            (arguments["from"], arguments["from_column"]),
            (arguments["to"], arguments["to_column"]),
            *_page(arguments),
        ),
    ),
    Route(
        path=f"{QUESTIONS}masks",
        meaning="The steps that let only a mask of a value arrive",
        answer=answers.Steps,
        parameters=_PAGE,
        run=lambda view, arguments: answers.masks(view, *_page(arguments)),
    ),
    Route(
        path=f"{QUESTIONS}unknown",
        meaning="The columns whose source is not known",
        answer=answers.Columns,
        parameters=_PAGE,
        run=lambda view, arguments: answers.unknown(view, *_page(arguments)),
    ),
    Route(
        path=f"{QUESTIONS}coverage",
        meaning="How many columns have a known source, of all data sets or of one",
        answer=answers.Coverage,
        parameters=(Parameter(name="dataset", meaning=DATASET.meaning), *_PAGE),
        run=lambda view, arguments: answers.coverage(view, arguments["dataset"], *_page(arguments)),
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
