"""What people want to see of a process's last run: where it ran, who ran it, how long it took, how much it wrote. Pure.

All of it changes from run to run, so it is no part of what a run says of a process: it travels with lineage that has
changed, and never by itself. Databricks' properties are those that the listener passes on
(`DatabricksEnvironmentFacetBuilder`); the form of links into a workspace is Databricks' own, and was not tried there.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

import msgspec

from shared.model import Process
from shared.openlineage.decoding import Event
from shared.openlineage.run import MergedRun
from shared.secrets import text_without_secrets, without_secrets
from shared.translation.job.databricks import workspace
from shared.translation.sql.statement_reader import redact

_LONGEST_STATEMENT = 2_000
_LONGEST_WORD = 300
_MOST_OUTPUTS = 8

_USER, _ORG = "user", "orgId"
_NOTEBOOK, _JOB, _RUN = "spark.databricks.notebook.path", "spark.databricks.job.id", "spark.databricks.job.runId"


class Written(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How much was written to a data set, as far as the listener told it."""

    namespace: str
    name: str
    rows: int | None = None
    size: int | None = None


class RunFacts(msgspec.Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What is known of one run beside its lineage."""

    first: datetime
    last: datetime
    ended: bool = False
    job: str = ""
    namespace: str = ""
    platform: str = ""
    workspace: str = ""
    link: str = ""
    user: str = ""
    engine: str = ""
    listener: str = ""
    written: tuple[Written, ...] = ()


def facts_of(run: MergedRun, events: Iterable[Event]) -> RunFacts:
    """The facts of a run, from its events; those that came last count."""
    engine = listener = ""
    written: dict[tuple[str, str], Written] = {}
    for event in sorted(events, key=lambda each: (each.time, each.type)):
        facets = event.body.run.facets if event.body else None
        if facets and facets.processing_engine:
            told = facets.processing_engine
            engine = " ".join(filter(None, (told.name, told.version)))
            listener = told.openlineage_adapter_version or listener
        for output in (event.body.outputs or ()) if event.body else ():
            amount = output.output_facets.output_statistics if output.output_facets else None
            if amount and (amount.row_count is not None or amount.size is not None) and len(written) < _MOST_OUTPUTS:
                namespace, name = without_secrets(output.namespace, output.name)
                written[namespace, name] = Written(
                    namespace=namespace, name=name, rows=amount.row_count, size=amount.size
                )
    host = workspace(run.job.name)
    application = run.application or run.job
    return RunFacts(
        first=run.first,
        last=run.last,
        ended=run.ended == "COMPLETE",
        job=_word(application.name),
        namespace=_word(application.namespace),
        platform=_platform(run, host),
        workspace=_word(host or _text(run.properties, _ORG)),
        link=_link(run.properties, host),
        user=_user(_text(run.properties, _USER)),
        engine=_word(engine),
        listener=_word(listener),
        written=tuple(written[key] for key in sorted(written)),
    )


def _word(text: str) -> str:
    return text_without_secrets(text)[:_LONGEST_WORD]


def _text(properties: Mapping[str, Any], key: str) -> str:
    value = properties.get(key)
    return value if isinstance(value, str) else ""


_ACCOUNT = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")


def _user(text: str) -> str:
    """Only what has the form of an account's name: whatever else somebody puts there is not ours to show."""
    return text[:_LONGEST_WORD] if _ACCOUNT.fullmatch(text) else ""


def _platform(run: MergedRun, host: str) -> str:
    if host or any(key.startswith("spark.databricks.") and value for key, value in run.properties.items()):
        return "Databricks"
    return {"SPARK": "Spark", "DBT": "dbt", "AIRFLOW": "Airflow", "FLINK": "Flink"}.get(
        run.integration.upper(), _word(run.integration)
    )


def _link(properties: Mapping[str, Any], host: str) -> str:
    """Into the workspace, where its host is known: the job's run, else the job, else the notebook."""
    if not host:
        return ""
    job, job_run, notebook = (_text(properties, key) for key in (_JOB, _RUN, _NOTEBOOK))
    if job:
        return f"https://{host}/#job/{quote(job)}" + (f"/run/{quote(job_run)}" if job_run else "")
    return f"https://{host}/#workspace{quote(notebook)}" if notebook else ""


def describe_run(facts: RunFacts, process: Process, statement: str = "") -> str:
    """The facts in a few lines for people, as far as they concern this process, and a statement, without literals."""
    how = f", succeeded in {_duration((facts.last - facts.first).total_seconds())}" if facts.ended else ""
    amounts = _amounts(facts, process)
    lines = [
        f"{facts.last:%Y-%m-%d %H:%M} UTC{how}{amounts}.",
        _sentence("Job", facts.job, ("in", facts.namespace), ("on", facts.platform), ("by", facts.user)),
        _sentence("Workspace", facts.workspace),
        facts.link,
        _sentence("Engine", facts.engine, ("with listener", facts.listener)),
        f"SQL: {redact(statement)[:_LONGEST_STATEMENT]}" if statement else "",
    ]
    return "\n".join(filter(None, lines))


def _sentence(title: str, word: str, *more: tuple[str, str]) -> str:
    said = " ".join([f"{title}: {word}"] + [f"{before} {each}" for before, each in more if each])
    return f"{said}." if word else ""


def _amounts(facts: RunFacts, process: Process) -> str:
    sinks = {(asset.namespace, asset.name) for asset in process.outputs}
    told = [each for each in facts.written if (each.namespace, each.name) in sinks]
    if not told and len(facts.written) == 1 and len(process.outputs) == 1:
        told = list(facts.written)  # the only thing that was written, by another of its names
    rows = [each.rows for each in told if each.rows is not None]
    sizes = [each.size for each in told if each.size is not None]
    return (f"; {sum(rows):,} rows" if rows else "") + (f"{',' if rows else ';'} {_size(sum(sizes))}" if sizes else "")


def _duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:  # noqa: PLR2004 - a minute
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def _size(size: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB"):
        if size < 1000:  # noqa: PLR2004 - what a unit holds
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
