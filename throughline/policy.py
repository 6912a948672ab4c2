"""Policies as a gate in a notebook or a training job: continue only if they hold."""

from datetime import UTC, datetime
from os import PathLike, fspath
from typing import TYPE_CHECKING

from shared.errors import Misconfigured, StorageUnavailable, ThroughlineError
from shared.governance.checks.checking import ALL_HOLD, Report, as_text, check, exit_code
from shared.governance.checks.findings import Facts
from shared.governance.propagation import CatalogReading, remarks
from shared.governance.rules import Rules
from shared.governance.rules_file import parse_policies
from shared.lineage.document import LineageDocument
from shared.lineage.graph import AmbiguousNameError, UnknownNameError, find_dataset
from shared.settings.kinds import file
from throughline.client import Client, connect, judged_by, reading_by

if TYPE_CHECKING:
    from throughline.lake.tables.lake import Lake


class PolicyError(ThroughlineError):
    """A policy is broken, or not known to hold although it must. The text is that of `throughline check`: each demand,
    and the shortest path to what breaks it.
    """


def require(
    policy: str | PathLike[str], dataset: str = "", *, client: Client | None = None, lake: "Lake | None" = None
) -> None:
    """Go on only if the policies of a rules file hold for a data set (without one: for all that they name).

    `policy` is the file's path. `dataset` is a qualified name, the end of one, or a short name. Lineage comes from the
    record of `client` (None: `throughline.connect()`), or from a `throughline.lake.Lake`, which also has the results of
    quality tests and the lineage of former times. Classifications of the catalog, where the rules ask for them, come
    from the catalog of `client`; where it can't be read, what depends on them is not known to hold.

    Raises `throughline.PolicyError`, `throughline.Misconfigured` where the file is missing or wrong, where no policy is
    about the data set or the lineage does not have it, and `throughline.StorageUnavailable`.
    """
    place = fspath(policy)
    try:
        text_file = file(place)
    except ValueError as error:
        raise Misconfigured(str(error)) from error
    if text_file is None:
        raise Misconfigured("no file of policies is named: give its path")
    rules = parse_policies(text_file.text, text_file.place)
    if lake is not None:
        from throughline.lake.gold.lineage_document import (  # noqa: PLC0415 - needs PySpark
            document_of_lake,
            quality_of_lake,
        )

        document = document_of_lake(lake, expressions=True)
        facts = Facts(now=datetime.now(UTC), quality=quality_of_lake(lake))
    else:
        client = client or connect()
        document, excluded = judged_by(client)
        facts = Facts(now=datetime.now(UTC), excluded=excluded)
    try:
        number = find_dataset(document, dataset) if dataset else None
    except (UnknownNameError, AmbiguousNameError) as error:
        raise Misconfigured(f"{error}. {place} was not checked") from error
    reading = _reading(document, rules, client)
    results = check(document, rules, facts, catalog=reading, dataset=number)
    if not results:
        raise Misconfigured(f"no policy of {place} is about {dataset or 'anything'}: add one")
    if exit_code(results) != ALL_HOLD:
        report = Report(
            place=place, results=results, remarks=remarks(document, rules, today=facts.now.date(), catalog=reading.tags)
        )
        raise PolicyError(as_text(report))


def _reading(document: LineageDocument, rules: Rules, client: Client | None) -> CatalogReading:
    """The classifications of the catalog that the rules ask for. A lake can be checked without a Throughline to connect
    to.
    """
    if not rules.asks_catalog:
        return CatalogReading(tags={})
    try:
        return reading_by(client or connect(), document, rules)
    except (Misconfigured, StorageUnavailable) as error:
        return CatalogReading(why=str(error))
