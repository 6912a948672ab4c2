"""docs/operate/recovery.md shows every rule of doctor, word for word."""

from pathlib import Path

import pytest

from cli.checks.rules import BY_CODE, SECTIONS, as_table

PAGE = (Path(__file__).parents[3] / "docs/operate/recovery.md").read_text()


@pytest.mark.parametrize("title", SECTIONS)
def test_the_page_has_the_table_of_each_section(title: str) -> None:
    _, _, after = PAGE.partition(f"\n### {title}\n\n")
    assert after.partition("\n\n")[0] == as_table(SECTIONS[title])


def test_a_command_on_the_page_has_capitals_for_what_is_filled_in() -> None:
    assert BY_CODE["app-stopped"].shown == "az functionapp start --resource-group GROUP --name APP"
    assert BY_CODE["host-network"].shown.endswith('--query "{public:publicNetworkAccess,rules:networkRuleSet}"')
    assert [rule.code for rule in BY_CODE.values() if "|" in f"{rule.symptom}{rule.means}{rule.shown}"] == []


@pytest.mark.parametrize("symptom", ["Host.Startup[515]", "503 at `/`", "every half minute", "Receipts that pile up"])
def test_what_an_operator_sees_first_leads_to_its_rule(symptom: str) -> None:
    bullets = PAGE.partition("## What doctor names")[2].partition("### ")[0].split("\n- ")
    (bullet,) = [each for each in bullets if symptom in each.partition(":")[0]]
    assert any(f"`{code}`" in bullet for code in BY_CODE)
