"""docs/contribute/extending.md and docs/concepts/naming.md: their instructions are followed and run in a
copy of the project.
"""

import ast
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from shared.naming.names import canonical
from shared.naming.user_rules import parse_names
from tests.support.naming_cases import Case

ROOT = Path(__file__).parents[3]
DATABASES = "shared/naming/stores/databases.py"
NAMING, SECRETS = "tests/shared/naming/test_naming.py", "tests/shared/test_secrets.py"


def _blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs" / page).read_text(), re.DOTALL)


def _insert(file: Path, anchor: str, text: str) -> None:
    """Put the text into the file, unless it is there already."""
    content = file.read_text()
    assert anchor in content
    if text not in content:
        file.write_text(content.replace(anchor, text + anchor, 1))


@pytest.fixture
def extended(tmp_path: Path) -> Path:
    """A copy of the core and of two test modules, in which the steps of the page were followed."""
    store, row, case, secret = _blocks("contribute/extending.md", "python")
    for room in ("naming", "errors.py", "secrets.py", "versions.py", "__init__.py"):
        source = ROOT / "shared" / room
        if source.is_dir():
            shutil.copytree(source, tmp_path / "shared" / room, ignore=shutil.ignore_patterns("__pycache__"))
        elif source.exists():
            shutil.copy(source, tmp_path / "shared" / room)
    databases = tmp_path / DATABASES
    _insert(databases, "STORES: tuple[StoreFamily, ...] = (\n", store)
    _insert(databases, '    StoreFamily(schemes=("mysql",)', row)
    for module in (NAMING, SECRETS, "tests/support/naming_cases.py", "tests/support/naming_specification.py"):
        (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / module, tmp_path / module)
    _insert(tmp_path / NAMING, "    # --- stores without a rule\n", case)
    _insert(tmp_path / SECRETS, '    (("dbfs", "/t"), ', secret)
    return tmp_path


PROGRAM = """
import json, sys
from shared.naming.names import canonical
from shared.naming.names import BUILT_IN
for line in sys.stdin:
    identity = canonical(*json.loads(line))
    best = BUILT_IN.name(identity).best
    print(json.dumps([identity.namespace, identity.name, best.rule, best.type, best.qualified_name]))
"""


def test_after_the_steps_of_the_page_the_tests_pass(extended: Path) -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib"]
    arguments = ["-o", "pythonpath=.", "-k", "vertica or case"]
    outcome = subprocess.run(
        [*command, *arguments, NAMING, SECRETS], capture_output=True, check=False, cwd=extended, text=True
    )
    assert outcome.returncode == 0, outcome.stdout


def test_the_pages_store_gives_its_golden_pair(extended: Path) -> None:
    case = _case(_blocks("contribute/extending.md", "python")[2])
    lines = "\n".join(json.dumps(spelling) for spelling in case.spellings)
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=lines, capture_output=True, check=True, cwd=extended, text=True
    )
    named = [json.loads(line) for line in answer.stdout.splitlines()]
    assert named == [["vertica://h:5433", "shop.public.orders", case.rule, case.type, case.to]] * len(case.spellings)
    assert len(case.spellings) > 1


def test_a_store_for_a_scheme_of_other_file_systems_comes_before_them(extended: Path) -> None:
    """The page's store, for a scheme that `files` has already."""
    module = extended / DATABASES
    module.write_text(module.read_text().replace("vertica", "alluxio"))
    answer = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps(["alluxio://H", "shop.public.orders"]),
        capture_output=True,
        check=True,
        cwd=extended,
        text=True,
    )
    assert json.loads(answer.stdout)[2:] == ["alluxio-table", "alluxio_table", "alluxio://h/shop/public/orders"]


def test_a_store_family_hidden_by_an_earlier_one_is_refused_at_import(extended: Path) -> None:
    module = extended / DATABASES
    module.write_text(module.read_text().replace('"vertica"', '"gs"'))
    command = [sys.executable, "-c", "import shared.naming.names"]
    refused = subprocess.run(command, capture_output=True, check=False, cwd=extended, text=True)
    assert refused.returncode != 0
    assert "The store family of vertica-table is never asked for gs: the family of gcs-path" in refused.stderr


def _case(entry: str) -> Case:
    """The entry of the table of cases, by its parts: nothing of the page is run in this process."""
    call = next(node for node in ast.walk(ast.parse(f"{{{entry}}}")) if isinstance(node, ast.Call))
    return Case(**{keyword.arg or "": ast.literal_eval(keyword.value) for keyword in call.keywords})


def test_the_pages_file_of_names_is_right() -> None:
    """Its own example is checked while it is read."""
    thrift, text = _blocks("concepts/naming.md", "toml")
    named = parse_names(thrift, "concepts/naming.md").name(canonical("spark://thrift:10000", "shop.orders"))
    assert named.best.key == ("hive_table", "shop.orders@metastore")
    names = parse_names(text, "concepts/naming.md")
    assert [rule.name for rule in names.rules] == ["minio"]
    named = names.name(canonical("abfss://sales@onelake.dfs.fabric.microsoft.com", "shop.Lakehouse/Tables/t"))
    assert "0f3b8a52" in named.best.qualified_name
    assert "9d2c4e10" in named.best.qualified_name


def test_the_modules_own_example_is_right() -> None:
    import shared.naming.user_rules as module  # noqa: PLC0415 - its docstring is the subject

    text = re.sub(r"^    ", "", (module.__doc__ or "").partition("\n    [[rules]]")[2], flags=re.MULTILINE)
    assert parse_names(f"[[rules]]{text}", "extension.py").rules[0].name == "minio"
