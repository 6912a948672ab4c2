"""Files of parameters: that of azd, and those that the pages show, compiled and evaluated."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.infra.compiled.conftest import ALWAYS, VARIANTS
from tests.infra.snapshots import INFRA, Snapshot, snapshot_of

ROOT = INFRA.parent
AZD = {"AZURE_ENV_NAME": "lineage", "AZURE_LOCATION": "westeurope", "PURVIEW_ACCOUNT_NAME": "acme"}
PAGES = ("deploy", "closed-networks", "security", "lineage-app", "canary")


def test_azd_s_file_without_variables_gives_the_template_s_defaults(
    variant: Callable[[str], Snapshot], tmp_path: Path
) -> None:
    infra = shutil.copytree(INFRA, tmp_path / "infra")
    plain = snapshot_of(infra / "main.bicepparam", {**os.environ, **AZD})
    assert plain == variant("default")
    lists = {"THROUGHLINE_TAGS": '{"costCenter":"42"}', "THROUGHLINE_ACTION_GROUP_IDS": '["/g"]'}
    snapshot = snapshot_of(infra / "main.bicepparam", {**os.environ, **AZD, **lists, "THROUGHLINE_PLAN": "flex"})
    (receiver, *_) = snapshot.of("Microsoft.Web/sites")
    assert receiver["tags"]["costCenter"] == "42"
    assert receiver["properties"]["functionAppConfig"]["scaleAndConcurrency"]["maximumInstanceCount"] == 40


def test_step_1_registers_the_provider_of_every_resource(variant: Callable[[str], Snapshot]) -> None:
    """Microsoft.App is that of the subnet's delegation on Flex Consumption; Authorization is always registered."""
    page = (ROOT / "docs/operate/deploy.md").read_text()
    (line,) = re.findall(r"^for name in (.*); do$\n  az provider register --wait", page, re.MULTILINE)
    kinds = {resource["type"] for name in VARIANTS for resource in variant(name).resources}
    namespaces = {kind.partition("/")[0].rpartition(".")[2].lower() for kind in kinds} - {"authorization"}
    assert namespaces | {"app", "keyvault"} == {name.lower() for name in line.split()}


def files() -> dict[str, str]:
    """The files of parameters on the pages."""
    blocks = {}
    for page in PAGES:
        text = (ROOT / f"docs/operate/{page}.md").read_text()
        for number, block in enumerate(re.findall(r"^ *```bicep\n(.*?)^ *```", text, re.MULTILINE | re.DOTALL), 1):
            blocks[f"{page} {number}"] = block
    return blocks


@pytest.mark.parametrize("name", files())
def test_a_file_on_a_page_is_valid(name: str, tmp_path: Path) -> None:
    infra = shutil.copytree(INFRA, tmp_path / "infra")
    page_text = files()[name]
    begin = "" if page_text.startswith("using") else "using 'main.bicep'\n"
    constant_lines = "".join(
        f"param {key} = {json.dumps(value).replace(chr(34), chr(39))}\n" for key, value in ALWAYS.items()
    )
    (infra / "page.bicepparam").write_text(begin + page_text if begin == "" else begin + constant_lines + page_text)
    assert snapshot_of(infra / "page.bicepparam", dict(os.environ)).diagnostics == ()
