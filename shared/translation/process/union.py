"""The origin of a process, and the union of contents of one process, and of its parts: one schema for each asset.

An origin is platform, workspace, notebook or job, and a link to it or its code. Only what is the same in every run,
because an origin is part of a process; a run's own link is among the facts of the last run. Properties are those that
the listener sends (`wire.Captured`, and Databricks' environment facet); links have the platforms' forms and were not
tried there.

Owners, descriptions and tags are declared of jobs and of data sets; they are without secrets, and bounded.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from urllib.parse import quote

import msgspec
from msgspec.structs import replace

from shared.model import (
    NOTHING_DECLARED,
    OPAQUE,
    Asset,
    AssetSchema,
    ColumnEdge,
    Contribution,
    Declared,
    EdgeKind,
    Origin,
    Process,
)
from shared.openlineage.run import MergedRun, TagValue, text_property, workspace
from shared.openlineage.run_facets import Captured
from shared.openlineage.wire import SourceCodeLocation
from shared.secrets import address_without_secrets, short_text, text_without_secrets
from shared.translation.process.identity import JobIdentity
from shared.translation.process.job_names import NOTEBOOK_PATH, notebook

_MAX_LINK = 500
"""Characters, the maximum of an Atlas custom attribute. A longer link is omitted, never cut."""

_ENGINES = {"SPARK": "Spark", "": "Spark", "DBT": "dbt", "AIRFLOW": "Airflow", "FLINK": "Flink"}
"""Display names of OpenLineage integrations."""

_NEWEST = "HEAD"
"""GitHub, GitLab and Bitbucket show the newest commit under this name."""

_JOB_BY_ID = re.compile(r"job ([0-9]+)")
_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_FABRIC = "https://app.fabric.microsoft.com/groups"
_FABRIC_PAGES = {"synapsenotebook": "synapsenotebooks", "sparkjobdefinition": "sparkjobdefinitions"}
"""The page of a Fabric item by the item's type."""


def origin_of(run: MergedRun, identity: JobIdentity, application_workspace: str = "") -> Origin:
    """The origin of a run's job. `application_workspace`: the Databricks workspace that other runs of it name."""
    host = workspace(run) or application_workspace
    named = "" if identity.is_generic else identity.name
    origin = _databricks(run, host, named) or _fabric(run.captured) or _synapse(run.captured)
    origin = origin or Origin(platform=engine_of(run))
    link = origin.link or _lasting_address(run.source_code)
    return Origin(
        platform=short_text(origin.platform),
        workspace=short_text(origin.workspace),
        job=short_text(origin.job or named),
        link=link if len(link) <= _MAX_LINK else "",
        declared=declared_as(run.owners, run.description, run.job_tags),
    )


def code_address(code: SourceCodeLocation) -> str:
    """The address of a job's code as it ran, without secrets; empty if it is none of the web."""
    url = address_without_secrets(code.url) if code.url else ""
    return url if url.startswith(("https://", "http://")) else ""


def _lasting_address(code: SourceCodeLocation) -> str:
    """The same without the commit, which changes with the next one: with the branch in its place, else the newest."""
    url = code_address(code)
    return url.replace(code.version, code.branch or _NEWEST) if code.version else url


def engine_of(run: MergedRun) -> str:
    """The display name of the engine that sent the run's events."""
    return _ENGINES.get(run.integration.upper(), run.integration)


def _databricks(run: MergedRun, host: str, named: str) -> Origin | None:
    if not host and not (run.properties and any(key.startswith("spark.databricks.") for key in run.properties)):
        return None
    workspace_of = host or text_property(run.properties, "orgId")
    return Origin(platform="Databricks", workspace=workspace_of, link=_databricks_link(run, host, named))


def _databricks_link(run: MergedRun, host: str, named: str) -> str:
    """A link to the notebook, or to a job that is identified by its id; else to the workspace. Paths with a commit or
    deployment change with the next one, and the job id of a submitted run never recurs.
    """
    if not host:
        return ""
    path = notebook(run.properties)
    if path and text_property(run.properties, NOTEBOOK_PATH).endswith(path):
        return f"https://{host}/#workspace{quote(path)}"
    if job := _JOB_BY_ID.fullmatch(named):
        return f"https://{host}/#job/{job[1]}"
    return f"https://{host}/"


def _fabric(captured: Captured) -> Origin | None:
    if not (captured.fabric_workspace or captured.fabric_item):
        return None
    name = captured.fabric_item_name or captured.notebook or ""
    kind = (captured.fabric_item_type or "").lower()
    noun = "job definition" if kind == "sparkjobdefinition" else "notebook"
    return Origin(
        platform="Fabric",
        workspace=captured.fabric_workspace or "",
        job=f"{noun} {name}" if name else "",
        link=_fabric_link(captured.fabric_workspace or "", captured.fabric_item or "", kind),
    )


def _fabric_link(group: str, item: str, kind: str) -> str:
    if not _UUID.fullmatch(group):
        return ""
    page = _FABRIC_PAGES.get(kind)
    return f"{_FABRIC}/{group}/{page}/{item}" if page and _UUID.fullmatch(item) else f"{_FABRIC}/{group}/list"


def _synapse(captured: Captured) -> Origin | None:
    """Without a link: those of Synapse Studio need subscription and resource group, which no property has."""
    if not captured.synapse_workspace:
        return None
    return Origin(
        platform="Synapse",
        workspace=captured.synapse_workspace,
        job=f"notebook {captured.notebook}" if captured.notebook else "",
    )


def joined(origins: Iterable[Origin]) -> Origin:
    """The origins of several runs of one job as one: of different values the longest, then the greatest, whatever their
    order.
    """
    different = set(origins)
    if len(different) == 1:
        return different.pop()
    return Origin(
        platform=fullest(origin.platform for origin in different),
        workspace=fullest(origin.workspace for origin in different),
        job=fullest(origin.job for origin in different),
        link=fullest(origin.link for origin in different),
        declared=joined_declarations(origin.declared for origin in different),
    )


_MAX_OWNERS = 20
_MAX_OWNER = 1_000
_MAX_DESCRIPTION = 8_000
_MAX_TAGS = 10_000
_MAX_LEVELS = 20


def declared_as(
    owners: Sequence[str], description: str, tags: Sequence[TagValue], levels: Sequence[tuple[str, str]] = ()
) -> Declared:
    """The owners as one text, the description, the tags, and the levels of a hierarchy."""
    if not (owners or description or tags or levels):
        return NOTHING_DECLARED
    return Declared(
        owner=text_without_secrets(", ".join(owners[:_MAX_OWNERS]))[:_MAX_OWNER],
        description=text_without_secrets(description)[:_MAX_DESCRIPTION],
        tags=tuple((key, text_without_secrets(value), column) for key, value, column in tags[:_MAX_TAGS]),
        levels=tuple((short_text(type_), short_text(name)) for type_, name in levels[:_MAX_LEVELS]),
    )


def joined_declarations(declarations: Iterable[Declared]) -> Declared:
    """Several as one, whatever their order: of different texts and hierarchies the longest, then the greatest; all
    tags.
    """
    different = set(declarations) - {NOTHING_DECLARED}
    if len(different) < 2:  # noqa: PLR2004 - one, or none
        return different.pop() if different else NOTHING_DECLARED
    return Declared(
        owner=fullest(declared.owner for declared in different),
        description=fullest(declared.description for declared in different),
        tags=tuple(sorted({tag for declared in different for tag in declared.tags}))[:_MAX_TAGS],
        levels=max((declared.levels for declared in different), key=lambda levels: (len(levels), levels)),
    )


def fullest(texts: Iterable[str]) -> str:
    """Of several texts the longest, then the greatest."""
    return max(texts, key=lambda text: (len(text), text), default="")


ALL_ROWS = ""
"""The output column of an edge that concerns every row."""

MAX_EXPRESSIONS = 4
"""Of an edge: jobs that make a column in different ways."""


def union(contents: Sequence[Process]) -> Process:
    """The union of several contents of one process (at least one, all with the same qualified name)."""
    if len(contents) == 1:
        return contents[0]
    inputs = assets(asset for content in contents for asset in content.inputs)
    reported = {
        asset.qualified_name
        for content in contents
        for asset in content.inputs
        if asset.qualified_name not in content.parsed
    }
    columns = union_edges(edge for content in contents for edge in content.columns)
    reached = {edge.output for edge in columns if edge.kind == EdgeKind.DIRECT}
    return Process(
        qualified_name=contents[0].qualified_name,
        name=min(content.name for content in contents),
        operations=tuple(sorted({operation for content in contents for operation in content.operations})),
        inputs=inputs,
        outputs=assets(asset for content in contents for asset in content.outputs),
        columns=columns,
        end_not_seen=all(content.end_not_seen for content in contents),
        generic_identity=any(content.generic_identity for content in contents),
        sourceless=tuple(sorted({column for content in contents for column in content.sourceless} - reached)),
        parsed=tuple(asset.qualified_name for asset in inputs if asset.qualified_name not in reported),
        batch_inputs=_batch_inputs(contents),
        unresolved_tables=tuple(sorted({table for content in contents for table in content.unresolved_tables})),
        schemas=one_each(schema for content in contents for schema in content.schemas),
        origin=joined(content.origin for content in contents),
        exact=all(content.exact for content in contents),
    )


def assets(named: Iterable[Asset]) -> tuple[Asset, ...]:
    """Each asset once, sorted; of several spellings the first."""
    by_key: dict[tuple[str, str], Asset] = {}
    for asset in named:
        key = (asset.qualified_name, asset.type)
        first = by_key.get(key)
        if first is None:
            by_key[key] = asset
        elif first != asset:
            by_key[key] = replace(
                min(first, asset),
                tables=tuple(sorted({*first.tables, *asset.tables})),
                also=tuple(sorted({*first.also, *asset.also})),
            )
    return tuple(sorted(by_key.values()))


def sources(process: Process) -> tuple[Asset, ...]:
    """All inputs of the process, those of enclosing batches included."""
    return assets((*process.inputs, *process.batch_inputs)) if process.batch_inputs else process.inputs


def _batch_inputs(contents: Iterable[Process]) -> tuple[Asset, ...]:
    """The inputs of the batches that enclose these writes. Concurrent streams enclose each other's writes by chance, so
    inputs common to all count; if there are none, all inputs.
    """
    batches = [content.batch_inputs for content in contents if content.batch_inputs]
    names = [{asset.qualified_name for asset in batch} for batch in batches]
    common = set.intersection(*names) if names else set()
    return assets(asset for batch in batches for asset in batch if not common or asset.qualified_name in common)


def union_edges(edges: Iterable[ColumnEdge]) -> tuple[ColumnEdge, ...]:
    """The edges sorted, one for each pair of columns and kind: masked if all are, with all their steps, and the first
    MAX_EXPRESSIONS of their expressions. Reported edges go before parsed ones. An exact edge goes before an opaque one,
    but a mask does not: beside it the plain value may arrive.
    """
    united: list[ColumnEdge] = []
    for edge in sorted(edges):  # equal input, output and kind are adjacent
        previous = united[-1] if united else None
        if (
            previous is None
            or edge.output != previous.output
            or edge.input != previous.input
            or edge.kind != previous.kind
        ):
            united.append(edge)
        elif previous.parsed != edge.parsed:
            united[-1] = edge if previous.parsed else previous
        elif previous != edge:
            united[-1] = _both(previous, edge)
    return tuple(united)


def _both(edge: ColumnEdge, other: ColumnEdge) -> ColumnEdge:
    steps = {*edge.how, *other.how}
    if OPAQUE in steps and OPAQUE not in max(edge, other, key=_says).how:
        steps.remove(OPAQUE)
    expressions = edge.expressions
    if other.expressions and other.expressions != expressions:
        expressions = tuple(sorted({*expressions, *other.expressions}))[:MAX_EXPRESSIONS]
    return replace(
        edge,
        masked=edge.masked and other.masked,
        how=tuple(sorted(steps)),
        expressions=expressions,
    )


def _says(edge: ColumnEdge) -> tuple[bool, bool]:
    """How much an edge says of the plain value: of two edges the one that says more decides what both are. It says
    nothing (opaque and masked), that it arrives masked only, that it may arrive (opaque), that it arrives.
    """
    return not edge.masked, OPAQUE not in edge.how


def renamed(schemas: Iterable[AssetSchema], names: Mapping[str, str]) -> tuple[AssetSchema, ...]:
    """The schemas with assets renamed (old to new qualified name)."""
    return one_each(
        msgspec.structs.replace(schema, qualified_name=names[schema.qualified_name])
        if schema.qualified_name in names
        else schema
        for schema in schemas
    )


def one_each(schemas: Iterable[AssetSchema]) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name. As it is unknown which schema is newer, it is the one with the most
    columns, with the declarations of all.
    """
    return by_asset(schemas, _joined)


def by_asset(
    schemas: Iterable[AssetSchema], join: Callable[[AssetSchema, AssetSchema], AssetSchema]
) -> tuple[AssetSchema, ...]:
    """One schema for each asset, by qualified name; `join` makes one of a schema and an earlier one."""
    by_name: dict[str, AssetSchema] = {}
    for schema in schemas:
        earlier = by_name.get(schema.qualified_name)
        by_name[schema.qualified_name] = join(schema, earlier) if earlier else schema
    return tuple([by_name[name] for name in sorted(by_name)])


def _joined(schema: AssetSchema, other: AssetSchema) -> AssetSchema:
    wider = max(schema, other, key=_width)
    if schema.declared == other.declared:
        return wider
    return msgspec.structs.replace(wider, declared=joined_declarations((schema.declared, other.declared)))


def after(schema: AssetSchema, earlier: AssetSchema) -> AssetSchema:
    """A schema that was seen later than another one of its asset: it has what it says nothing of from that."""
    if schema.columns and earlier.declared == NOTHING_DECLARED:
        return schema
    declared = schema.declared | earlier.declared
    return msgspec.structs.replace(schema, columns=schema.columns or earlier.columns, declared=declared)


def _width(schema: AssetSchema) -> tuple[int, tuple[tuple[str, str], ...]]:
    return len(schema.columns), schema.columns


def latest(contributions: Iterable[Contribution]) -> tuple[AssetSchema, ...]:
    """One schema for each asset: the one seen last."""
    ordered = sorted(
        contributions,
        key=lambda contribution: (contribution.seen.last, contribution.seen.first, contribution.content.schemas),
    )
    return by_asset((schema for contribution in ordered for schema in contribution.content.schemas), after)


def of_those(schemas: Iterable[AssetSchema], process: Process) -> tuple[AssetSchema, ...]:
    """The schemas of the process's inputs and outputs."""
    names = {asset.qualified_name for asset in (*process.inputs, *process.outputs)}
    return tuple(schema for schema in schemas if schema.qualified_name in names)
