"""The wheel: one package with nothing else at the top of site-packages, which works in an environment of its own."""

import json
import subprocess
import sys
import tomllib
import zipfile
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from throughline.plan_jar import plan_jar
from throughline.project import ROOT
from throughline.wheel import rewritten

EVENTS = ROOT / "tests/golden/spark35-ol1.53/customer_master/events.jsonl"
NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def build(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("throughline-*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a new environment that has the wheel and its dependencies, in the pinned versions."""
    place = tmp_path_factory.mktemp("env")
    uv = str(Path(sys.executable).with_name("uv"))
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, str(place)], check=True)
    pins = place / "pins.txt"
    lines = (ROOT / "requirements/dev.txt").read_text().splitlines()
    pins.write_text("\n".join(line.partition(" ")[0] for line in lines if line[:1].isalnum()))
    command = [uv, "pip", "install", "-q", "--python", str(place), "--constraint", str(pins), str(wheel)]
    subprocess.run(command, check=True)
    return place / "bin"


def test_the_wheel_adds_one_package_at_the_top_of_site_packages(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"throughline", "throughline-0.1.0.dist-info"}
    assert {"throughline/py.typed", "throughline/shared/model.py", "throughline/lake/pipeline.py"} <= set(names)
    assert not [name for name in names if name.endswith((".pyc", ".java", "throughline/wheel.py"))]


def test_the_wheel_contains_the_jar_of_the_plan_listener(installed: Path, tmp_path: Path) -> None:
    """Where there is neither a compiler nor Spark."""
    command = [str(installed / "throughline"), "config", "synapse", "--url", "https://x.example", "--output", "out"]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env={"PATH": ""})
    assert (tmp_path / "out" / "throughline-plan.jar").read_bytes() == plan_jar().read_bytes()


def test_two_builds_of_the_wheel_are_equal(wheel: Path, tmp_path: Path) -> None:
    assert build(tmp_path).read_bytes() == wheel.read_bytes()


def test_the_command_works_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "throughline"), "translate", str(EVENTS), "--json"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    own_outcome = subprocess.run(
        [sys.executable, "-m", "throughline", *command[1:]], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert json.loads(outcome.stdout)["processes"]
    assert outcome.stdout == own_outcome.stdout


def test_the_library_works_in_an_empty_environment(installed: Path, tmp_path: Path) -> None:
    program = (
        "import sys, throughline\n"
        f"print(len(throughline.translate(open({str(EVENTS)!r}, 'rb')).processes))\n"
        "print(sorted({'shared', 'tests'} & set(sys.modules)))"
    )
    command = [str(installed / "python"), "-I", "-W", "error", "-c", program]
    outcome = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    count, general = outcome.stdout.splitlines()
    assert int(count) > 0
    assert general == "[]"


def test_a_command_with_missing_dependencies_names_the_extra(installed: Path, tmp_path: Path) -> None:
    command = [str(installed / "throughline"), "lake", "run", "--lake", "lake", str(EVENTS)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert outcome.returncode == 2
    assert "pip install 'PATH_OF_WHEEL[lake]'" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_a_command_without_its_extra_names_the_extra(installed: Path, tmp_path: Path) -> None:
    outcome = subprocess.run(
        [str(installed / "throughline"), "mcp"], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert (outcome.returncode, outcome.stderr) == (
        2,
        "error: this command needs anyio: run pip install 'throughline[mcp]'\n",
    )


def test_only_imports_and_module_names_are_rewritten() -> None:
    source = (
        'from shared.model import Asset\nfrom sharedness import x\nname = "é", "shared.model", "shared/model.py"\n'
        "def f():\n    from shared import errors\n"
    )
    assert rewritten(source, {"shared", "shared.model"}) == (
        "from throughline.shared.model import Asset\nfrom sharedness import x\n"
        'name = "é", "throughline.shared.model", "shared/model.py"\n'
        "def f():\n    from throughline.shared import errors\n"
    )
    with pytest.raises(ValueError, match="line 1"):
        rewritten("import shared.model", set())


def test_pinned_versions_are_within_the_ranges_of_the_wheel() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = {
        requirement.name: requirement.specifier
        for requirement in map(
            Requirement, [*project["dependencies"], *chain(*project["optional-dependencies"].values())]
        )
    }
    pins = {}
    for name in ("functions", "dev"):
        for line in (ROOT / f"requirements/{name}.in").read_text().splitlines():
            if "==" in line:
                pin = Requirement(line.partition("#")[0].strip())
                pins[pin.name] = next(iter(pin.specifier)).version
    for name, version_range in ranges.items():
        if name != "throughline":
            assert version_range.contains(pins[name], prereleases=True), name
    functions = {
        line.partition("==")[0]
        for line in (ROOT / "requirements/functions.in").read_text().splitlines()
        if "==" in line
    }
    assert functions <= set(ranges)


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_imports_of_a_notebook_work(notebook: Path) -> None:
    cells = json.loads(notebook.read_text())["cells"]
    lines = [line for cell in cells if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()]
    imports = [line for line in lines if line.startswith("from throughline")]
    assert len(imports) >= 2
    for line in imports:
        exec(line, {})  # noqa: S102 - our own examples
