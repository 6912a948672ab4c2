"""Each claim that `throughline prove` tries: proved on a healthy deployment, refuted where it is planted wrong."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from shared.atlas.entities import AssetEntity, ProcessEntity
from shared.bootstrap import Worker
from shared.canary.sender import Sender
from shared.catalog.port import AssetKey, HeldProcess, Node
from shared.errors import CatalogRefused, CatalogUnavailable
from shared.telemetry.port import CALL, Telemetry
from tests.cli.doctor.played_azure import ACCOUNTS, GROUP, LINEAGE, PAGE, PRINCIPALS, RECEIVER, with_lineage
from tests.support.memory_catalog import MemoryCatalog, MemoryClassifications, MemoryTerms
from tests.support.played_receiver import PRODUCTION
from tests.support.played_subscription import OLD, PlayedSubscription
from throughline.cli.prove.evidence import ProofContext, Verdict, anonymous, refuted
from throughline.cli.prove.proving import CLAIMS, PROOFS, ClaimResult, Proof, chosen, prove

OPTIONS = frozenset({"--purview", "--throttle"})
SCANNED = (
    ("azure_datalake_gen2_path", "https://acct.dfs.core.windows.net/raw/orders"),
    ("azure_sql_table", "mssql://srv.database.windows.net/shop/dbo/orders"),
    ("azure_blob_path", "https://acct.blob.core.windows.net/raw/items"),
    ("fabric_lakehouse_table", "https://app.fabric.microsoft.com/groups/0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11/lakehouses/9d2c4e10-1111-4222-8333-444455556666/tables/orders"),
)  # fmt: skip


class Catalog(MemoryCatalog):
    """A catalog of scanned assets, which can be wrong in one way each."""

    def __init__(self, *, wrong: str = "", scanned: Iterable[AssetKey] = SCANNED) -> None:
        super().__init__()
        self.wrong = wrong
        self.create_assets(
            [
                AssetEntity(type=kind, qualified_name=name, attributes=(("name", "x"), ("description", "A scan's.")))
                for kind, name in scanned
            ]
        )

    def read_processes(self, qualified_names: Iterable[str]) -> dict[str, HeldProcess]:
        processes = super().read_processes(qualified_names)
        return {
            name: replace(held_process, entity=self._damaged(held_process.entity))
            for name, held_process in processes.items()
        }

    def _damaged(self, entity: ProcessEntity) -> ProcessEntity:
        attributes = dict(entity.attributes)
        if self.wrong == "column":
            attributes["columnMapping"] = attributes["columnMapping"].replace('"Sink":"seen', '"Sink":"other')
        return replace(
            entity,
            type="Process" if self.wrong == "type" else entity.type,
            attributes=tuple(attributes.items()),
            origin=() if self.wrong == "origin" else entity.origin,
        )

    def create_assets(self, assets: Sequence[AssetEntity]) -> dict[AssetKey, str]:
        if getattr(self, "wrong", "") == "no columns":
            assets = [replace(asset, columns=()) for asset in assets]
        if getattr(self, "wrong", "") == "refuses columns" and any(asset.columns for asset in assets):
            raise CatalogRefused(status=400, code="ATLAS-400-00-01A", detail="no such attribute")
        return super().create_assets(assets)

    def search_all(self, texts: Sequence[str]) -> dict[str, tuple[Node, ...]] | None:
        nodes_by_text = super().search_all(texts) or {}
        if self.wrong == "refuses search":
            raise CatalogRefused(status=400, code="InvalidQuery", detail="x")
        return {text: nodes[1:] if self.wrong == "search" else nodes for text, nodes in nodes_by_text.items()}

    def remove(self, guids: Sequence[str]) -> None:
        if self.wrong != "keeps":
            super().remove(guids)


class Types:
    """The types that the catalog has: those of columns, a classification."""

    def held(self) -> Sequence[Mapping[str, Any]]:
        names = ("azure_datalake_gen2_path", "azure_sql_table", "databricks_table", "hive_table")
        return [
            *({"category": "ENTITY", "name": name} for name in names),
            {"category": "CLASSIFICATION", "name": "MICROSOFT.PERSONAL.EMAIL"},
        ]

    def create(self, definitions: Sequence[Mapping[str, Any]]) -> None:
        raise AssertionError(definitions)

    update = create


class Forgetful(MemoryClassifications):
    """It takes classifications, and does not give them back."""

    def attach(self, name: str, guids: Sequence[str]) -> None:
        """Keep nothing."""


class Throttled(MemoryCatalog):
    """A catalog that reports throttled calls, which end as it `fails`."""

    def __init__(self, telemetry: Telemetry, *, fails: bool) -> None:
        super().__init__()
        self.telemetry, self.fails = telemetry, fails

    def find(self, keys: Iterable[AssetKey]) -> dict[AssetKey, str]:
        with self.telemetry.act(CALL) as act:
            act.note(retries=2, state="unavailable" if self.fails else "ok")
            if self.fails:
                raise CatalogUnavailable("429")
            return super().find(keys)


def worker(subscription: PlayedSubscription, catalog: MemoryCatalog, **changed: Any) -> Worker:
    terms = MemoryTerms(catalog)
    terms.create_terms("Glossary", ["Personal"])
    return replace(
        subscription.parts.worker,
        catalog=catalog,
        types=Types(),
        classifications=MemoryClassifications(catalog),
        terms=terms,
        **changed,
    )


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is planted: in the subscription, in the catalog, in the parts; and the claim that it refutes."""

    claim: str
    reason: str
    subscription: Mapping[str, Any] = field(default_factory=dict)
    catalog: str = ""
    change: Callable[[PlayedSubscription], None] = lambda _: None
    classifications: Callable[[MemoryCatalog], MemoryClassifications] = MemoryClassifications
    throttled: bool | None = None


def take_a_role(subscription: PlayedSubscription) -> None:
    subscription.azure.roles[PRINCIPALS[RECEIVER]].pop()


def take_the_role_of_the_page(subscription: PlayedSubscription) -> None:
    with_lineage(subscription.azure).roles[PRINCIPALS[LINEAGE]].pop(2)


def take_the_page(subscription: PlayedSubscription) -> None:
    with_lineage(subscription.azure).resources.pop(PAGE)


def by_queue(subscription: PlayedSubscription) -> None:
    subscription.azure.outputs["delivery"] = "queue"
    for account in subscription.azure.resources[ACCOUNTS]["value"]:
        account["properties"]["networkAcls"]["defaultAction"] = "Deny"


MODIFIED = {
    "changeType": "Modify",
    "resourceId": f"/subscriptions/x/resourceGroups/y/providers/Microsoft.Web/sites/{RECEIVER}/config/web",
    "delta": [{"path": "properties.alwaysOn", "propertyChangeType": "Modify"}],
}
CASES = (
    Case(
        claim="template",
        reason="Modify Microsoft.Web/sites/config: properties.alwaysOn",
        subscription={"changes": [MODIFIED]},
    ),
    Case(claim="roles", reason="no Monitoring Metrics Publisher", change=take_a_role),
    Case(claim="roles", reason="no Storage Blob Data Reader", change=take_the_role_of_the_page),
    Case(claim="roles", reason="an app is missing", change=take_the_page),
    Case(claim="keys", reason="wrong_key got 400, not 401", subscription={"open_to": frozenset({"wrong key"})}),
    Case(
        claim="entra",
        reason="without_token got 400, not 401",
        subscription={"entra": True, "open_to": frozenset({"key alone"})},
    ),
    Case(
        claim="entra",
        reason="without_key got 400, not 401",
        subscription={"entra": True, "open_to": frozenset({"token alone"})},
    ),
    Case(claim="event-grid", reason="not folded within", subscription={"folds": False}),
    Case(claim="queue-delivery", reason="not folded within", subscription={"folds": False}, change=by_queue),
    Case(claim="canary", reason="fold: event-unfolded", subscription={"folds": False}),
    Case(claim="process-type", reason="it is a Process", catalog="type"),
    Case(claim="column-mapping", reason="a column is missing", catalog="column"),
    Case(claim="managed-attributes", reason="none is given back", catalog="origin"),
    Case(claim="columns", reason="azure_sql_table differs", catalog="no columns"),
    Case(claim="columns", reason="hive_table 400 ATLAS-400-00-01A", catalog="refuses columns"),
    Case(claim="classification", reason="an attached classification is not given back", classifications=Forgetful),
    Case(claim="search", reason="results of single searches are missing", catalog="search"),
    Case(claim="search", reason="400 InvalidQuery", catalog="refuses search"),
    Case(claim="scanned-names", reason="1 of 1 azure_synapse_dedicated_sql_table", catalog="names"),
    Case(claim="throttling", reason="failed after all tries", throttled=True),
    Case(claim="swap", reason="requests were not answered with 201", subscription={"lossy": True}),
    Case(claim="alerts", reason="no alert about the receiver", subscription={"alerts": False}),
    Case(claim="clean-up", reason="data sets are left", catalog="keeps"),
)


def agreed(_: Proof) -> bool:
    return True


def tried(case: Case, *claim_ids: str, agrees: Callable[[Proof], bool] = agreed) -> dict[str, ClaimResult]:
    """The results of the claims of these ids, of all where none is named."""
    subscription = PlayedSubscription(**case.subscription)
    case.change(subscription)
    odd = ("azure_synapse_dedicated_sql_table", "mssql://srv.database.windows.net/shop/dbo/orders")
    catalog = Catalog(wrong=case.catalog, scanned=[odd] if case.catalog == "names" else SCANNED)
    parts = replace(worker(subscription, catalog), classifications=case.classifications(catalog))

    def unlimited(telemetry: Telemetry) -> Worker:
        return replace(parts, catalog=Throttled(telemetry, fails=bool(case.throttled)))

    folded = subscription.folds
    with subscription.trial(parts, unlimited=unlimited, patience=5.0 if folded else 0.0) as trial:
        results = {
            claim_result.claim.id: claim_result for claim_result in prove(trial, chosen(claim_ids), OPTIONS, agrees)
        }
    assert subscription.receiver.places[PRODUCTION].package == OLD, "the swap was put back"
    assert subscription.stopped is None, "the receiver was started again"
    return results


def test_every_claim_that_can_be_tried_is_proved_on_a_healthy_deployment() -> None:
    results = tried(Case(claim="", reason=""))
    verdicts = {name: result.evidence for name, result in results.items() if result.claim.proof}
    assert {name for name, evidence in verdicts.items() if evidence.verdict is not Verdict.PROVED} == {
        *("entra", "queue-delivery")  # this deployment has neither
    }, verdicts
    assert set(results) == {claim.id for claim in CLAIMS}
    assert {claim_result.evidence.reason for claim_result in results.values() if not claim_result.claim.proof} == {
        "people have to look"
    }


@pytest.mark.parametrize(("claim", "change"), [("entra", lambda _: None), ("queue-delivery", by_queue)])
def test_the_other_shapes_are_proved_too(claim: str, change: Callable[[PlayedSubscription], None]) -> None:
    case = Case(claim=claim, reason="", subscription={"entra": claim == "entra"}, change=change)
    result = tried(case, claim)[claim]
    assert result.evidence.verdict is Verdict.PROVED, result


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.claim}: {case.reason}")
def test_a_claim_that_is_planted_wrong_is_refuted(case: Case) -> None:
    claim_ids = (case.claim,) if case.claim != "clean-up" else ("canary", "columns")
    evidence = tried(case, *claim_ids)[case.claim].evidence
    assert evidence.verdict is Verdict.REFUTED, evidence
    assert case.reason in evidence.reason


def test_every_proof_of_the_claims_exists_and_each_claim_of_it_is_planted() -> None:
    assert {claim.proof for claim in CLAIMS if claim.proof} == {proof.name for proof in PROOFS}
    assert {case.claim for case in CASES} == {claim.id for claim in CLAIMS if claim.proof}
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


def test_nothing_disturbs_that_was_not_agreed_to() -> None:
    proof_names = []

    def refuses(proof: Proof) -> bool:
        proof_names.append(proof.name)
        return False

    subscription = PlayedSubscription()
    with subscription.trial() as trial:
        results = list(prove(trial, PROOFS, frozenset(), refuses))
    reasons = {
        claim_result.claim.id: claim_result.evidence.reason for claim_result in results if claim_result.claim.proof
    }
    assert proof_names == ["swap", "stopped"]
    assert (reasons["swap"], reasons["alerts"]) == ("it was not agreed to",) * 2
    assert (reasons["columns"], reasons["throttling"]) == ("it needs --purview", "it needs --throttle")
    assert not [call for call in subscription.calls if " stop " in call or "swap" in call]


@pytest.mark.parametrize("moment", ["stop", "slot swap"])
def test_ctrl_c_puts_back_what_was_changed_and_ends_the_rest(moment: str) -> None:
    subscription = PlayedSubscription()
    real, struck = subscription.json, list[str]()

    def interrupted(*words: str) -> Any:
        answer = real(*words)
        if moment in " ".join(words[:4]) and not struck:
            struck.append(moment)
            raise KeyboardInterrupt
        return answer

    subscription.json = interrupted  # type: ignore[method-assign]  # a key is pressed
    with subscription.trial() as trial:
        results = {
            claim_result.claim.id: claim_result.evidence for claim_result in prove(trial, PROOFS, frozenset(), agreed)
        }
    claim = "alerts" if moment == "stop" else "swap"
    assert results[claim].reason == "it was interrupted"
    assert results["clean-up"].verdict is Verdict.PROVED
    assert subscription.stopped is None
    assert subscription.receiver.places[PRODUCTION].package == OLD
    if moment == "slot swap":
        assert results["alerts"].reason == "it was interrupted before"


def test_an_error_of_azure_leaves_a_claim_open_and_names_nobody() -> None:
    subscription = PlayedSubscription()
    subscription.azure.failing["role assignment list"] = (
        "(AuthorizationFailed) The client 'ann@example.com' with object id '11111111-0000-4000-8000-000000000009' does"
        f" not have authorization over scope '/subscriptions/abc/resourceGroups/{GROUP}' at {RECEIVER}."
    )
    with subscription.trial() as trial:
        (result,) = [
            claim_result
            for claim_result in prove(trial, chosen(["roles"]), OPTIONS, agreed)
            if claim_result.claim.id == "roles"
        ]
    assert result.evidence.verdict is Verdict.NOT_RUN
    assert "AuthorizationFailed" in result.evidence.reason
    for name in ("ann@", "1111", "abc", GROUP, RECEIVER):
        assert name not in result.evidence.reason


def test_a_receiver_out_of_reach_refutes_nothing() -> None:
    subscription = PlayedSubscription()
    with subscription.trial() as trial:
        subscription.stopped = datetime.now(UTC)
        unreachable_trial = replace(trial, sender=Sender(url="http://127.0.0.1:9"))
        results = {
            claim_result.claim.id: claim_result.evidence
            for claim_result in prove(unreachable_trial, chosen(["keys", "canary"]), OPTIONS, agreed)
        }
    assert {results[name].verdict for name in ("keys", "entra", "canary", "event-grid")} == {Verdict.NOT_RUN}


def context_of_trial() -> ProofContext:
    with PlayedSubscription().trial() as trial:
        return trial


@pytest.mark.parametrize(
    "text",
    [
        "https://pv.purview.azure.com/x",
        "stlineage.blob.core.windows.net",
        f"the app {RECEIVER} of {GROUP}",
        "sig=abcdefghijk&code=secretsecret",
        "10 of bob.miller@contoso.co.uk",
    ],
)
def test_a_report_names_nothing_of_a_company(text: str) -> None:
    anonymous_text = anonymous(text, context_of_trial().deployed)
    for name in ("pv.", "stlineage", RECEIVER, GROUP, "contoso", "secretsecret"):
        assert name not in anonymous_text


def test_an_unknown_claim_and_one_for_people_are_refused() -> None:
    with pytest.raises(LookupError, match="there is no claim nothing"):
        chosen(["nothing"])
    with pytest.raises(LookupError, match="people have to look at links"):
        chosen(["links"])
    assert json.dumps(refuted("x", n=1).facts) == '{"n": 1}'
