"""Every command on a page exists with these options, and a test runs it.

If it can't be run here, as Azure's commands, the page says that it is untested.
"""

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main
from ruamel.yaml import YAML

from throughline.cli.main import app

ROOT = Path(__file__).parents[1]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    ROOT / "tests/bench/README.md",
    ROOT / "tests/golden/README.md",
)
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
THROUGHLINE = re.compile(r"throughline ")

PROOFS: dict[str, str] = {
    "throughline canary": "tests/e2e/test_doctor.py",
    "throughline check": "tests/cli/test_check.py",
    "throughline classify": "tests/cli/test_classify.py",
    "throughline contract check": "tests/throughline/contracts/test_checking.py",
    "throughline link mlflow": "tests/throughline/models/test_mlflow_link.py",
    "throughline product apply": "tests/throughline/products/test_registration.py",
    "throughline config": "tests/e2e/test_platforms.py",
    "throughline deadletter": "tests/cli/test_deadletter.py",
    "throughline demo": "tests/e2e/test_demo.py",
    "throughline details": "tests/cli/test_details.py",
    "throughline doctor": "tests/e2e/test_doctor.py",
    "throughline events": "tests/cli/test_run_and_events.py",
    "throughline explain": "tests/cli/test_explain.py",
    "throughline impact": "tests/cli/test_impact.py",
    "throughline import purview": "tests/throughline/accelerator/test_leftovers.py",
    "throughline import dbt": "tests/throughline/dbt/test_dbt_files.py",
    "throughline lake": "tests/lake/tables/test_lake.py",
    "throughline prove": "tests/e2e/test_prove.py",
    "throughline publish": "tests/cli/test_publish.py",
    "throughline purge": "tests/cli/test_control.py",
    "throughline mcp": "tests/cli/test_mcp.py",
    "throughline purview attributes": "tests/cli/test_purview_commands.py",
    "throughline purview grant": "tests/cli/test_purview_commands.py",
    "throughline reconcile": "tests/cli/test_reconcile.py",
    "throughline replay": "tests/cli/test_deadletter.py",
    "throughline report": "tests/throughline/evidence/test_report.py",
    "throughline retire": "tests/cli/test_control.py",
    "throughline run": "tests/cli/test_run_and_events.py",
    "throughline search": "tests/cli/test_search.py",
    "throughline send": "tests/e2e/test_world.py",
    "throughline shadow": "tests/cli/test_control.py",
    "throughline show": "tests/e2e/test_world.py",
    "throughline status": "tests/e2e/test_world.py",
    "throughline translate": "tests/cli/test_translate.py",
    "throughline view": "tests/cli/test_view.py",
    "throughline types": "tests/cli/test_types.py",
    "throughline up": "tests/e2e/test_demo.py",
    "throughline forward": "tests/cli/test_forward.py",
    "throughline watch": "tests/cli/test_watch.py",
    "throughline verify": "tests/cli/test_verify.py",
    "make atlas": "tests/local/test_atlas.py",
    "make check": ".github/workflows/test.yml",
    "make demo": "tests/e2e/test_demo.py",
    "make faults": "tests/faults/test_hunt.py",
    "make faults-long": "tests/faults/test_hunt.py",
    "make package": "tests/throughline/test_package.py",
    "make jar": "tests/spark_listener/test_plan_jar.py",
    "make setup": ".github/workflows/test.yml",
    "make soak": "tests/e2e/test_soak.py",
    "make test": ".github/workflows/test.yml",
    "make up": "tests/e2e/test_demo.py",
    "python -m tests.bench": "tests/test_bench.py",
    "python -m tests.synth": "tests/test_synth.py",
    "python -m tests.bench.beside": "tests/test_bench.py",
    "python -m tests.bench.costs": "tests/test_bench.py",
    "python -m tests.bench.day": "tests/test_bench.py",
    "python -m tests.bench.latency": "tests/bench/latency.py",
    "python -m tests.bench.logs": "tests/test_bench_logs.py",
    "python -m tests.bench.month": "tests/test_bench.py",
    "python -m tests.bench.profiling": "tests/bench/profiling.py",
    "python -m tests.bench.publish_missing": "tests/test_bench.py",
    "python -m tests.bench.runtime_calls": "tests/test_runtime_calls.py",
    "python -m throughline.local.azurite": "tests/local/test_azurite.py",
    "python -m throughline.local.catalog": "tests/local/catalog/test_server.py",
    "python -m throughline.local.event_grid": "tests/local/test_event_grid_command.py",
    "python -m tests.consumer_scenarios": "tests/consumer_scenarios/test_consumer_scenarios.py",
    "python -m tests.faults.interleavings": "tests/faults/test_exploring.py",
    "python -m tests.faults.mutation": "tests/faults/test_mutation.py",
    "python -m tests.faults.planted": "tests/faults/test_planted.py",
    "python -m tests.e2e.marquez": "tests/e2e/marquez.py",
    "python -m tests.faults.forwarding": "tests/faults/test_forwarding.py",
    "python -m tests.faults.watching": "tests/faults/test_watching.py",
    "python -m tests.faults": "tests/faults/test_hunt.py",
    "python -m tests.hostile": "tests/hostile/test_hostile_catalog.py",
    "python -m tests.names": "tests/test_names.py",
    "python -m tests.plan_truth.tpcds": "tests/plan_truth/test_comparison.py",
    "python -m tests.plan_truth.tracer": "tests/plan_truth/test_tracer.py",
    "python -m tests.soak": "tests/e2e/test_soak.py",
    "python -m tests.support.troubled_catalog": "tests/local/catalog/test_troubles.py",
    "python3 -m throughline.cli.deploy": "tests/infra/test_deploy.py",
    "curl -H": "tests/local/catalog/test_troubles.py",
    "curl --get": "tests/local/test_lineage_function.py",
    "pytest tests/shared/naming": "tests/shared/naming/test_extending.py",
    "func start": "tests/e2e/test_func.py",
    "spark-submit --py-files": "tests/lake/test_submit.py",
    "spark-submit --properties-file": "tests/e2e/test_platforms.py",
}
"""The test of each command: the file that runs it, or the functions behind it."""

READ_ONLY = ("az ", "azd ", "gh ", "%%configure")
"""Programs that are not available here: the page must say so, by a link to unproven.md."""

PLAIN = (
    "git ",
    "grep ",
    "cd ",
    "cp ",
    "mkdir ",
    "source ",
    "export ",
    "for name in ",
    "for role in ",
    "done",
    "printf ",
    "python -c ",
)
"""Commands of a shell."""

SETTING = re.compile(r"[A-Za-z_]+=\S*")

NO_COMMANDS: dict[str, str] = {
    "Spark + OpenLineage": "a drawing",
    "POST /api/v1/lineage": "a drawing",
    "events/2026/": "names of blobs",
    "event run=": "lines of a log",
    "Operations: merge": "a description",
    "Last written: ": "a description",
}
"""The beginnings of blocks that are not commands."""


CREATED_BY_READER = frozenset(f"infra/{name}.bicepparam" for name in ("lineage", "staging", "production"))
"""Files whose creation a page describes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Typed:
    """A command line, and its page."""

    page: Path
    line: str


def blocks(page: Path) -> Iterator[str]:
    """Yield the page's blocks without a language, also those in lists, with continued lines joined."""
    for language, block in re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(), re.MULTILINE | re.DOTALL):
        if not language and not block.lstrip().startswith(tuple(NO_COMMANDS)):
            yield re.sub(r"\\\n\s*|\|\n\s*(?=az )", " ", block)


def lines(page: Path) -> Iterator[str]:
    """Yield the command lines, without comments and prefixes."""
    for block in blocks(page):
        if block.startswith("%%configure"):
            yield block
            continue
        for raw_line in block.splitlines():
            line = re.split(r"\s+#|\s{3,}", raw_line.strip())[0]
            for part in line.split(" && "):
                yield bare(part)


def bare(line: str) -> str:
    """Return a command without the settings before it."""
    return re.sub(r"^(?:[A-Z_]+=\S+ )+", "", line).removesuffix(" &")


TYPED = [Typed(page=page, line=line) for page in PAGES for line in lines(page)]


def proof_of(line: str) -> str | None:
    begins = [command for command in PROOFS if f"{line} ".startswith(f"{command} ")]
    return max(begins, key=len, default=None)


def test_every_command_line_is_tested_or_marked_as_untested() -> None:
    unknown = [
        f"{typed_command.page.name}: {typed_command.line}"
        for typed_command in TYPED
        if not (
            proof_of(typed_command.line)
            or typed_command.line.startswith((*READ_ONLY, *PLAIN))
            or SETTING.fullmatch(typed_command.line)
        )
    ]
    assert unknown == []


def test_every_listed_proof_exists_and_is_used() -> None:
    assert [proof_path for proof_path in PROOFS.values() if not (ROOT / proof_path).is_file()] == []
    inline = [code for page in PAGES for code in re.findall(r"`([^`\n]+)`", page.read_text())]
    used_proofs = {proof_of(bare(line)) for line in (*(typed_command.line for typed_command in TYPED), *inline)}
    assert set(PROOFS) - used_proofs == set()


@pytest.mark.parametrize("command", [command for command, proof_path in PROOFS.items() if proof_path.endswith(".yml")])
def test_the_workflow_that_proves_a_command_runs_it(command: str) -> None:
    steps = YAML(typ="safe", pure=True).load((ROOT / PROOFS[command]).read_text())["jobs"].values()
    run = [line.strip() for job in steps for step in job["steps"] for line in step.get("run", "").splitlines()]
    assert command in run


FOLLOWED = re.findall(
    r"^\| \d\. [^|]+ \| `([^`]+)` \| ([^|]+) \| ([^|]*) \|$",
    (ROOT / "docs/concepts/architecture.md").read_text(),
    re.MULTILINE,
)


def test_one_event_is_followed_through_at_most_eight_files() -> None:
    assert 0 < len({file for file, _, _ in FOLLOWED}) == len(FOLLOWED) <= 8


@pytest.mark.parametrize(("file", "read_names", "called"), FOLLOWED, ids=[file for file, _, _ in FOLLOWED])
def test_files_on_the_way_of_an_event_have_the_names_on_the_page(file: str, read_names: str, called: str) -> None:
    tree = ast.parse((ROOT / file).read_text())
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(re.findall(r"`(\w+)`", read_names)) <= defined
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    names = {callee.id if isinstance(callee, ast.Name) else getattr(callee, "attr", "") for callee in calls}
    assert set(re.findall(r"`(\w+)`", called)) <= names


@pytest.mark.parametrize("command", [command for command in PROOFS if command.startswith("throughline ")])
def test_the_file_that_proves_a_command_names_it(command: str) -> None:
    text = (ROOT / PROOFS[command]).read_text()
    name = command.removeprefix("throughline ")
    assert re.search(rf"\b{name}\b", text)


def test_a_page_with_untested_commands_links_to_the_list_of_them() -> None:
    pages = {typed_command.page for typed_command in TYPED if typed_command.line.startswith(READ_ONLY)}
    assert pages
    assert [page.name for page in pages if "unproven.md)" not in page.read_text()] == []


def ours() -> Iterator[Typed]:
    """Yield our commands, in blocks and in sentences."""
    for page in PAGES:
        inline = re.findall(r"`([^`\n]+)`", page.read_text())
        for line in (*lines(page), *inline):
            if THROUGHLINE.match(line) and re.match(r"[a-z]", THROUGHLINE.sub("", line)):
                yield Typed(page=page, line=THROUGHLINE.sub("", line))


@cache
def _program() -> Any:
    return typer.main.get_command(app)


@pytest.mark.parametrize(
    "each", list(ours()), ids=lambda typed_command: f"{typed_command.page.stem}: {typed_command.line}"
)
def test_each_of_our_commands_on_a_page_exists_with_its_options(each: Typed) -> None:
    """Also a command's syntax with optional parts in brackets."""
    root = _program()
    arguments = shlex.split(re.sub(r"[][|…,]", " ", each.line.replace("'", "")))
    while arguments and hasattr(root, "commands"):
        assert arguments[0] in root.commands, f"there is no command {arguments[0]}"
        root = root.commands[arguments.pop(0)]
    known_options = {name for parameter in root.params for name in (*parameter.opts, *parameter.secondary_opts)} | {
        "--help"
    }
    assert [
        argument
        for argument in arguments
        if argument.startswith("--") and argument.partition("=")[0] not in known_options
    ] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_targets_files_and_links_on_a_page_exist(page: Path) -> None:
    text = page.read_text()
    assert set(re.findall(r"`make ([a-z-]+)", text)) <= TARGETS
    assert {line.split()[1] for line in lines(page) if line.startswith("make ")} <= TARGETS
    assert broken_links(page) == []
    named = re.findall(r"`((?:infra|tests|shared|throughline|examples)/[\w./-]+\.\w+)`", text)
    assert [name for name in named if name not in CREATED_BY_READER and not list(ROOT.glob(name))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_table_has_its_rule_below_the_head_so_that_it_renders(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    tables = re.findall(r"(?:^ *\|.*\n)+", text, re.MULTILINE)
    assert [table for table in tables if not re.match(r" *\|.*\n *\|[-:| ]+\|\n", table)] == []


def test_links_in_the_changelog_exist() -> None:
    """Commands and files in it may have been removed since."""
    assert broken_links(ROOT / "CHANGELOG.md") == []


def broken_links(page: Path) -> list[str]:
    """Yield the links to files or headings that do not exist; web addresses are not followed."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        place, _, anchor = link.partition("#")
        target = (page.parent / place) if place else page
        if "://" in link:
            continue
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    return broken


def anchors(page: Path) -> set[str]:
    """Return GitHub's anchors of a page's headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_index_links_to_every_page() -> None:
    text = (ROOT / "docs/README.md").read_text()
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    of_another = ("decisions/", "openlineage-consumer/scenarios/")  # these have their own index or page
    other_pages = {page for page in pages if not any(part in page for part in of_another)}
    assert {page for page in other_pages if f"({page})" not in text} == set()


def test_the_readme_fits_on_two_screens() -> None:
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 80
    assert "(docs/README.md)" in text


def test_the_glossary_is_short_and_sorted() -> None:
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", (ROOT / "docs/glossary.md").read_text(), re.MULTILINE)[1:]
    terms = [term for term, _ in rows]
    assert 40 <= len(terms) <= 70
    assert terms == sorted(set(terms))
    assert all(meaning.endswith((".", ")")) for _, meaning in rows)
