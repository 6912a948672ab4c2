"""The archive for Azure: its content and its completeness."""

import importlib.util
import json
import os
import re
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from shared.versions import PACKAGE_FILE
from tests.local.hosting import wait_for
from tests.plugins.collector import Collected
from throughline.cli.deploy.packaging import read_package
from throughline.package import (
    DELIVERIES,
    LINEAGE,
    NAMES,
    PACKAGES,
    WATCH,
    Package,
    PackageError,
    build,
    delivered_by,
)
from throughline.sbom import sbom

ROOT = Path(__file__).parents[2]
LARGEST_ARCHIVE = 22_000_000
LONGEST_IMPORT = 3.2  # times that of azure.functions alone, on top of it: 320 ms where that takes 100

OWN_NAMES = '[databricks.metastores]\n"adb-1.2.azuredatabricks.net" = "0f3b8a52-64c1-4a0b-9d8e-2f6f2a0c7b11"\n'

IDENTITY = {
    "AzureWebJobsStorage__blobServiceUri": "https://stabc.blob.core.windows.net/",
    "AzureWebJobsStorage__tableServiceUri": "https://stabc.table.core.windows.net/",
    "AzureWebJobsStorage__clientId": "00000000-0000-0000-0000-000000000000",
    "THROUGHLINE_CATALOG_ENDPOINT": "https://acme.purview.azure.com/datamap/api/atlas/v2",
}


OF_LINEAGE = ("lineage_function/", "shared/serving/", "shared/bootstrap_lineage.py")
"""What only the app of the page and the API needs."""


def names(package: Package) -> set[str]:
    with zipfile.ZipFile(package.archive) as archive:
        return set(archive.namelist())


def alone(package: Package, statements: str) -> list[str]:
    """Return the command of a Python that has only the package; -S excludes all installed packages."""
    app = package.unpacked
    paths = f"import sys; sys.path[:0] = [{str(app / PACKAGES)!r}, {str(app)!r}]\n"
    return [sys.executable, "-S", "-c", paths + statements]


def run(package: Package, statements: str) -> str:
    """Return the output of statements in that Python."""
    outcome = subprocess.run(
        alone(package, statements),
        cwd=package.unpacked,
        env=IDENTITY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert outcome.returncode == 0, outcome.stderr
    return outcome.stdout


def test_the_package_stays_below_the_size_limit(package: Package) -> None:
    assert package.archive_size < LARGEST_ARCHIVE


def test_the_package_contains_only_the_files_that_azure_needs(package: Package) -> None:
    own_names = {name for name in names(package) if not name.startswith(f"{PACKAGES}/")}
    sources = {name for name in own_names if "__pycache__" not in name}
    expected = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("shared/**/*.py")}
    expected |= {path.relative_to(ROOT).as_posix() for path in ROOT.glob("*_function/*") if path.is_file()}
    expected = {name for name in expected if not name.startswith(OF_LINEAGE)}
    assert sources - {NAMES, WATCH} == expected | {"host.json", PACKAGE_FILE}
    installed = {name.removeprefix(f"{PACKAGES}/").partition("/")[0] for name in names(package) - own_names}
    assert {"azure", "pyapacheatlas", "msgspec", "sqlglot", "cryptography"} <= installed
    assert not {"pyspark", "pytest", "typer", "rich", "bin"} & installed
    assert not [name for name in names(package) if "/tests/" in name]


def test_libraries_in_the_package_keep_versions_plugins_and_licences(package: Package) -> None:
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    package_facts = json.loads(
        run(
            package,
            "import json\nfrom importlib.metadata import distributions, entry_points\n"
            "versions = {each.name.lower().replace('_', '-'): each.version for each in distributions()}\n"
            "print(json.dumps([versions, sorted(entry_points(group='opentelemetry_context').names)]))",
        )
    )
    assert package_facts == [pinned, ["contextvars_context"]]
    metadata_names = {name.rpartition("/")[2] for name in names(package) if ".dist-info/" in name}
    assert not {"RECORD", "WHEEL", "INSTALLER", "top_level.txt"} & metadata_names
    licensed = {name.split("/")[3] for name in names(package) if re.search(r"\.dist-info/(licenses/|LICEN[CS]E)", name)}
    assert len(licensed) == len(pinned)


def test_every_module_is_compiled_for_the_python_of_azure(package: Package) -> None:
    version = (ROOT / ".python-version").read_text().strip()
    tag = f"cpython-{version.replace('.', '')}"
    inside = names(package)
    for name in inside:
        if name.endswith(".py"):
            folder, _, file = name.rpartition("/")
            assert f"{folder}/__pycache__/{file.removesuffix('.py')}.{tag}.pyc" in inside
    extensions = [name for name in inside if name.endswith(".so")]
    assert extensions
    assert not [name for name in extensions if re.search(r"\.cpython-\d+", name) and f".{tag}-" not in name]


def test_compiled_files_are_used_whatever_the_file_times_of_their_sources(package: Package) -> None:
    """Azure mounts the archive with other file times: files checked by time would be compiled again."""
    module = package.unpacked / "shared/model.py"
    compiled = Path(importlib.util.cache_from_source(str(module))).read_bytes()
    assert int.from_bytes(compiled[4:8], "little") == 1  # unchecked, by hash (PEP 552)
    os.utime(module, (2_000_000_000, 2_000_000_000))
    output = run(package, "sys.dont_write_bytecode = False\nimport shared.model\nprint(shared.model.__cached__)")
    assert output.strip().endswith("model.cpython-311.pyc")
    assert Path(importlib.util.cache_from_source(str(module))).read_bytes() == compiled


def test_all_our_modules_can_be_imported_from_the_package_alone(package: Package) -> None:
    modules = sorted(
        path.relative_to(ROOT).as_posix().removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for folder in ("shared", *(path.parent.name for path in ROOT.glob("*/function.json")))
        for path in (ROOT / folder).rglob("*.py")
        if not path.relative_to(ROOT).as_posix().startswith(OF_LINEAGE)
    )
    output = run(
        package,
        f"import importlib\nfor name in {modules!r}: importlib.import_module(name)\n"
        "from shared.bootstrap import assemble\n"
        "from shared.bootstrap_receiver import receiver\nprint(type(receiver().storage).__name__)\n"
        "from shared.settings.reading import load\nprint(type(assemble(load(catalog=True)).catalog).__name__)",
    )
    assert output.split() == ["AzureStorage", "AtlasCatalog"]


def test_the_package_of_the_page_and_the_api_has_neither_parser_nor_catalog(tmp_path: Path) -> None:
    package = build(app=LINEAGE, folder=tmp_path)
    content = names(package)
    assert {"lineage_function/function.json", "viewer/index.html", "shared/lineage/graph.py"} <= content
    foreign_prefixes = ("parser_function/", "shared/translation/", "shared/catalog/", f"{PACKAGES}/sqlglot/", NAMES)
    assert [name for name in content if name.startswith(foreign_prefixes)] == []
    host = json.loads((package.unpacked / "host.json").read_text())
    assert host["extensions"] == {
        "http": {
            "routePrefix": "",
            "maxConcurrentRequests": 64,
            "maxOutstandingRequests": 200,
            "dynamicThrottlesEnabled": False,
        }
    }
    statements = (
        "import lineage_function\nfrom shared.bootstrap_lineage import lineage_service\nprint(lineage_service())"
    )
    assert "LineageService" in run(package, statements)
    assert package.archive_size < build(folder=tmp_path / "functions").archive_size


REPORT_AN_EVENT = """
from shared.adapters import telemetry_to
from shared.settings.reading import load
from shared.telemetry.port import EVENT
telemetry = telemetry_to(load(catalog=False).telemetry)
telemetry.report(EVENT, "r", state="kept")
input()
"""


def test_the_package_alone_sends_spans_and_metrics_to_application_insights(
    package: Package, collector: Collected
) -> None:
    """Microsoft's exporter reads the version of OpenTelemetry's SDK when the exporting thread imports it."""
    key = "InstrumentationKey=00000000-0000-0000-0000-000000000001"
    azure = {
        "THROUGHLINE_TELEMETRY": "azure",
        "APPLICATIONINSIGHTS_CONNECTION_STRING": f"{key};IngestionEndpoint={collector.url}/",
        "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL": "true",
        "APPLICATIONINSIGHTS_CONTROLPLANE_DISABLED": "true",
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    pipe = subprocess.PIPE
    with subprocess.Popen(
        alone(package, REPORT_AN_EVENT), cwd=package.unpacked, env=IDENTITY | azure, stdin=pipe, stderr=pipe
    ) as process:
        was_sent = any(wait_for(lambda: collector.bodies) for _ in range(4))  # its import takes a while
        _, output = process.communicate(b"\n")
    assert (was_sent, process.returncode, output) == (True, 0, b"")
    ((path, body),) = collector.bodies.items()
    assert path.endswith("/track")
    items = [item for part in body.replace(b"][", b"]\n[").splitlines() for item in json.loads(part)]
    (request,) = [item for item in items if item["data"]["baseType"] == "RequestData"]
    assert request["data"]["baseData"]["name"] == "receive"
    metric_names = {item["data"]["baseData"]["metrics"][0]["name"] for item in items if item is not request}
    assert metric_names >= {"throughline.events", "throughline.receive.duration"}


def test_the_receiver_s_cold_import_stays_within_its_bound(package: Package) -> None:
    """With an identity, as in Azure, and with the parts that the first event needs.

    The CPU time, the best of a few, is compared with that of `azure.functions` alone, so that the bound holds on any
    machine.
    """
    measured = "import time; began = time.process_time()\n{}\nprint(time.process_time() - began)"
    base_script = measured.format("import azure.functions")
    full_script = measured.format(
        "import receiver_function\nfrom shared.bootstrap_receiver import receiver\nreceiver()"
    )
    times = [(float(run(package, base_script)), float(run(package, full_script))) for _ in range(5)]
    least_alone, least_whole = map(min, zip(*times, strict=True))
    assert least_whole - least_alone < LONGEST_IMPORT * least_alone


@pytest.fixture(scope="module")
def with_names(tmp_path_factory: pytest.TempPathFactory) -> Package:
    """A package with a file of names, and the default delivery."""
    folder = tmp_path_factory.mktemp("names")
    (folder / "mine.toml").write_text(OWN_NAMES)
    return build(folder=folder / "made", names=folder / "mine.toml")


def test_a_valid_file_of_names_is_included(package: Package, with_names: Package) -> None:
    assert NAMES in names(with_names)
    assert names(with_names) - {NAMES} == names(package) - {NAMES}
    assert (with_names.unpacked / NAMES).read_text() == OWN_NAMES
    assert f"/home/site/wwwroot/{NAMES}" in (ROOT / "docs/operate/deploy.md").read_text()


def test_the_digest_names_the_content_and_not_the_build(package: Package, with_names: Package) -> None:
    assert (package.unpacked / PACKAGE_FILE).read_text() == package.digest
    assert package.digest != with_names.digest, "a file of names"


def test_an_invalid_file_of_names_or_rules_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("[databrick]\n")
    with pytest.raises(PackageError, match="there is no table databrick"):
        build(folder=tmp_path / "wrong", names=file)
    rules = tmp_path / "watch.toml"
    rules.write_text("[channel.team]\n", encoding="utf-8")
    with pytest.raises(PackageError, match=":1: there is no table channel"):
        build(folder=tmp_path / "wrong", watch=rules)


def test_the_parser_is_triggered_by_event_grid_or_by_the_queue_that_it_fills(package: Package) -> None:
    """Event Grid is the template's default. The repository's own file works for `func start` without it."""

    def config(content: bytes) -> dict[str, Any]:
        return dict(json.loads(content))

    source = ROOT / "parser_function/function.json"
    unpackaged = config(source.read_bytes())
    (trigger,) = unpackaged["bindings"]
    assert "source" not in trigger
    packaged = package.unpacked / "parser_function/function.json"
    assert config(packaged.read_bytes()) == unpackaged | {"bindings": [trigger | {"source": "EventGrid"}]}
    queued = config(delivered_by(source, "queue"))
    assert (queued["bindings"][0]["type"], queued["scriptFile"]) == ("queueTrigger", "from_queue.py")
    assert (package.unpacked / "parser_function/from_queue.py").is_file()
    assert read_package(package.archive).delivery == "eventGrid"
    main = (ROOT / "infra/main.bicep").read_text()
    assert f"@allowed({list(DELIVERIES)})\nparam delivery string = privateApps ? 'queue' : 'eventGrid'\n" in main


def test_tracebacks_show_the_paths_of_files_in_azure(package: Package) -> None:
    compiled = next(package.unpacked.glob("shared/__pycache__/errors.*.pyc")).read_bytes()
    assert b"/home/site/wwwroot/shared/errors.py" in compiled
    assert not re.search(rb"/(home|Users)/(?!site/)", compiled)
    assert str(ROOT).encode() not in compiled


def test_the_list_of_libraries_is_that_of_the_archive(package: Package) -> None:
    """Each pinned package with its version; the schema is CycloneDX's own; the same archive gives the same list."""
    text = sbom(package.archive)
    assert text == sbom(package.archive)
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    document = json.loads(text)
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "requirements.txt").read_text(), re.MULTILINE))
    listed = {canonical(component["name"]): component["version"] for component in document["components"]}
    assert listed == {canonical(name): version for name, version in pinned.items()}
    component = document["metadata"]["component"]
    assert component["hashes"] == [{"alg": "SHA-256", "content": sha256(package.archive.read_bytes()).hexdigest()}]


def test_a_file_that_is_no_package_gives_no_list(tmp_path: Path) -> None:
    wrong = tmp_path / "throughline.zip"
    wrong.write_text("nothing")
    outcome = subprocess.run(
        [sys.executable, "-m", "throughline.sbom", str(wrong)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (outcome.returncode, "run `make package` first" in outcome.stderr) == (1, True)
    assert list(tmp_path.iterdir()) == [wrong]


def canonical(name: str) -> str:
    """A name as package indexes compare it: https://packaging.python.org/specifications/name-normalization/."""
    return re.sub(r"[-_.]+", "-", name).lower()
