"""The exposures of a dbt project: readers of its tables outside of dbt, as dashboards.

An event of OpenLineage's dbt integration lists the exposures of each table that it names. No event lists all tables of
an exposure. So all exposures of a *table* are one process: its input is the table, its outputs are the exposures. The
newest run that lists a table's exposures replaces that process, and removes it if the list is empty. It does not touch
the processes of other tables.

Of a table that dbt makes, the run that writes it says so; of a source, the runs that read it.
"""

from collections.abc import Iterator

from msgspec.structs import replace

from shared.openlineage.facets import Exposure, Exposures
from shared.openlineage.run import MergedDataset, MergedRun
from shared.openlineage.run_facets import JobName
from shared.openlineage.selection import EXPOSURE
from shared.openlineage.wire import NO_SOURCE_CODE, InputField

DBT = "DBT"
_MAKES_TABLES = frozenset({"MODEL", "SNAPSHOT"})
_NONE = Exposures()
_SCHEME = "dbt://"


def job_of_exposures(project: str, table: str) -> str:
    """The name of the job that stands for the exposures of a table (`database.schema.table`) in a project."""
    return f"exposures.{project}.{table}"


def place_of_exposure(unique_id: str) -> tuple[str, str]:
    """Namespace and name of an exposure as a data set, by its unique id (`exposure.{package}.{name}`)."""
    package, _, name = unique_id.removeprefix("exposure.").partition(".")
    return f"{_SCHEME}{package}", f"exposures/{name}"


def exposures_in(run: MergedRun) -> Iterator[MergedRun]:
    """For each table whose exposures a run of `DBT` states, a run that reads the table and writes these: nothing where
    the table has none.
    """
    says_none = run.lists_exposures and run.ended == "COMPLETE" and run.job_type in _MAKES_TABLES
    tables = (*run.outputs, *(table for table in run.inputs if not table.by_dbt))
    for table in {table.key: table for table in reversed(tables)}.values():
        if table.exposures or says_none:
            stated = table.exposures or _NONE
            exposures = stated.exposures or ()
            packages = [place_of_exposure(exposure.unique_id)[0].removeprefix(_SCHEME) for exposure in exposures]
            if project := stated.project or run.dbt_project or min(packages, default=""):
                yield _reading(run, table, exposures, project)


def _reading(run: MergedRun, table: MergedDataset, exposures: tuple[Exposure, ...], project: str) -> MergedRun:
    columns = dict.fromkeys((*table.columns, *(column for column, _ in table.fields)))
    rows = tuple(InputField(namespace=table.namespace, name=table.name, field=column) for column in columns)
    return replace(
        run,
        job=JobName(namespace=run.job.namespace, name=job_of_exposures(project, table.name)),
        job_type=EXPOSURE,
        statement="",
        inputs=(replace(table, fields=(), rows=(), states=(), sources=None, exposures=None),),
        outputs=tuple(_written(exposure, rows) for exposure in exposures),
        job_tags=(),
        owners=(),
        description="",
        source_code=NO_SOURCE_CODE,
    )


def _written(exposure: Exposure, rows: tuple[InputField, ...]) -> MergedDataset:
    """An exposure as a data set. dbt does not say which columns it shows, so all of it depends on all of them."""
    namespace, name = place_of_exposure(exposure.unique_id)
    tags = (("type", exposure.type, ""), ("url", exposure.url, ""))
    return MergedDataset(
        namespace=namespace, name=name, rows=rows, tags=tuple((key, value, of) for key, value, of in tags if value)
    )
