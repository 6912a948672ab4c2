"""A document that is being served, and what its answers look up in it."""

from collections import defaultdict
from collections.abc import Mapping
from datetime import date
from functools import cached_property
from urllib.parse import urlencode

from shared.lineage.days.two_days import end_of, of_two_days
from shared.lineage.document import Flow, LineageDocument
from shared.lineage.questions.index import LineageIndex
from shared.serving.page import page

Job = tuple[str, str]
"""Namespace and identity of a job, whose processes write one data set each."""


class LineageView(LineageIndex):
    """The document called `name`, which stands for its content, with the ids of its nodes in Marquez' form.

    `title` and `start`: the title of the page, and the state in which it begins. `problem`: why it is not the one that
    was asked for.
    """

    def __init__(
        self, document: LineageDocument, name: str, *, title: str = "Lineage", start: str = "", problem: str = ""
    ) -> None:
        super().__init__(document)
        self.name, self.title, self.start, self.problem = name, title, start, problem

    @cached_property
    def page(self) -> bytes:
        """The page as HTML."""
        return page(self.document, self.start, title=self.title)

    @cached_property
    def dataset_ids(self) -> tuple[str, ...]:
        """The node id of each data set; empty where no event names it."""
        return tuple(
            f"dataset:{dataset.namespace}:{dataset.full_name}" if dataset.namespace else ""
            for dataset in self.document.datasets
        )

    @cached_property
    def dataset_numbers(self) -> Mapping[str, int]:
        """The data sets by their node ids; of several with one id the first."""
        numbers = {node: number for number, node in reversed(tuple(enumerate(self.dataset_ids)))}
        numbers.pop("", None)
        return numbers

    def field_number(self, node: str) -> int | None:
        """The column with this node id; None where there is none. Both names may have colons."""
        text = node.removeprefix("datasetField:")
        for place in (place for place, sign in enumerate(text) if sign == ":"):
            dataset = self.dataset_numbers.get(f"dataset:{text[:place]}")
            for number in () if dataset is None else self.columns.get(dataset, ()):
                if self.document.columns[number].name == text[place + 1 :]:
                    return number
        return None

    def field_id(self, column: int) -> str:
        """The node id of a column."""
        value = self.document.columns[column]
        return f"datasetField:{self.dataset_ids[value.dataset].removeprefix('dataset:')}:{value.name}"

    @cached_property
    def jobs(self) -> Mapping[Job, tuple[int, ...]]:
        """The processes of each job, sorted by job."""
        processes: defaultdict[Job, list[int]] = defaultdict(list)
        for number, process in enumerate(self.document.processes):
            if process.namespace:
                processes[process.namespace, process.identity].append(number)
        return {job: tuple(processes[job]) for job in sorted(processes)}

    @cached_property
    def flows_of(self) -> Mapping[int, tuple[Flow, ...]]:
        """The flows of each process that are valid now."""
        flows: defaultdict[int, list[Flow]] = defaultdict(list)
        for number in self.graph().flows:
            flow = self.document.flows[number]
            flows[flow.process].append(flow)
        return {process: tuple(numbers) for process, numbers in flows.items()}

    @cached_property
    def job_numbers(self) -> Mapping[str, Job]:
        """The jobs by their node ids."""
        return {job_id(job): job for job in self.jobs}

    @cached_property
    def datasets_of(self) -> Mapping[str, tuple[int, ...]]:
        """The data sets of each namespace, by name."""
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for number in self.dataset_numbers.values():
            numbers[self.document.datasets[number].namespace].append(number)
        name = self.document.datasets
        return {key: tuple(sorted(numbers[key], key=lambda number: name[number].full_name)) for key in sorted(numbers)}

    @cached_property
    def jobs_of(self) -> Mapping[str, tuple[Job, ...]]:
        """The jobs of each namespace, by identity."""
        jobs: defaultdict[str, list[Job]] = defaultdict(list)
        for job in self.jobs:
            jobs[job[0]].append(job)
        return {namespace: tuple(jobs[namespace]) for namespace in sorted(jobs)}

    @cached_property
    def namespaces(self) -> tuple[str, ...]:
        """The namespaces of data sets and jobs, sorted."""
        return tuple(sorted(self.datasets_of.keys() | self.jobs_of.keys()))


def compared_view(earlier: LineageView, later: LineageView, day: date) -> LineageView:
    """A view of both documents, whose page begins with the changes since the end of the earlier one's day."""
    start = urlencode({"compare": end_of(day).isoformat().replace("+00:00", "Z")})
    return LineageView(
        of_two_days(earlier.document, later.document, day),
        f"{earlier.name} {later.name}",
        title=f"{later.title} compared with {day}",
        start=start,
        problem=earlier.problem or later.problem,
    )


def job_id(job: Job) -> str:
    """The node id of a job."""
    return f"job:{job[0]}:{job[1]}"
