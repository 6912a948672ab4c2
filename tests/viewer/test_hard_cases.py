"""Unusual cases of the page: odd addresses, a mouse that leaves the window, an old browser, planted secrets."""

import random
import threading
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec import structs

from shared.lineage.building import Interval, KnownProcess, document_of
from shared.lineage.exports import Question, select
from shared.serving.service import LineageService
from shared.serving.shelf import OneDocument
from shared.serving.view import LineageView, page
from tests.support.cli import Parts
from tests.support.lineage import NOON, asset, document, edge, process, random_document
from tests.support.memory_catalog import MemoryCatalog
from tests.support.planted import SECRET, events
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.viewer.browser.driver import Browser
from tests.viewer.estate import STORE, estate
from throughline.cli.viewer.server import PageServer

CUSTOMERS, WIDE = f"{STORE}clean/customers", f"{STORE}mart/orders_wide"
TRANSFORM = "() => document.querySelector('#layer').getAttribute('transform')"
CARDS = "() => [...document.querySelectorAll('#layer [data-dataset]')].map((each) => each.dataset.dataset)"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_bytes(page(estate()))
    return path


def middle(browser: Browser, selector: str) -> tuple[float, float]:
    """The point of the window at the middle of an element."""
    x, y = browser.run(
        """(selector) => {
          const box = document.querySelector(selector).getBoundingClientRect();
          return [box.x + box.width / 2, box.y + box.height / 2];
        }""",
        selector,
    )
    return x, y


@pytest.mark.parametrize(
    "odd",
    [
        "up=-1&down=1e99",
        "up=many",
        "group=nonsense&view=nonsense",
        "open=nowhere&more=nowhere&more=%3Cnowhere&stars=nowhere&seen=nowhere",
        "process=nowhere",
        "conditions=yes&%E0%A4%A=%&__proto__=1&constructor=1",
    ],
)
def test_the_valid_parts_of_an_odd_address_are_used(browser: Browser, file: Path, odd: str) -> None:
    state = f"{urlencode({'asset': WIDE})}&{odd}"
    browser.open(file, state=state)
    assert WIDE in browser.run(CARDS)
    browser.go(f"view=estate&{state}")
    assert browser.texts("[data-group]") != []
    assert browser.problems == []


@pytest.mark.parametrize("name", ["at", "compare"])
def test_an_invalid_time_is_reported_and_the_present_is_shown(browser: Browser, file: Path, name: str) -> None:
    browser.open(file, state=urlencode({"asset": WIDE, name: "yesterday"}))
    assert browser.texts("[role=alert]") == ["This is not a time, so now is shown: yesterday"]
    assert WIDE in browser.run(CARDS)
    assert browser.problems == []


def test_a_time_without_history_is_refused(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(page(document(process("p", "raw", "clean", edge("raw.a", "clean.a")))))
    state = urlencode({"asset": "file:///lake/clean", "at": "2020-01-01T00:00:00Z"})
    browser.open(tmp_path / "page.html", state=state)
    assert "has no history, so now is shown" in browser.texts("[role=alert]")[0]


def test_the_mouse_moves_the_picture_until_it_is_released(browser: Browser, file: Path) -> None:
    browser.open(file, state=urlencode({"asset": WIDE}))
    transform_before = browser.run(TRANSFORM)
    browser.ask("drag", **{"from": (300, 700), "to": (420, 640)})
    dragged = browser.run(TRANSFORM)
    assert dragged != transform_before
    browser.ask("wheel", at=(300, 400), by=-200)
    zoomed = browser.run(TRANSFORM)
    assert zoomed.partition("scale")[2] != dragged.partition("scale")[2]
    browser.ask("drag", **{"from": (300, 700), "to": middle(browser, "#panel")})
    released = browser.run(TRANSFORM)
    browser.ask("move", to=(500, 500))
    browser.ask("move", to=(200, 300))
    assert browser.run(TRANSFORM) == released, "the button was released over the panel"


def test_a_click_after_a_drag_chooses_nothing(browser: Browser, file: Path) -> None:
    browser.open(file, state=urlencode({"asset": WIDE}))
    x, y = middle(browser, f'[data-head="{CUSTOMERS}"]')
    browser.ask("drag", **{"from": (x, y), "to": (x + 60, y + 20)})
    assert browser.state["asset"] == WIDE
    browser.click(f'[data-head="{CUSTOMERS}"]')
    assert browser.state["asset"] == CUSTOMERS


def test_enter_in_the_list_follows_the_named_column(browser: Browser, file: Path) -> None:
    browser.open(file, state=urlencode({"asset": f"{STORE}mart/revenue_by_city", "column": "revenue"}))
    browser.press("t", "ArrowDown", "Enter")
    assert (browser.state["asset"], browser.state["column"]) == (WIDE, "amount_eur")
    assert browser.run("() => document.activeElement.getAttribute('role')") == "treeitem", "the keys stay in the list"
    browser.click("[role=treeitem][data-dataset] > span")
    assert browser.state["asset"] == f"{STORE}clean/orders"


def test_a_large_picture_can_be_walked_by_keys(browser: Browser, tmp_path: Path) -> None:
    star = document(
        *(process(f"p{number}", "hub", f"t{number}", edge("hub.c", f"t{number}.c")) for number in range(450))
    )
    (tmp_path / "page.html").write_bytes(page(star))
    browser.open(tmp_path / "page.html", state=urlencode({"asset": "file:///lake/hub"}))
    assert browser.run("() => document.querySelector('#canvas').hidden") is False
    assert [finding for finding in browser.ask("axe") if finding["impact"] in {"serious", "critical"}] == []
    browser.press("t", "End", "Enter")
    assert browser.state["asset"].startswith("file:///lake/t")


def test_the_first_page_leads_to_every_data_set(browser: Browser, file: Path) -> None:
    browser.open(file)
    browser.click("[data-group] summary")
    browser.click(f'#panel [data-link="{CUSTOMERS}"]')
    assert browser.state["asset"] == CUSTOMERS
    assert CUSTOMERS in browser.run(CARDS)


@pytest.mark.parametrize(
    "link", ["javascript:window.hurt=1", "data:text/html,<script>1</script>", "http://example.com"]
)
def test_only_a_link_by_https_can_be_clicked(browser: Browser, tmp_path: Path, link: str) -> None:
    base_process = process("p", "raw", "clean", edge("raw.a", "clean.a"))
    linked = structs.replace(base_process, origin=structs.replace(base_process.origin, link=link))
    (tmp_path / "page.html").write_bytes(page(document(linked)))
    browser.open(tmp_path / "page.html", state=urlencode({"process": base_process.qualified_name}))
    assert link in browser.texts("#panel")[0]
    assert browser.run("() => document.querySelectorAll('a').length") == 0


def test_a_cell_of_the_csv_is_no_formula(browser: Browser, tmp_path: Path) -> None:
    lineage_document = document(process("p", "raw", "clean", edge("raw.a", "clean.=HYPERLINK(1)")))
    (tmp_path / "page.html").write_bytes(page(lineage_document))
    browser.open(tmp_path / "page.html", state=urlencode({"asset": "file:///lake/raw", "view": "impact"}))
    saved = Path(browser.ask("download", selector="text=Save as CSV")).read_text()
    assert ",'=HYPERLINK(1)" in saved


def test_a_browser_that_is_too_old_shows_a_message(browser: Browser, file: Path) -> None:
    browser.open(file, missing_features=("DecompressionStream",))
    assert "Use a browser of 2023 or later" in browser.texts("[role=alert]")[0]


def test_the_served_page_is_the_same_and_can_be_loaded_again(browser: Browser) -> None:
    view = LineageView(estate(), "estate", start=urlencode({"asset": WIDE}))
    with PageServer(LineageService(OneDocument(view=view)), 0) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            browser.open(server.address)
            assert WIDE in browser.run(CARDS)
            assert "token" not in browser.run("() => location.href")
            browser.ask("reload")
            browser.run("() => document.querySelector('#layer')")
            assert {request.rpartition("/")[0] for request in browser.requests} == {server.address.rpartition("/")[0]}
            assert browser.problems == []
        finally:
            server.shutdown()
            thread.join()


def test_a_planted_secret_is_not_in_the_page(browser: Browser, tmp_path: Path) -> None:
    parts = Parts()
    for place in post(parts.storage, *events()):
        deliver_event(parts.storage, place)
    publish(parts.storage, MemoryCatalog(), parts.worker.publishing)
    result = parts.run("view", "--sql", "--html", str(tmp_path / "page.html"))
    assert result.exit_code == 0, result.output
    browser.open(tmp_path / "page.html", state="view=estate")
    names = browser.run("() => [...document.querySelectorAll('[data-link]')].map((each) => each.dataset.link)")
    assert any("report" in name for name in names)
    shown_texts = [result.output, (tmp_path / "page.html").read_text(), *names]
    assets_of: dict[str, str] = {}
    for name in names:
        browser.go(urlencode({"asset": name, "up": "all", "down": "all", "conditions": "1"}))
        shown_texts.append(browser.run("() => document.documentElement.outerHTML"))
        for process_name in browser.run(
            "() => [...document.querySelectorAll('[data-process]')].map((e) => e.dataset.process)"
        ):
            assets_of.setdefault(process_name, name)
    for process_name, name in assets_of.items():
        browser.go(urlencode({"asset": name, "process": process_name}))
        shown_texts.append(browser.run("() => document.documentElement.outerHTML"))
    assert any("INSERT INTO" in text for text in shown_texts), "the statement is shown, without its literals"
    assert [text for text in shown_texts if SECRET in text] == []


def test_the_end_of_one_of_two_processes_does_not_change_the_picture(browser: Browser, tmp_path: Path) -> None:
    known_processes = [KnownProcess(process=process(name, "raw", "clean")) for name in ("p", "q")]
    history = [
        Interval(
            process=known_process.process.qualified_name,
            input=asset("raw").qualified_name,
            input_column="a",
            output=asset("clean").qualified_name,
            output_column="a",
            kind="DIRECT",
            masked=False,
            steps=("IDENTITY",),
            parsed=False,
            valid_from=NOON,
            valid_to=end,
        )
        for known_process, end in zip(known_processes, (None, NOON + timedelta(days=1)), strict=True)
    ]
    (tmp_path / "page.html").write_bytes(page(document_of("lake", known_processes, history=history)))
    state = {"asset": asset("clean").qualified_name, "compare": "2026-11-21T12:00:00Z"}
    browser.open(tmp_path / "page.html", state=urlencode(state))
    assert browser.texts("[data-change]") == []


@pytest.mark.parametrize("seed", range(2))
def test_the_page_with_conditions_shows_the_librarys_selection(browser: Browser, tmp_path: Path, seed: int) -> None:
    lineage_document = random_document(seed + 50, tables=14, processes=24)
    (tmp_path / "page.html").write_bytes(page(lineage_document))
    browser.open(tmp_path / "page.html")
    ends = [
        (lineage_document.datasets[column.dataset].qualified_name, column.name) for column in lineage_document.columns
    ]
    draw = random.Random(seed)
    for number in draw.sample([number for number, column in enumerate(lineage_document.columns) if column.name], 20):
        name, column = ends[number]
        browser.go(urlencode({"asset": name, "column": column, "conditions": "1"}))
        shown_edges = browser.run(
            """() => [...document.querySelectorAll("#layer [data-edge]")]
              .map(({ dataset }) => [dataset.from, dataset.to, dataset.kind])"""
        )
        question = Question(
            dataset=lineage_document.columns[number].dataset,
            column=number,
            up=None,
            down=None,
            at=None,
            conditions=True,
        )
        edges = [lineage_document.edges[edge_number] for edge_number in select(lineage_document, question).edges]
        expected_edges = {
            ("\n".join(ends[column_edge.input]), "\n".join(ends[column_edge.output]), column_edge.kind.value)
            for column_edge in edges
        }
        assert {tuple(shown_edge) for shown_edge in shown_edges} == expected_edges, (name, column)
