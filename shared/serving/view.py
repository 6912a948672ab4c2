"""A document that is being served, what its answers look up in it, and the lineage page: one HTML file with its styles,
its modules and the document, which loads nothing.

The modules of `viewer/` are plain ES modules. A page that was opened from a file may not import others, so they are
joined to one script, each after those that it imports, without the words import and export. The content security policy
names the hashes of that script and of the styles (CSP Level 3, `'sha256-…'`), allows the page's own worker, which lays
out large pictures, and forbids everything else.
"""

import base64
import gzip
import hashlib
import re
from collections import defaultdict
from collections.abc import Mapping
from datetime import date, datetime
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path
from urllib.parse import urlencode

from shared.lineage.days import end_of, of_two_days
from shared.lineage.document import Flow, LineageDocument, encoded
from shared.lineage.questions import LineageIndex
from shared.texts import visible

FOLDER = Path(__file__).parents[2] / "viewer"
_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([a-z_]+\.js)";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|const|class)\b)", re.MULTILINE)
_COMMENT = re.compile(r"/\*\*.*?\*/ ?|^ *//[^\n]*\n", re.MULTILINE | re.DOTALL)
"""Types and comments, a fifth of the modules: no text in them has these marks."""
_LAYOUT = "layout.js"
"""Also runs in a worker, which is made of a text of its own."""


def page(
    document: LineageDocument, start: str = "", *, title: str = "Lineage", made_at: datetime | None = None
) -> bytes:
    """The page as HTML; equal arguments give equal bytes. `start` is the state (an address without `#`) that it begins
    with where its own address has none. `made_at`: when the file was written, which the page tells.
    """
    script = joined(FOLDER)
    styles = (FOLDER / "page.css").read_text(encoding="utf-8")
    values = {
        "title": escape(visible(title)),
        "policy": escape(_policy(script, styles)),
        "styles": styles,
        "script": script,
        "start": escape(start),
        "made": made_at.isoformat() if made_at else "",
        "layout": _plain((FOLDER / _LAYOUT).read_text(encoding="utf-8")),
        "data": base64.b64encode(gzip.compress(encoded(document), mtime=0)).decode(),
    }
    template = (FOLDER / "index.html").read_text(encoding="utf-8")
    return re.sub(r"\{\{(\w+)\}\}", lambda name: values[name.group(1)], template).encode()


def _policy(script: str, styles: str) -> str:
    """The page's content security policy."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(styles)}'; img-src data: blob:;"
        " worker-src blob:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def joined(folder: Path) -> str:
    """The modules as one script without comments, each after those that it imports. Raises ValueError where two import
    each other.
    """
    texts = {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.js"))}
    try:
        order = tuple(TopologicalSorter({name: _IMPORT.findall(text) for name, text in texts.items()}).static_order())
    except CycleError as error:
        circle = " → ".join(reversed(error.args[1]))
        raise ValueError(f"the modules of the page import each other in a circle: {circle}") from error
    return '"use strict";\n' + "\n".join(_plain(texts[name]) for name in order)


def _plain(module: str) -> str:
    """A module as a part of a script."""
    return _EXPORT.sub("", _COMMENT.sub("", _IMPORT.sub("", module)))


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


def compared_view(earlier: LineageView, later_view: LineageView, day: date) -> LineageView:
    """A view of both documents, whose page begins with the changes since the end of the earlier one's day."""
    start = urlencode({"compare": end_of(day).isoformat().replace("+00:00", "Z")})
    return LineageView(
        of_two_days(earlier.document, later_view.document, day),
        f"{earlier.name} {later_view.name}",
        title=f"{later_view.title} compared with {day}",
        start=start,
        problem=earlier.problem or later_view.problem,
    )


def job_id(job: Job) -> str:
    """The node id of a job."""
    return f"job:{job[0]}:{job[1]}"
