"""Snowflake. Canonical: `snowflake://account` as listeners since 1.30 send it: an organisation's account unchanged, a
locator with region and cloud (OpenLineage's Java client, `SnowflakeUtils`). Older ones send the whole host.

A locator without a region is in AWS us-west-2; the listener names it us-west-1, which Snowflake does not have.
"""

import re

from shared.naming.rules.normalization import PART, table_folded, table_parts, unquoted
from shared.naming.rules.rule import AlternateName, NamingRule, rule
from shared.naming.rules.store import StoreFamily

_DOMAIN = ".snowflakecomputing"
_TABLE = "/databases/{database}/schemas/{schema}/tables/{table}"
_VIEW = "/databases/{database}/schemas/{schema}/views/{table}"


def _of(name: str, account: str, *hosts: str) -> NamingRule:
    """A rule for accounts of one form, with their possible hosts, the likeliest first."""
    best, *further = (f"snowflake://{host}" for host in hosts)
    return rule(
        name,
        type="snowflake_table",
        namespace=f"snowflake://{account}",
        path=rf"(?P<database>{PART})\.(?P<schema>{PART})\.(?P<table>{PART})",
        to=best + _TABLE,
        because="Purview's scan of Snowflake names tables so, by the host of the account",
        also=(
            AlternateName(type="snowflake_view", to=best + _VIEW),
            *(AlternateName(type="snowflake_table", to=host + _TABLE) for host in further),
        ),
        clean=unquoted,
    )


_HOST = "{account}.snowflakecomputing.com"

RULES: tuple[NamingRule, ...] = (
    _of("snowflake-table", "(?P<account>[^./]+)", _HOST, "{account}"),
    _of(
        "snowflake-table-of-first-region",
        r"(?P<account>[^./]+)\.us-west-1\.aws",
        _HOST,
        "{account}.us-west-2.aws.snowflakecomputing.com",
    ),
    _of(
        "snowflake-table-of-amazons-region",
        r"(?P<account>[^./]+\.[^./]+)\.aws",
        _HOST,
        "{account}.aws.snowflakecomputing.com",
    ),
    _of("snowflake-table-of-region", r"(?P<account>[^./]+\.[^./]+\.[^./]+)", _HOST, "{account}"),
)

_AFTER_HOST = re.compile("[/:?;]")
_LOCATOR, _WITH_REGION = 1, 2


def _fold(rest: str, name: str) -> tuple[str, str]:
    host = _AFTER_HOST.split(rest.lower().removeprefix("https://"), 1)[0]
    account = host.partition(_DOMAIN)[0]
    parts = account.split(".")
    if len(parts) == _LOCATOR and account and "-" not in account:
        account += ".us-west-1.aws"  # the listener's form of a locator alone
    elif len(parts) == _WITH_REGION:
        account += ".aws"
    return account, table_folded(table_parts(name.strip("/")))


STORES: tuple[StoreFamily, ...] = (StoreFamily(schemes=("snowflake",), fold=_fold, rules=RULES),)
