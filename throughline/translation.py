"""Events -> lineage, and names -> catalog names, without any server."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from shared.errors import Misconfigured
from shared.model import Asset
from shared.model import Process as InternalProcess
from shared.naming.explanation import explain as explain_name
from shared.naming.names import BUILT_IN, Names
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from throughline.results import Column, ColumnEdge, Dataset, Explanation, Process, Run, Translation

OneEvent = bytes | str | Mapping[str, Any]
"""An OpenLineage event: its JSON as bytes or text, or the object read from it."""


def translate(events: Iterable[OneEvent], *, names: str | Path | None = None) -> Translation:
    """The lineage that these events give, as the catalog would finally hold it.

    Neither the order of the events nor how often each occurs makes a difference. There is no clock: a run without an
    end is `waiting`. `names` is a file of naming rules (docs/concepts/naming.md).

    Raises `throughline.InvalidEvent` for the first event that is none, and `throughline.Misconfigured` for a file of
    names that is wrong or cannot be read.

    >>> import throughline
    >>> throughline.translate([]).processes
    ()
    """
    history = translate_history([_decoded(event) for event in events], names=_names(names))
    return Translation(
        processes=tuple(process_of(each) for each in history.processes),
        runs=tuple(
            Run(run_id=run.run_id, job=history.jobs[run.run_id], state=run.state, reason=run.reason or "")
            for run in history.runs
        ),
        ignored=dict(sorted(Counter(each.reason for each in history.ignored).items())),
    )


def explain(
    namespace: str, name: str, *, symlinks: Iterable[tuple[str, str]] = (), names: str | Path | None = None
) -> Explanation:
    """The catalog's name of a data set that an event calls `namespace` and `name`, and why it is called so.

    `symlinks` are further (namespace, name) pairs of the event's symlinks facet; `names` is a file of naming rules.
    Raises `throughline.Misconfigured` for a file of names that is wrong or cannot be read.

    >>> import throughline
    >>> throughline.explain("abfss://raw@acct.dfs.core.windows.net", "orders/day=1").dataset.qualified_name
    'https://acct.dfs.core.windows.net/raw/orders'
    """
    found = explain_name(namespace, name, symlinks=symlinks, names=_names(names))
    best = found.naming.best
    return Explanation(
        dataset=_dataset(best.type, best.qualified_name),
        rule=best.rule,
        reasons=found.why,
        others=tuple(_dataset(each.type, each.qualified_name) for each in found.naming.others),
        internal=found.noise,
    )


def process_of(process: InternalProcess) -> Process:
    """A process as the library shows it."""
    return Process(
        name=process.name,
        qualified_name=process.qualified_name,
        operations=process.operations,
        inputs=tuple(map(dataset_of, process.inputs)),
        outputs=tuple(map(dataset_of, process.outputs)),
        columns=tuple(
            ColumnEdge(
                input=Column(dataset=edge.input.qualified_name, column=edge.input.column),
                output=Column(dataset=edge.output.qualified_name, column=edge.output.column),
                kind="DIRECT" if edge.kind == "DIRECT" else "INDIRECT",
                masked=edge.masked,
                steps=edge.how,
                parsed=edge.parsed,
                expressions=edge.expressions,
            )
            for edge in process.columns
        ),
        end_not_seen=process.end_not_seen,
    )


def dataset_of(asset: Asset) -> Dataset:
    """An asset as the library shows it."""
    return _dataset(asset.type, asset.qualified_name)


def _dataset(type_name: str, qualified_name: str) -> Dataset:
    short = qualified_name.rstrip("/").rpartition("/")[2] or qualified_name
    return Dataset(qualified_name=qualified_name, type=type_name, name=short)


def _decoded(event: OneEvent) -> Event:
    if isinstance(event, Mapping):
        return decode(json.dumps(event).encode())
    if isinstance(event, str):
        event = event.encode(errors="surrogatepass")  # a lone surrogate: `decode` refuses what is no UTF-8
    return decode(event)


def _names(file: str | Path | None) -> Names:
    if file is None:
        return BUILT_IN
    try:
        text = Path(file).read_text(encoding="utf-8")
    except OSError as error:
        raise Misconfigured(f"{file} can't be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise Misconfigured(f"{file} is no UTF-8 text") from error
    return parse_names(text, str(file))
