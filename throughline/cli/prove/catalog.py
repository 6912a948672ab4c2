"""Proofs about the catalog: the canary's process, columns, classifications, search, names of scans, throttling."""

import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field

from shared.atlas.columns import COLUMN_RULES
from shared.atlas.entities import PROCESS_TYPE, AssetEntity, asset_entity
from shared.canary.hops import ARRIVAL, FOLDED, Canary, CanaryRun, Hop
from shared.catalog.port import AssetKey, Classifications, Node
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.model import Asset
from shared.naming.matching import rank
from shared.naming.names import canonical
from shared.telemetry.port import CALL, Act, Acts
from throughline.cli.checks.azure.deployed import accounts_of
from throughline.cli.checks.azure.rights import is_closed
from throughline.cli.checks.catalog import TRIAL
from throughline.cli.prove.deployment import OWNER, uninterrupted
from throughline.cli.prove.evidence import Evidence, ProofContext, judged, not_run, proved, refuted

_OUT_OF_REACH = frozenset({"receiver-unreachable", "receiver-closed"})
_NOTICED = 60.0
"""Seconds: later, the sweeper has folded a run, and not a notice of its blob."""


def _canary(context: ProofContext) -> Canary:
    parts = context.parts
    return Canary(context=parts, names=parts.names, send=context.sender.send, owner=OWNER, patience=context.patience)


def canary(context: ProofContext) -> Mapping[str, Evidence]:
    """Follow a canary; look at its process while the catalog has it."""
    flight = _canary(context)
    run, hops, results = flight.run(), list[Hop](), dict[str, Evidence]()
    with closing(flight.hops(run)) as way:
        for hop in way:
            hops.append(hop)
            if hop.name == ARRIVAL and not hop.problem and not context.parts.publishing.shadow:
                results |= _process(context, flight, run)
    failed = next((hop for hop in hops if hop.problem), None)
    facts = {f"{hop.name.lower()}_seconds": round(hop.seconds, 2) for hop in hops}
    reason = f"{failed.name}: {failed.problem}: {failed.outcome}" if failed else ""
    evidence = not_run(reason) if failed and failed.problem in _OUT_OF_REACH else judged(reason, **facts)
    return {**results, "canary": evidence, **_delivery(context, hops)}


def _process(context: ProofContext, flight: Canary, run: CanaryRun) -> Mapping[str, Evidence]:
    """What the catalog gives back of the process."""
    name = flight.process(run).qualified_name
    entity = context.parts.catalog.read_processes([name])[name].entity
    mapping, origin = dict(entity.attributes).get("columnMapping", ""), dict(entity.origin)
    pairs = mapping.count(run.column)
    number_of_sides = len(("source", "sink"))
    return {
        "process-type": judged("" if entity.type == PROCESS_TYPE else f"it is a {entity.type}", type=entity.type),
        "column-mapping": judged("" if pairs == number_of_sides else "a column is missing or repeated", columns=pairs),
        "managed-attributes": judged("" if origin.get("job") else "none is given back", attributes=len(origin)),
    }


def _delivery(context: ProofContext, hops: list[Hop]) -> Mapping[str, Evidence]:
    """Whether a notice of the new blob reached the parser, by the way of this deployment."""
    ways = {"event-grid": context.deployed.by_webhook, "queue-delivery": not context.deployed.by_webhook}
    fold = next((hop for hop in hops if hop.name == FOLDED), None)
    if fold is None:
        evidence = not_run("the canary did not come so far")
    else:
        late = fold.problem or fold.seconds > _NOTICED
        reason = f"the run was not folded within {_NOTICED:.0f} s" if late else ""
        evidence = judged(reason, fold_seconds=round(fold.seconds, 2))
    results = {claim: evidence if on else not_run("another delivery is deployed") for claim, on in ways.items()}
    if ways["queue-delivery"] and not _behind_firewall(context):
        results["queue-delivery"] = not_run("the account is open to public networks, so its firewall was not tried")
    return results


def _behind_firewall(context: ProofContext) -> bool:
    """Whether the firewall of the account is closed, so that it counts that Event Grid came through."""
    accounts = accounts_of(context.deployed)
    return is_closed(accounts.by_name[accounts.data]["properties"])


@contextmanager
def _trial_assets(context: ProofContext, *assets: AssetEntity) -> Iterator[Mapping[AssetKey, str]]:
    """Create these assets for the block: their guids. They are looked for and removed in any case."""
    catalog = context.parts.catalog
    keys = [asset.key for asset in assets]
    try:
        yield catalog.create_assets(assets)
    finally:
        with uninterrupted():
            parts = [guid for placeholder in catalog.placeholders(keys).values() for guid in placeholder.parts]
            catalog.remove([*catalog.find(keys).values(), *parts])


def _column_trials(context: ProofContext) -> Iterator[AssetEntity]:
    """A placeholder with one column, for each type of the table that the catalog knows."""
    types = context.parts.types.held() if context.parts.types else ()
    type_names = {str(definition["name"]) for definition in types}
    for kind in ("azure_datalake_gen2_path", *COLUMN_RULES):
        if kind in type_names:
            name = f"throughlinedoctor/{OWNER}/{kind}"
            asset = Asset(type=kind, qualified_name=name, namespace="throughlinedoctor", name=name)
            yield asset_entity(asset, columns=(("seen", "string"),))


def columns(context: ProofContext) -> Mapping[str, Evidence]:
    """Create a placeholder of each type with one column, and compare what the catalog gives back."""
    refusals, number = list[str](), 0
    for trial in _column_trials(context):
        number += 1
        try:
            with _trial_assets(context, trial):
                catalog = context.parts.catalog
                if trial.key not in catalog.find([trial.key]) or trial.key not in catalog.up_to_date([trial]):
                    refusals.append(f"{trial.type} differs")
        except CatalogRefused as error:
            refusals.append(f"{trial.type} {error.status} {error.code}")
    if not number:
        return {"columns": not_run("the catalog has none of the types")}
    return {"columns": judged("; ".join(refusals), types=number, refused=len(refusals))}


def classification(context: ProofContext) -> Mapping[str, Evidence]:
    """Attach a classification and a term that the catalog has to a trial asset, look for them, and take them away."""
    parts = context.parts
    types = parts.types.held() if parts.types else ()
    names = sorted(str(kind["name"]) for kind in types if kind.get("category") == "CLASSIFICATION")
    glossaries = parts.terms.glossaries() if parts.terms else {}
    terms = sorted(f"{term}@{glossary}" for glossary, names_of in glossaries.items() for term in names_of)
    trials: list[tuple[str, Classifications, str]] = []
    if parts.classifications and names:
        trials.append(("classification", parts.classifications, names[0]))
    if parts.terms and terms:
        trials.append(("term", parts.terms, terms[0]))
    if not trials:
        return {"classification": not_run("the catalog has no classification and no term to try")}
    problems = list[str]()
    with _trial_assets(context, TRIAL) as guids:
        for kind, port, name in trials:
            guid = guids[TRIAL.key]
            port.attach(name, [guid])
            if name not in port.classified([TRIAL.key])[TRIAL.key].names:
                problems.append(f"an attached {kind} is not given back")
            port.detach(name, guid)
            if name in port.classified([TRIAL.key])[TRIAL.key].names:
                problems.append(f"a {kind} that was taken away is given back")
    return {"classification": judged("; ".join(problems), tried=", ".join(kind for kind, _, _ in trials))}


_SEARCHED = ("https dfs", "https blob", "mssql", "fabric", "databricks")
"""Words of qualified names that scans of different sources make."""
_LIMIT = 200


def search(context: ProofContext) -> Mapping[str, Evidence]:
    """Search for several texts in one call, and for each in a call of its own: the same must be found."""
    catalog = context.parts.catalog
    single = {text: {node.guid for node in catalog.search(text, _LIMIT)} for text in _SEARCHED}
    try:
        together = catalog.search_all(_SEARCHED)
    except CatalogRefused as error:
        return {"search": refuted(f"{error.status} {error.code}")}
    facts = {"single": sum(map(len, single.values()))}
    if together is None or not facts["single"] or max(map(len, single.values())) >= _LIMIT:
        return {"search": not_run("the account has no scanned assets, or too many for one call")}
    missing = sum(len(guids - {node.guid for node in together[text]}) for text, guids in single.items())
    reason = f"{missing} results of single searches are missing" if missing else ""
    return {"search": judged(reason, **facts, together=sum(map(len, together.values())))}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inversion:
    """How an event names what a scan has found: a pattern of qualified names; namespace and name, with its groups."""

    types: frozenset[str]
    pattern: re.Pattern[str]
    namespace: str
    name: str


def _inversion(types: str, pattern: str, namespace: str, name: str) -> _Inversion:
    return _Inversion(types=frozenset(types.split()), pattern=re.compile(pattern), namespace=namespace, name=name)


_INVERSIONS = (
    _inversion(
        "azure_datalake_gen2_path azure_datalake_gen2_resource_set",
        r"https://(?P<host>[\w-]+\.dfs\.[^/]+)/(?P<fs>[^/]+)/(?P<path>.+)",
        "abfss://{fs}@{host}",
        "/{path}",
    ),
    _inversion(
        "azure_blob_path azure_blob_resource_set",
        r"https://(?P<host>[\w-]+\.blob\.[^/]+)/(?P<fs>[^/]+)/(?P<path>.+)",
        "wasbs://{fs}@{host}",
        "/{path}",
    ),
    _inversion(
        "azure_sql_table azure_sql_mi_table mssql_table azure_synapse_dedicated_sql_table",
        r"mssql://(?P<host>[^/]+)/(?P<db>[^/]+)/(?P<schema>[^/]+)/(?P<table>[^/]+)",
        "sqlserver://{host}",
        "{db}.{schema}.{table}",
    ),
    _inversion(
        "fabric_lakehouse_table",
        r"https://app\.fabric\.microsoft\.com/groups/(?P<ws>[^/]+)/lakehouses/(?P<lh>[^/]+)/tables/(?P<table>.+)",
        "abfss://{ws}@onelake.dfs.fabric.microsoft.com",
        "/{lh}/Tables/{table}",
    ),
)


def names(context: ProofContext) -> Mapping[str, Evidence]:
    """Name the account's scanned assets as events would, and compare: by type, never by name."""
    catalog, counts, differ = context.parts.catalog, Counter[str](), Counter[str]()
    nodes = {node.guid: node for text in _SEARCHED for node in catalog.search(text, _LIMIT)}
    placeholders = catalog.placeholders([node.key for node in nodes.values()])
    for node in nodes.values():
        match = None if node.key in placeholders else _as_event(node)
        if match:
            counts[node.type] += 1
            name = context.parts.names.name(canonical(*match)).best
            differ[node.type] += rank(name.key, node.key) is None
    if not counts:
        return {"scanned-names": not_run("the account has no scanned assets of a type that can be compared")}
    reason = "; ".join(f"{number} of {counts[kind]} {kind}" for kind, number in differ.items() if number)
    facts = dict(sorted(counts.items()))
    return {"scanned-names": judged(f"named otherwise: {reason}" if reason else "", **facts)}


def _as_event(node: Node) -> tuple[str, str] | None:
    for inversion in _INVERSIONS:
        groups = inversion.pattern.fullmatch(node.qualified_name) if node.type in inversion.types else None
        if groups:
            return inversion.namespace.format(**groups.groupdict()), inversion.name.format(**groups.groupdict())
    return None


_STORM = 4_000
_AT_ONCE = 16
_STORM_SECONDS = 30.0


@dataclass(slots=True)
class _Calls:
    """The calls to the catalog that were reported."""

    counts: Counter[str] = field(default_factory=Counter)

    def take(self, act: Act) -> None:
        if act.kind is CALL:
            self.counts["calls"] += 1
            self.counts["throttled"] += bool(act.facts.get("retries"))
            self.counts["failed"] += act.facts.get("state") == "unavailable"


def throttling(context: ProofContext) -> Mapping[str, Evidence]:
    """Call the catalog as fast as it answers until it throttles, or half a minute long."""
    calls = _Calls()
    catalog, end = context.unlimited(Acts(calls.take)).catalog, time.monotonic() + _STORM_SECONDS

    def call(_: int) -> None:
        if time.monotonic() < end and not calls.counts["throttled"]:
            try:
                catalog.find([TRIAL.key])
            except CatalogUnavailable:  # counted by its act
                return

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(call, range(_STORM)))
    counts = dict(calls.counts)
    if not counts.get("throttled"):
        return {"throttling": not_run(f"{counts.get('calls', 0)} calls did not provoke it")}
    failed = f"{counts['failed']} calls failed after all tries" if counts.get("failed") else ""
    return {"throttling": judged(failed, **counts)}


def clean_up(context: ProofContext) -> Mapping[str, Evidence]:
    """Look for what the other proofs have made."""
    flight, catalog = _canary(context), context.parts.catalog
    process = flight.process(flight.run())
    keys = [asset.key for asset in (*process.inputs, *process.outputs)]
    keys += [TRIAL.key, *(trial.key for trial in _column_trials(context))]
    processes, assets = len(catalog.read_processes([process.qualified_name])), len(catalog.find(keys))
    reason = f"{processes} processes and {assets} data sets are left" if processes or assets else ""
    return {"clean-up": judged(reason, processes=processes, data_sets=assets) if reason else proved()}
