"""A small shop without history: owners, descriptions, tags, expressions, an upper bound, long names, a wide table."""

from datetime import timedelta

from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import FailedTest, Health, LineageDocument
from shared.model import AssetSchema, ColumnEdge, Declared, EdgeKind, Process
from tests.support.lineage import NOON, asset, edge, process

EMOJI, ARABIC = "orders_" + "🛒🚚📦💶" * 12, "مبيعات_السنة_الماضية_حسب_المنطقة_والفرع"
WIDE_COLUMNS = tuple(f"attribute_{number:02}" for number in range(40))


def _made(
    source_name: str, target_name: str, transformation: str, expression: str = "", *, masked: bool = False
) -> ColumnEdge:
    return structs.replace(
        edge(source_name, target_name, transformation, masked=masked), expressions=(expression,) if expression else ()
    )


def _declared(name: str, declared: Declared, *columns: tuple[str, str]) -> AssetSchema:
    return AssetSchema(qualified_name=asset(name).qualified_name, columns=columns, declared=declared)


_SALES = _declared(
    "mart/sales",
    Declared(
        owner="Finance",
        description="Revenue by customer and day, after returns.",
        tags=(("PII", "", "customer"), ("certified", "gold", ""), ("confidential", "", "email_sha")),
    ),
    *(("customer", "string"), ("email_sha", "string"), ("revenue", "decimal(18,2)"), ("day", "date")),
)


def _known(base_process: Process, days: int, health: Health = Health.GOOD) -> KnownProcess:
    last = NOON + timedelta(days=days)
    return KnownProcess(
        process=base_process, first=NOON, last=last, last_run=f"run-of-{base_process.name}", health=health
    )


def shop() -> LineageDocument:
    """The document."""
    sales = process(
        "sales_mart",
        "raw/orders raw/customers",
        "mart/sales",
        _made("raw/orders.qty", "mart/sales.revenue", "AGGREGATION", "sum(qty * price)"),
        _made("raw/orders.price", "mart/sales.revenue", "AGGREGATION", "sum(qty * price)"),
        _made("raw/orders.day", "mart/sales.day", "IDENTITY"),
        _made("raw/customers.email", "mart/sales.email_sha", "TRANSFORMATION", "sha2(email, 256)", masked=True),
        _made("raw/customers.name", "mart/sales.customer", "OPAQUE", "shout(name, title)"),
        *(edge(f"raw/orders.{name}", "mart/sales.", kind=EdgeKind.INDIRECT) for name in ("day", "returned", "qty")),
        schemas=(_SALES,),
    )
    sales = structs.replace(sales, operations=("merge",))
    wide = process(
        "features",
        "mart/sales",
        "ml/features",
        *(_made("mart/sales.revenue", f"ml/features.{name}", "TRANSFORMATION") for name in WIDE_COLUMNS),
    )
    dashboard = process(
        "dashboard", "ml/features", "bi/dashboard", edge("ml/features.attribute_00", "bi/dashboard.value")
    )
    emoji = process("carts", "raw/orders", EMOJI, edge("raw/orders.qty", f"{EMOJI}.qty"))
    arabic = process("archive", "mart/sales", ARABIC, edge("mart/sales.revenue", f"{ARABIC}.{ARABIC}"))
    known_processes = [
        _known(sales, 5),
        _known(wide, 2, Health.FAILED),
        _known(dashboard, 1, Health.OVERDUE),
        _known(emoji, 3),
        _known(arabic, 4),
    ]
    document = document_of("record", known_processes, expressions=True)
    number = next(place for place, dataset in enumerate(document.datasets) if dataset.name == "sales")
    return structs.replace(document, failed_tests=(FailedTest(number, "revenue", "not_negative", severity="error"),))
