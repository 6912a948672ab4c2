"""docs/reference/cli*.md and unproven.md equal the commands' help, doctor's rules and the claims."""

import pytest

from tests.pages import FOLDER, pages
from throughline.cli.checks.findings import BY_CODE

PAGES = pages()


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_up_to_date(name: str) -> None:
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name], "make reference"


def test_there_is_a_page_for_each_group_and_no_other() -> None:
    assert {path.name for path in FOLDER.glob("cli*.md")} == set(PAGES) - {"unproven.md"}


@pytest.mark.parametrize("name", [page for page in PAGES if page not in {"cli-findings.md", "unproven.md"}])
def test_a_page_fits_80_columns_and_contains_no_path_of_this_machine(name: str) -> None:
    long = [line for line in PAGES[name].splitlines() if len(line) > 80 and "](" not in line]
    assert long == []
    assert str(FOLDER.parents[1]) not in PAGES[name]


def test_commands_on_the_page_have_placeholders_in_capitals() -> None:
    assert BY_CODE["app-stopped"].shown == "az functionapp start --resource-group GROUP --name APP"
    assert BY_CODE["host-network"].shown.endswith('--query "{public:publicNetworkAccess,rules:networkRuleSet}"')
    assert [rule.code for rule in BY_CODE.values() if "|" in f"{rule.symptom}{rule.means}{rule.shown}"] == []


@pytest.mark.parametrize("symptom", ["Host.Startup[515]", "503 at `/`", "every half minute", "Messages that pile up"])
def test_each_symptom_on_the_page_names_its_rule(symptom: str) -> None:
    bullets = PAGES["cli-findings.md"].partition("# What doctor finds")[2].partition("### ")[0].split("\n- ")
    (bullet,) = [bullet for bullet in bullets if symptom in bullet.partition(":")[0]]
    assert any(f"`{code}`" in bullet for code in BY_CODE)
