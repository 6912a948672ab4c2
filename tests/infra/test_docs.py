"""The pages about Azure: our commands parse as written, parameters are the template's, workflows run real targets.

tests/test_docs.py checks all pages' links, files, and that each command is tested.
"""

import re
import shlex
from pathlib import Path

import pytest
import typer.main
from typer.core import TyperGroup

from tests.infra.bicep import read
from throughline.cli.main import app
from throughline.cli.platforms.table import PLATFORMS

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    ROOT / "docs" / f"{name}.md"
    for name in (
        "operate/deploy",
        "get-started/synapse",
        "get-started/databricks",
        "get-started/fabric",
        "reference/unproven",
        "contribute/releasing",
    )
)
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def blocks(page: Path) -> list[str]:
    """Return the commands of a page's blocks, one string each, with continued lines joined."""
    code_blocks = re.findall(r"^ *```\n(.*?)^ *```", page.read_text(), re.MULTILINE | re.DOTALL)
    return [line.strip() for block in code_blocks for line in block.replace("\\\n", " ").splitlines()]


def commands(page: Path) -> list[list[str]]:
    return [shlex.split(line)[1:] for line in blocks(page) if line.startswith("throughline ")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_our_commands_exist_with_these_options(page: Path) -> None:
    root = typer.main.get_command(app)
    assert isinstance(root, TyperGroup)
    for name, *arguments in commands(page):
        command = root.commands[name]
        command.make_context(name, list(arguments))  # parses, and raises for unknown parts


def test_each_platform_has_its_command_on_a_page() -> None:
    platforms = {arguments[1] for page in PAGES for arguments in commands(page) if arguments[0] == "config"}
    assert platforms == set(PLATFORMS) - {"local"}


def test_the_pages_on_azure_describe_every_parameter_once_and_no_other() -> None:
    tables = [
        (ROOT / f"docs/operate/{page}.md").read_text().partition("| parameter |")[2].partition("\n\n")[0]
        for page in ("deploy", "other-shapes", "closed-networks")
    ]
    rows = [line.split("|")[1] for table in tables for line in table.splitlines()[2:]]
    described = re.findall(r"`(\w+)`", "\n".join(rows))
    assert "`catalogEndpoint`" in tables[0], "besides the account that it is derived from"
    assert sorted([*described, "catalogEndpoint"]) == sorted(read(ROOT / "infra/main.bicep").params)


def test_dependabot_checks_every_folder_with_pinned_versions() -> None:
    """By Dependabot, https://docs.github.com/code-security/dependabot/working-with-dependabot/dependabot-options-reference."""
    folders = set(
        re.findall(r"^\s+(?:- |directory: )(/\S*)$", (ROOT / ".github/dependabot.yml").read_text(), re.MULTILINE)
    )
    pinned = {
        path.parent
        for path in (
            *ROOT.glob("*.txt"),
            *ROOT.glob("requirements/*.txt"),
            *ROOT.glob("throughline/local/*/**/*.txt"),
            *ROOT.glob("tests/capture/**/*.txt"),
        )
        if "==" in path.read_text()
    } | {
        path.parent
        for path in (*ROOT.glob("throughline/local/*/package.json"), *ROOT.glob("tests/infra/*/package.json"))
    }
    assert {ROOT / place.strip("/") for place in folders} - {ROOT} == pinned - {ROOT}
    assert "/" in folders


def test_the_workflow_runs_targets_that_exist() -> None:
    workflow = (ROOT / ".github/workflows/test.yml").read_text()
    assert set(re.findall(r"\bmake (\w+)", workflow)) == {"setup", "check", "test", "package"}
    assert set(re.findall(r"\bmake (\w+)", workflow)) <= TARGETS
    assert "permissions:\n  contents: read" in workflow
