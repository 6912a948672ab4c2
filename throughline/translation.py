"""Events -> lineage, and names -> catalog names, without any server."""

import json
import os.path
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shared.errors import Misconfigured, Refused
from shared.model import Asset
from shared.model import Process as InternalProcess
from shared.naming.names import BUILT_IN, Names
from shared.naming.names import explain as explain_name
from shared.naming.user_rules import parse_names
from shared.openlineage.decoding import Event, decode
from shared.translation.reference import translate_history
from throughline.cli.records.event_files import UnreadableFileError, events_in, files_of
from throughline.results import Column, ColumnEdge, Dataset, Explanation, Process, Run, Translation

OneEvent = bytes | str | Mapping[str, Any]
"""An OpenLineage event: its JSON as bytes or text, or the object read from it."""


class InvalidEvent(Refused):
    """An event, or a file of events, that cannot be used. `detail` says why, `field` where in the event."""


def translate(events: Iterable[OneEvent | Path] | Path, *, names: str | Path | None = None) -> Translation:
    """The lineage that these events give, as the catalog would finally hold it.

    `events` are events, or the Path of a file of them (JSON lines, an array or one event, gzipped or not) or of a
    folder of such files; or several of these.
    Neither the order of the events nor how often each occurs makes a difference. There is no clock: a run without an
    end is `waiting`. `names` is a file of naming rules (docs/concepts/naming.md).

    Raises `throughline.InvalidEvent` for the first event that is none and for a file that cannot be read, ValueError
    for one event, or the name of a file as text, instead of several, and `throughline.Misconfigured` for a file of
    names that is wrong or cannot be read.

    >>> import throughline
    >>> throughline.translate([]).processes
    ()
    """
    history = translate_history(_decoded(events), names=_names(names))
    return Translation(
        processes=tuple(process_of(process) for process in history.processes),
        runs=tuple(
            Run(run_id=run.run_id, job=history.jobs[run.run_id], state=run.state, reason=run.reason or "")
            for run in history.runs
        ),
        ignored=dict(sorted(Counter(ignored_run.reason for ignored_run in history.ignored).items())),
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
    naming_explanation = explain_name(namespace, name, symlinks=symlinks, names=_names(names))
    best = naming_explanation.naming.best
    return Explanation(
        dataset=_dataset(best.type, best.qualified_name),
        rule=best.rule,
        reasons=naming_explanation.why,
        others=tuple(
            _dataset(catalog_name.type, catalog_name.qualified_name)
            for catalog_name in naming_explanation.naming.others
        ),
        internal=naming_explanation.noise,
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
                opaque=edge.is_opaque,
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


def _decoded(events: Iterable[OneEvent | Path] | Path) -> Iterator[Event]:
    """The events, decoded. Raises InvalidEvent, which names the event by its number or by its place in the file."""
    if isinstance(events, str | bytes | Mapping):
        text = repr(events)
        if isinstance(events, str) and os.path.exists(events):  # noqa: PTH110 - Path raises for a text that is too long
            kind = "folder" if os.path.isdir(events) else "file"  # noqa: PTH112 - the same
            raise ValueError(f"{text} is a {kind}: translate(Path({text})) reads the events in it")
        sentence = f"translate takes several events, or the Path of a file; put one event in a list: [{text:.40}…]"
        raise ValueError(sentence)  # noqa: TRY004 - the package's only error for a wrong argument
    try:
        for place, event in _placed(events):
            try:
                yield decode(_raw(event))
            except Refused as error:
                raise InvalidEvent(f"{place}: {error.detail}", field=error.field) from error
    except UnreadableFileError as error:
        raise InvalidEvent(str(error)) from error


def _placed(events: Iterable[OneEvent | Path] | Path) -> Iterator[tuple[str, OneEvent]]:
    """Each event with its place."""
    for number, event in enumerate([events] if isinstance(events, Path) else events, start=1):
        if isinstance(event, Path):
            yield from ((entry.place, entry.raw) for file in files_of([event]) for entry in events_in(file))
        else:
            yield f"event {number}", event


def _raw(event: OneEvent) -> bytes:
    if isinstance(event, Mapping):
        return json.dumps(event).encode()
    # A lone surrogate: `decode` refuses what is no UTF-8.
    return event.encode(errors="surrogatepass") if isinstance(event, str) else event


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
