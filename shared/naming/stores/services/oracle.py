"""Oracle. Folded is to `oracle://host:port` and `service.schema.table`, OpenLineage's own form.

Older listeners send the driver's address as namespace (`oracle:thin:@//host:1521/service`, `@host:1521:sid`, or a
descriptor), and 1.25 leaves the port in the name (seen by running them).
"""

import re

from shared.naming.rules.normalization import PART, table_folded, table_parts, unquoted
from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

RULES: tuple[NamingRule, ...] = (
    rule(
        "oracle-table",
        type="oracle_table",
        namespace=r"oracle://(?P<host>[^:/]+):\d+",
        path=rf"(?P<service>{PART})\.(?P<schema>{PART})\.(?P<table>{PART})",
        to="oracle://{host}/{schema}/{table}",
        because="Purview's scan of Oracle names tables so",
        also=(AlternateName(type="oracle_view"),),
        clean=unquoted,
    ),
)

_ADDRESS = re.compile(r"/*(?P<host>[^:/(),]+)(?::(?P<port>\d+))?(?:[:/](?P<service>[^/:?]+))?(?:[:/?].*)?", re.DOTALL)
_HOST = re.compile(r"\(\s*host\s*=\s*([^()\s:/,]+)\s*\)", re.IGNORECASE)
_PORT = re.compile(r"\(\s*port\s*=\s*(\d+)\s*\)", re.IGNORECASE)
_SERVICE = re.compile(r"\(\s*(?:service_name|sid)\s*=\s*([^()\s]+)\s*\)", re.IGNORECASE)
_DEFAULT_PORT = "1521"
_PORT_BEFORE = re.compile(r"\A\d+/(?=[^/.]+\.)")


def _fold(rest: str, name: str) -> tuple[str, str]:
    host, service = _address(rest)
    parts = table_parts(_PORT_BEFORE.sub("", name.strip("/"), count=1))
    if service and parts[-1] and parts[0] != service:
        parts = [service, *parts[-2:]]
    return host, table_folded(parts[-3:])


def _address(rest: str) -> tuple[str, str]:
    if "(" in rest:
        host, port, service = (pattern.search(rest) for pattern in (_HOST, _PORT, _SERVICE))
        if host:
            return f"{host[1].lower()}:{port[1] if port else _DEFAULT_PORT}", service[1] if service else ""
    if address := _ADDRESS.fullmatch(rest):
        return f"{address['host'].lower()}:{address['port'] or _DEFAULT_PORT}", address["service"] or ""
    return rest, ""


STORES: tuple[StoreFamily, ...] = (
    StoreFamily(schemes=("oracle", "oracle:thin", "oracle:oci"), fold=_fold, rules=RULES),
)
