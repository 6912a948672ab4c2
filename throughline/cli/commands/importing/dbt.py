"""`throughline import dbt`: a project's files as events, without OpenLineage's wrapper `dbt-ol`."""

import os
from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from shared.bootstrap import Worker
from shared.naming.names import canonical
from shared.reading.processes import recorded_processes
from shared.settings.reading import named
from shared.translation.process.identity import identify, name_process
from throughline.cli.commands.local.send import Url, deliver, receiver
from throughline.cli.context.target import HOME, Home, parts_if_any
from throughline.cli.records.event_files import EventFound
from throughline.cli.ui.console import counted, listed, note, out, plain, tracked
from throughline.cli.ui.options import Key, ListLimit
from throughline.cli.ui.writing import save_events
from throughline.dbt.artifacts import read_project
from throughline.dbt.connection import namespace_of
from throughline.dbt.events import LISTENER, JobOfProject, jobs_of

_WHOLE, _TEST, _EXPOSURE = "JOB", "TEST", "EXPOSURE"
_NOUNS = {_EXPOSURE: "exposure", _TEST: "tested table"}


def dbt(
    context: typer.Context,
    folder: Annotated[Path, typer.Argument(metavar="TARGET_DIR", help="The folder that dbt writes, or its project's")],
    *,
    namespace: Annotated[
        str, typer.Option(metavar="NAMESPACE", help="Of all tables; default: as dbt's profile gives it")
    ] = "",
    job_namespace: Annotated[
        str, typer.Option(metavar="NAMESPACE", help="Of all jobs: OPENLINEAGE_NAMESPACE of dbt-ol, if you used it")
    ] = "dbt",
    profiles_dir: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="The folder of profiles.yml; default: the one that dbt used")
    ] = None,
    target: Annotated[str, typer.Option(metavar="NAME", help="The profile's output; default: the one dbt used")] = "",
    url: Url = "",
    key: Key = "",
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Save the events instead, gzipped if the name ends in .gz")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list the jobs that would be sent")] = False,
    most: ListLimit = 50,
    home: Home = HOME,
) -> None:
    """Send the lineage in dbt's own files to a receiver: models, snapshots, tests, exposures, with columns.

    Reads manifest.json, and run_results.json and catalog.json where they exist, of dbt 1.6 and later. Columns are read
    from the compiled SQL. What `dbt-ol` has reported is left out, where the record can be read; the same files again
    change nothing.

        throughline import dbt target
        throughline import dbt target --dry-run
        throughline import dbt target --namespace spark://cluster:10001 --save dbt.jsonl
        throughline import dbt target --url https://NAME.azurewebsites.net --key ...
    """
    project = read_project(folder)
    tables = namespace or namespace_of(project, os.environ, profiles=profiles_dir, target=target)
    place = "" if save or dry_run else receiver(url, home)
    total = sum(node.resource_type in {"model", "snapshot", "exposure"} for node in project.nodes.values())
    all_jobs = list(tracked(jobs_of(project, namespace=tables, job_namespace=job_namespace), "reading", total))
    is_known = not url or named(place=True)
    worker = parts_if_any(context, home) if is_known else None
    if worker is None:
        note("dbt-ol", "the record can't be read from here, so what dbt-ol has reported is not left out")
    jobs = _not_reported(all_jobs, worker, tables, job_namespace) if worker else all_jobs
    _summary(all_jobs, jobs)
    if dry_run:
        listed(map(_line, jobs), most)
        return
    events = [raw for job in jobs for raw in job.events]
    if save:
        save_events(events, save)
    elif events:
        located = (EventFound(place=job.name, raw=raw) for job in jobs for raw in job.events)
        deliver(located, len(events), url=place, key=key)


def _not_reported(
    jobs: Sequence[JobOfProject], worker: Worker, namespace: str, job_namespace: str
) -> list[JobOfProject]:
    """The jobs without those that another producer reported: the same run or a later one, or any run where dbt ran none
    now. Tests go with them: `dbt-ol` reports them too.
    """
    seen_moments: dict[str, datetime] = {}
    for record in tracked(recorded_processes(worker.storage, worker.publishing), "comparing"):
        if record.seen and (record.facts is None or record.facts.listener != LISTENER):
            seen_moments[record.process.qualified_name] = record.seen.last

    def is_reported(job: JobOfProject) -> bool:
        identity = identify(job.name, None, {}, integration="DBT")
        sink = canonical(namespace, job.writes)
        last = seen_moments.get(name_process(job_namespace, identity, sink, version=worker.names.version)[0])
        return last is not None and (job.ran is None or job.ran <= last)

    writers = [job for job in jobs if job.writes and job.kind != _EXPOSURE]
    left_out = {job.name for job in writers if is_reported(job)}
    without_tests = [job for job in jobs if job.name not in left_out and not (left_out and job.kind == _TEST)]
    if any(job.ran and job.kind != _WHOLE for job in without_tests):
        return without_tests
    return [job for job in without_tests if job.kind != _WHOLE]


def _summary(all_jobs: Sequence[JobOfProject], jobs: Sequence[JobOfProject]) -> None:
    """Print what is sent, and what is not."""
    kinds = Counter(job.kind for job in jobs)
    ran = Counter(job.ran is not None for job in jobs if _is_model(job))
    parts = [f"{counted(ran[True], 'model')} that dbt ran", f"{ran[False]:,} by design"]
    parts += [counted(kinds[kind], noun) for kind, noun in _NOUNS.items() if kinds[kind]]
    out.print(", ".join(parts))
    without_sql = sum(_is_model(job) and not job.has_sql for job in jobs)
    if without_sql:
        note("columns", f"{counted(without_sql, 'model')} without compiled SQL: `dbt compile` writes it")
    left_out = sum(map(_is_model, all_jobs)) - sum(map(_is_model, jobs))
    if left_out:
        note("dbt-ol", f"{counted(left_out, 'model')} left out with all tests: their runs are reported already")


def _line(job: JobOfProject) -> str:
    arrow = f" → {plain(job.writes)}" if job.writes else ""
    return f"{job.kind.lower():<9} {plain(job.name)}: {plain(', '.join(job.reads))}{arrow}"


def _is_model(job: JobOfProject) -> bool:
    return job.kind not in {_WHOLE, _TEST, _EXPOSURE}
