"""Injected failures of the local catalog, seen from outside: status, effect and frequency."""

import pytest
import requests

from tests.support.catalog_server import get, post, table
from tests.support.catalog_troubles import KINDS, Does, Trouble, TroubleError, Troubles
from tests.support.troubled_catalog import TroubledCatalog


def names(server: TroubledCatalog, *qualified_names: str) -> set[str]:
    """Return the existing ones of these tables."""
    server.have_troubles()
    query = {f"attr_{number}:qualifiedName": name for number, name in enumerate(qualified_names)}
    entities = get(server, "entity/bulk/uniqueAttribute/type/azure_sql_table", **query).json().get("entities") or ()
    return {entity["attributes"]["qualifiedName"] for entity in entities}


ANSWERED = {name: kind for name, kind in KINDS.items() if kind.status and name != "expire"}


@pytest.mark.parametrize("kind", ANSWERED)
def test_each_kind_of_failure_has_its_answer_and_its_effect(troubled_catalog: TroubledCatalog, kind: str) -> None:
    troubled_catalog.have_troubles(f"{kind}:after=7")
    answer = post(troubled_catalog, table("a", -1), table("b", -2))
    assert answer.status_code == ANSWERED[kind].status
    assert answer.headers.get("Retry-After") == ("7" if kind == "throttle" else None)
    assert names(troubled_catalog, "a", "b") == ({"a"} if ANSWERED[kind].does is Does.HALF else set())
    counted = troubled_catalog.calls()["by_outcome"]["POST entity/bulk"]
    assert counted == {str(ANSWERED[kind].status): 1}


def test_a_partial_bulk_reports_the_entities_that_it_wrote(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("part")
    answer = post(troubled_catalog, table("a", -1), table("b", -2))
    assert (answer.status_code, list(answer.json()["guidAssignments"])) == (200, ["-1"])
    assert names(troubled_catalog, "a", "b") == {"a"}


def test_a_call_with_a_lost_answer_is_executed(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("lost:seconds=30")
    headers = {"Authorization": f"Bearer {troubled_catalog.token}"}
    with pytest.raises(requests.ReadTimeout):
        requests.post(
            f"{troubled_catalog.endpoint}/entity/bulk", json={"entities": [table("a")]}, headers=headers, timeout=0.5
        )
    assert names(troubled_catalog, "a") == {"a"}


def test_a_call_whose_connection_is_cut_is_executed(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("cut")
    with pytest.raises(requests.exceptions.ChunkedEncodingError):
        post(troubled_catalog, table("a"))
    assert names(troubled_catalog, "a") == {"a"}


def test_a_slow_call_is_executed_later(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("slow:seconds=0.3")
    answer = post(troubled_catalog, table("a"))
    assert answer.elapsed.total_seconds() >= 0.3
    assert answer.status_code == 200


def test_an_expired_token_is_refused_until_it_is_renewed(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("expire:every=2,times=1")
    assert [post(troubled_catalog, table(name)).status_code for name in "abc"] == [200, 401, 401]
    new_token = troubled_catalog.good_token()
    assert new_token != troubled_catalog.token
    headers = {"Authorization": f"Bearer {new_token}"}
    url = f"{troubled_catalog.endpoint}/types/typedefs"
    assert requests.get(url, headers=headers, timeout=60).status_code == 200
    troubled_catalog.have_troubles()


def test_only_matching_calls_fail(troubled_catalog: TroubledCatalog) -> None:
    troubled_catalog.have_troubles("choke:name=/bad", "throttle:on=reads,every=3")
    assert [post(troubled_catalog, table(name)).status_code for name in ("x/bad", "x/good")] == [500, 200]
    status_codes = [get(troubled_catalog, "types/typedefs").status_code for _ in range(6)]
    assert status_codes == [200, 200, 429, 200, 200, 429]
    assert troubled_catalog.troubles() == {"choke:name=/bad": 1, "throttle:every=3,on=reads": 2}


@pytest.mark.parametrize(
    ("text", "struck"),
    [
        ("away", "xxxxxxxxxx"),
        ("away:every=3", "..x..x..x."),
        ("away:every=3,row=2", "..xx..xx.."),
        ("away:times=2", "xx........"),
        ("away:every=2,times=1", ".x........"),
        ("away:on=writes", ".........."),
    ],
)
def test_failing_calls_are_selected_by_counts(text: str, struck: str) -> None:
    troubles = Troubles([Trouble.of(text)])
    strikes = ["x" if troubles.strike("GET entity/bulk", writes=False, text="") else "." for _ in range(10)]
    assert "".join(strikes) == struck
    assert str(Trouble.of(text)) == text


@pytest.mark.parametrize("text", ["", "storm", "away:often=1", "away:every=x", "away:every=0", "away:on=sundays"])
def test_an_invalid_trouble_is_refused_with_a_message(text: str) -> None:
    with pytest.raises(TroubleError, match=r"one of|number|invalid|literal"):
        Trouble.of(text)


def test_an_invalid_trouble_changes_nothing(troubled_catalog: TroubledCatalog) -> None:
    with pytest.raises(requests.HTTPError):
        troubled_catalog.have_troubles("storm")
    assert troubled_catalog.troubles() == {}
    assert post(troubled_catalog, table("a")).status_code == 200


def test_a_body_without_a_content_type_is_accepted(troubled_catalog: TroubledCatalog) -> None:
    """`curl -H 'Authorization: Bearer local' URL -d BODY` sends it as a form."""
    headers = {"Authorization": f"Bearer {troubled_catalog.token}", "Content-Type": "application/x-www-form-urlencoded"}
    body = '{"troubles": ["lost:every=4,on=writes,seconds=60"]}'
    answer = requests.post(f"{troubled_catalog.url}/admin/troubles", data=body, headers=headers, timeout=60)
    assert answer.json()["troubles"][0]["trouble"] == "lost:every=4,on=writes,seconds=60.0"
