"""Documents that tests serve: a small estate whose processes have names as real ones."""

from datetime import timedelta

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import LineageDocument
from shared.model import Asset, AssetSchema, Column, ColumnEdge, Declared, EdgeKind, Origin, Process
from shared.naming.stores.families import Identity
from shared.serving.requests import Request, Response
from shared.serving.service import LineageService
from shared.serving.shelf import OneDocument
from shared.serving.view import LineageView
from shared.translation.process.identity import JobIdentity, Strength, name_process
from tests.support.lineage import NOON

LAKE = "abfss://lake@acct.dfs.core.windows.net"
JOBS = "spark/prod"
HOSTILE = '<script>alert("1")</script>'


def asset(name: str) -> Asset:
    """A folder of the lake; its qualified name has another form than its name in events."""
    return Asset(
        type="azure_datalake_gen2_path",
        qualified_name=f"https://acct.dfs.core.windows.net/lake/{name}",
        namespace=LAKE,
        name=name,
    )


def edge(source: str, target: str, *, masked: bool = False, expression: str = "") -> ColumnEdge:
    """From `table.column` to `table.column`."""
    ends = (
        Column(qualified_name=asset(table).qualified_name, column=column)
        for table, _, column in (source.rpartition("."), target.rpartition("."))
    )
    first, last = ends
    return ColumnEdge(
        input=first,
        output=last,
        kind=EdgeKind.DIRECT,
        masked=masked,
        how=("TRANSFORMATION" if masked else "IDENTITY",),
        expressions=(expression,) if expression else (),
    )


def process(job: str, reads: str, writes: str, *edges: ColumnEdge) -> KnownProcess:
    """A process of a job, with the schema of what it writes."""
    identity = JobIdentity(strength=Strength.JOB, name=job)
    name, view = name_process(JOBS, identity, Identity(namespace=LAKE, name=writes))
    columns = tuple(dict.fromkeys((column_edge.output.column, "string") for column_edge in edges))
    process_value = Process(
        qualified_name=name,
        name=view,
        operations=("insert",),
        inputs=tuple(map(asset, reads.split())),
        outputs=(asset(writes),),
        columns=tuple(sorted(edges)),
        schemas=(
            AssetSchema(qualified_name=asset(writes).qualified_name, columns=columns, declared=Declared(owner="ada")),
        ),
        origin=Origin(job=job, link="https://example.com/job"),
    )
    return KnownProcess(process=process_value, first=NOON, last=NOON + timedelta(days=2), last_run="run")


CLEAN = process(
    "clean customers",
    "raw/customers",
    "clean/customers",
    edge("raw/customers.mail", "clean/customers.mail", masked=True, expression="sha2(mail)"),
    edge("raw/customers.name", "clean/customers.name"),
)
MART = process("mart", "clean/customers", "mart/report", edge("clean/customers.name", "mart/report.customer"))
SIDE = process("mart", "clean/customers", f"mart/{HOSTILE}", edge("clean/customers.mail", f"mart/{HOSTILE}.mail"))


def estate(*processes: KnownProcess) -> LineageDocument:
    """The document of these processes, or of all of them."""
    return document_of("record", processes or (CLEAN, MART, SIDE), expressions=True)


def service(document: LineageDocument | None = None) -> LineageService:
    """The service of one document."""
    return LineageService(OneDocument(view=LineageView(document or estate(), "one")), "v")


def get(served: LineageService, path: str, headers: dict[str, str] | None = None, **query: str) -> Response:
    """The answer at a path below `api/v1/`."""
    arguments = {name.removesuffix("_"): value for name, value in query.items()}
    return served.answer(Request(path=f"api/v1/{path}", query=arguments, headers=headers or {}))
