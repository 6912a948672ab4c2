"""`throughline view`: files without a browser, and errors that lead on."""

import base64
import gzip
import os
import re
import signal
import threading
import urllib.request
import webbrowser
from collections.abc import Iterator
from datetime import UTC, date, datetime
from http.cookiejar import CookieJar
from pathlib import Path

import pytest

from shared.lineage.days import difference
from shared.lineage.document import LineageDocument, decoded, encoded
from shared.storage_layout import NEWEST, PUBLISHED, daily_document
from tests.shared.serving.documents import CLEAN, MART, estate
from tests.support.building import IDENTITY, body, dataset, lineage, packed, source, step
from tests.support.cli import Parts
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish


def document_in(html: bytes) -> LineageDocument:
    """The document that a page holds."""
    match = re.search(rb'<script type="text/plain" id="data"[^>]*>([^<]*)<', html)
    assert match
    return decoded(gzip.decompress(base64.b64decode(match.group(1))))


GOLDEN = Path(__file__).parents[1] / "golden" / "spark35-ol1.53"


@pytest.fixture
def parts() -> Parts:
    loaded_parts = Parts()
    for place in post(loaded_parts.storage, *(GOLDEN / "customer_master" / "events.jsonl").read_bytes().splitlines()):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, MemoryCatalog(), loaded_parts.worker.publishing)
    return loaded_parts


def test_every_output_format_is_written(parts: Parts, tmp_path: Path) -> None:
    forms = ("html", "svg", "mermaid", "dot", "csv")
    options = [argument for form in forms for argument in (f"--{form}", str(tmp_path / "new" / f"lineage.{form}"))]
    result = parts.run("view", "customer_master", "--column", "full_name", *options)
    assert result.exit_code == 0, result.output
    texts = {form: (tmp_path / "new" / f"lineage.{form}").read_text() for form in forms}
    assert result.output.count("wrote ") == len(forms)
    assert "column=full_name" in texts["html"]
    for form in ("svg", "mermaid", "dot", "csv"):
        assert "first_name" in texts[form]
        assert "email" not in texts[form], "only what is on the column's way"


def test_a_dash_writes_to_standard_output_instead_of_a_file(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = parts.run("view", "customer_master", "--csv", "-")
    assert result.stdout.startswith("from_dataset,"), result.output
    assert "wrote" not in result.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_page_has_sql_only_with_the_option_and_without_literals(tmp_path: Path) -> None:
    loaded_parts = Parts()
    statement = "INSERT INTO clean SELECT * FROM raw WHERE city = 'planted-secret' AND age > 4711"
    columns = lineage({"id": [source("raw", "id", IDENTITY)]})
    event = body(inputs=["raw"], outputs=[dataset("clean", columnLineage=columns)])
    event["job"]["facets"]["sql"] = {"query": statement}
    for place in post(loaded_parts.storage, packed(event)):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, MemoryCatalog(), loaded_parts.worker.publishing)
    texts = []
    for options in ((), ("--sql",)):
        assert loaded_parts.run("view", "--html", str(tmp_path / "page.html"), *options).exit_code == 0
        (process,) = document_in((tmp_path / "page.html").read_bytes()).processes
        texts.append(process.statement)
    assert texts == ["", "INSERT INTO clean SELECT * FROM raw WHERE city = ? AND age > ?"]


def test_the_page_has_expressions_and_when_it_was_written(tmp_path: Path) -> None:
    loaded_parts = Parts()
    change = step("DIRECT", "TRANSFORMATION") | {"description": "upper(trim(name))"}
    columns = lineage({"name": [source("raw", "name", change)]})
    for place in post(
        loaded_parts.storage, packed(body(inputs=["raw"], outputs=[dataset("clean", columnLineage=columns)]))
    ):
        deliver_event(loaded_parts.storage, place)
    publish(loaded_parts.storage, MemoryCatalog(), loaded_parts.worker.publishing)
    start = datetime.now(UTC)
    assert loaded_parts.run("view", "--html", str(tmp_path / "page.html")).exit_code == 0
    html = (tmp_path / "page.html").read_bytes()
    assert [column_edge.description for column_edge in document_in(html).edges] == ["upper(trim(name))"]
    match = re.search(rb'data-made="([^"]+)"', html)
    assert match
    assert start <= datetime.fromisoformat(match[1].decode()) <= datetime.now(UTC)


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (("custmer_master",), 1, "no data set like 'custmer_master'. The nearest are "),
        (("customer_master", "--column", "fullname"), 1, "no column 'fullname'. Did you mean full_name?"),
        (("files",), 1, "3 data sets match 'files'"),
        (("--column", "x"), 2, "--column needs the data set"),
        (("--as-of", "2026-11-01"), 1, "the record has no history"),
        (("--compare", "2026-11-01"), 1, "the record has no history"),
        (("--as-of", "yesterday"), 2, "--as-of must be a time"),
    ],
)
def test_a_view_without_a_result_ends_with_a_message_and_writes_no_file(
    parts: Parts, arguments: tuple[str, ...], code: int, sentence: str
) -> None:
    result = parts.run("view", *arguments, "--csv", "unused.csv")
    assert result.exit_code == code, result.output
    assert sentence in result.stderr.replace("\n", " ")
    assert not Path("unused.csv").exists()


def test_an_empty_record_suggests_throughline_demo() -> None:
    result = Parts().run("view", "--csv", "unused.csv")
    assert result.exit_code == 1
    assert "throughline demo" in result.stderr


def test_a_file_that_cannot_be_written_is_named(parts: Parts, tmp_path: Path) -> None:
    result = parts.run("view", "--csv", str(tmp_path))
    assert result.exit_code == 2
    assert f"{tmp_path} can't be written: Is a directory" in result.stderr


def test_the_drawing_in_the_readme_is_up_to_date(parts: Parts, tmp_path: Path, rewrite_golden: bool) -> None:
    """`docs/lineage.svg` is the command's drawing of the demo's first job."""
    kept_path = Path(__file__).parents[2] / "docs" / "lineage.svg"
    drawn = tmp_path / "lineage.svg"
    assert parts.run("view", "customer_master", "--svg", str(drawn)).exit_code == 0
    if rewrite_golden:
        kept_path.write_bytes(drawn.read_bytes())
    assert kept_path.read_text() == drawn.read_text()


@pytest.fixture
def default_interrupt() -> Iterator[None]:
    """Ctrl-C as in a terminal, also where the tests run with the signal ignored (a job in the background)."""
    previous_handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous_handler)


@pytest.mark.usefixtures("default_interrupt")
def test_the_page_is_served_until_ctrl_c(parts: Parts, monkeypatch: pytest.MonkeyPatch) -> None:
    opened_addresses: list[str] = []
    pages: list[bytes] = []

    def visit(address: str) -> bool:
        opened_addresses.append(address)
        threading.Thread(target=read, args=(address,)).start()
        return True

    def read(address: str) -> None:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        try:
            pages.append(opener.open(address, timeout=10).read())
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(webbrowser, "open", visit)
    result = parts.run("view", "customer_master")
    assert result.exit_code == 0, result.output
    assert opened_addresses[0] in result.output.replace("\n", "")
    assert b'data-start="asset=' in pages[0]


def test_lineage_as_of_a_day_is_the_published_document(tmp_path: Path) -> None:
    parts, base = Parts(), date(2026, 11, 10)
    past_document, later_document = estate(MART), estate(CLEAN, MART)
    small = difference(past_document, base, later_document)
    for name, content in (
        (daily_document(base), encoded(past_document)),
        (daily_document(date(2026, 11, 12), base), small),
    ):
        parts.storage.put_new(PUBLISHED, name, gzip.compress(content))
    parts.storage.put_new(
        PUBLISHED, f"{NEWEST}20261120T100000000000Z-a.json.gz", gzip.compress(encoded(later_document))
    )
    lines = {}
    for day in (11, 13):
        result = parts.run("view", "--as-of", f"2026-11-{day}", "--csv", str(tmp_path / f"{day}.csv"))
        assert result.exit_code == 0, result.output
        lines[day] = len((tmp_path / f"{day}.csv").read_text().splitlines())
    assert lines[11] < lines[13]
    html = tmp_path / "page.html"
    result = parts.run("view", "--compare", "2026-11-11", "--as-of", "2026-11-13", "--html", str(html))
    assert result.exit_code == 0, result.output
    history_document = document_in(html.read_bytes())
    assert history_document.history
    assert {
        history_document.processes[flow.process].name for flow in history_document.flows if flow.valid_from >= 0
    } == {CLEAN.process.name}
    assert "compare=2026-11-11T23%3A59%3A59.999000Z" in html.read_text()
    early = parts.run("view", "--as-of", "2026-11-01", "--csv", "-")
    assert early.exit_code == 1
    assert "the first one is of 2026-11-10" in " ".join(early.output.split())
