"""A small estate with everything that the page can show: history, masks, conditions, failures, unknown lineage."""

from datetime import timedelta

from msgspec import structs

from shared.lineage.building import TABLE, Interval, KnownProcess, document_of
from shared.lineage.document import Health, LineageDocument
from shared.model import Asset, Origin, Process, UnresolvedTable
from tests.support.lineage import NOON

STORE = "https://acct.dfs.core.windows.net/"
_DAY = timedelta(days=1)


def asset(name: str) -> Asset:
    """Return a folder of the lake; no scan has found one that begins with `lost/`."""
    kind = "DataSet" if name.startswith("lost/") else "azure_datalake_gen2_path"
    return Asset(type=kind, qualified_name=f"{STORE}{name}", namespace="abfss", name=name)


def _known(name: str, reads: str, writes: str, health: Health = Health.GOOD) -> KnownProcess:
    process = Process(
        qualified_name=f"throughline:{name}",
        name=f"{name} → {writes.rpartition('/')[2]}",
        operations=("insert",),
        inputs=tuple(map(asset, reads.split())),
        outputs=(asset(writes),),
        columns=(),
        origin=Origin(platform="Azure Synapse", workspace="prod", job=name, link="https://example.com/notebook"),
    )
    return KnownProcess(process=process, first=NOON, last=NOON + 20 * _DAY, last_run=f"run-of-{name}", health=health)


_CLEAN, _WIDE, _REPORT = "clean/customers", "mart/orders_wide", "mart/revenue_by_city"
_PROCESSES = (
    _known("load_customers", "raw/customers raw/addresses", _CLEAN),
    _known("load_orders", "raw/orders lost/orders", "clean/orders", Health.FAILED),
    _known("orders_wide", f"{_CLEAN} clean/orders", _WIDE),
    _known("report", _WIDE, _REPORT),
    _known("crm", _CLEAN, "mart/crm_export"),
)
_COPY, _CHANGE, _SUM, _FILTER, _JOIN = ("IDENTITY",), ("TRANSFORMATION",), ("AGGREGATION",), ("FILTER",), ("JOIN",)
_EDGES: tuple[tuple[str, str, str, tuple[str, ...], bool, int, int | None], ...] = (
    # process, column read, column written, steps, masked, from which day, until which
    ("load_customers", "raw/customers.id", f"{_CLEAN}.customer_id", _COPY, False, 0, None),
    ("load_customers", "raw/customers.first", f"{_CLEAN}.full_name", _CHANGE, False, 0, None),
    ("load_customers", "raw/customers.last", f"{_CLEAN}.full_name", _CHANGE, False, 0, None),
    ("load_customers", "raw/customers.email", f"{_CLEAN}.email", _COPY, False, 0, 10),
    ("load_customers", "raw/customers.email", f"{_CLEAN}.email", _CHANGE, True, 10, None),
    ("load_customers", "raw/addresses.city", f"{_CLEAN}.city", _COPY, False, 0, None),
    ("load_customers", "raw/addresses.current", f"{_CLEAN}.", _FILTER, False, 0, None),
    ("load_customers", "raw/addresses.customer_id", f"{_CLEAN}.", _JOIN, False, 0, None),
    ("load_orders", "raw/orders.amount", "clean/orders.amount", _COPY, False, 0, None),
    ("load_orders", "raw/orders.customer", "clean/orders.customer_id", _COPY, False, 0, None),
    ("load_orders", "lost/orders.amt", "clean/orders.amount", _CHANGE, False, 0, 12),
    ("orders_wide", f"{_CLEAN}.full_name", f"{_WIDE}.full_name", _COPY, False, 0, None),
    ("orders_wide", f"{_CLEAN}.city", f"{_WIDE}.city", _COPY, False, 0, None),
    ("orders_wide", f"{_CLEAN}.email", f"{_WIDE}.email", _COPY, False, 0, None),
    ("orders_wide", "clean/orders.amount", f"{_WIDE}.amount_eur", _CHANGE, False, 0, None),
    ("orders_wide", "clean/orders.customer_id", f"{_WIDE}.", _JOIN, False, 0, None),
    ("report", f"{_WIDE}.amount_eur", f"{_REPORT}.revenue", _SUM, False, 0, None),
    ("report", f"{_WIDE}.city", f"{_REPORT}.city", _COPY, False, 0, None),
    ("crm", f"{_CLEAN}.email", "mart/crm_export.email_sha", _CHANGE, True, 0, None),
    ("crm", f"{_CLEAN}.full_name", "mart/crm_export.name", _COPY, False, 5, None),
)


def estate() -> LineageDocument:
    """The document."""
    history = [
        Interval(
            process=known_process.process.qualified_name,
            input=input_asset.qualified_name,
            input_column="",
            output=known_process.process.outputs[0].qualified_name,
            output_column="",
            kind=TABLE,
            masked=False,
            steps=(),
            parsed=False,
            valid_from=NOON,
            valid_to=None,
        )
        for known_process in _PROCESSES
        for input_asset in known_process.process.inputs
    ]
    for name, source_name, target_name, steps, masked, since, until in _EDGES:
        (source_table, column), (other, target) = source_name.rsplit(".", 1), target_name.rsplit(".", 1)
        history.append(
            Interval(
                process=f"throughline:{name}",
                input=asset(source_table).qualified_name,
                input_column=column,
                output=asset(other).qualified_name,
                output_column=target,
                kind="DIRECT" if target else "INDIRECT",
                masked=masked,
                steps=steps,
                parsed=False,
                valid_from=NOON + since * _DAY,
                valid_to=None if until is None else NOON + until * _DAY,
            )
        )
    unresolved = (UnresolvedTable(table="db.fx_rates"),)
    processes = [
        structs.replace(known_process, process=structs.replace(known_process.process, unresolved_tables=unresolved))
        if known_process.process.qualified_name == "throughline:orders_wide"
        else known_process
        for known_process in _PROCESSES
    ]
    return document_of(
        "lake", processes, history=history, tags=[(asset("raw/customers").qualified_name, "email", "PII")]
    )
