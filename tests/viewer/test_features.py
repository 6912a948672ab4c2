"""Each feature of the page, by mouse and keyboard; hostile names; and an automatic check of accessibility."""

import csv
import io
import subprocess
from itertools import combinations
from pathlib import Path
from urllib.parse import urlencode

import pytest
from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import FailedTest, Kind
from shared.lineage.exports import Question, as_dot, as_mermaid, select
from shared.model import ColumnEdge, EdgeKind
from shared.serving.view import FOLDER, page
from shared.texts import visible
from tests.support.lineage import document, edge, process, random_document
from tests.viewer.browser.driver import Browser, installed
from tests.viewer.estate import STORE, estate
from throughline.local.toolchain.node import find_node
from throughline.project import ROOT

CUSTOMERS, WIDE, REPORT = f"{STORE}clean/customers", f"{STORE}mart/orders_wide", f"{STORE}mart/revenue_by_city"
SHOTS = ROOT / "build" / "viewer"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "page.html"
    path.write_bytes(page(estate()))
    return path


@pytest.fixture
def shown(browser: Browser, file: Path) -> Browser:
    browser.open(file)
    return browser


def at(**state: str) -> str:
    return urlencode(state)


def cards(browser: Browser) -> set[str]:
    card_names: list[str] = browser.run(
        "() => [...document.querySelectorAll('#layer [data-dataset]')].map((e) => e.dataset.dataset)"
    )
    return {name.removeprefix(STORE) for name in card_names}


def rows(browser: Browser) -> set[str]:
    row_names: list[str] = browser.run(
        "() => [...document.querySelectorAll('#layer [data-column]')].map((e) => e.dataset.column)"
    )
    return set(row_names)


def test_search_finds_tables_and_columns_and_leads_there(shown: Browser) -> None:
    shown.press("/")
    shown.ask("fill", selector="#search", text="rev")
    assert shown.texts("[role=option] strong") == ["revenue_by_city", "revenue"]
    shown.press("ArrowDown", "Enter")
    assert shown.state["asset"] == REPORT
    shown.ask("fill", selector="#search", text="customers.em")
    shown.click("[role=option]")
    assert (shown.state["asset"].removeprefix(STORE), shown.state["column"]) == ("clean/customers", "email")
    shown.ask("fill", selector="#search", text="ordrswde")
    assert shown.texts("[role=option] strong")[0] == "orders_wide"
    shown.ask("fill", selector="#search", text="nothing like it")
    assert "Nothing has a name like this" in shown.texts("#results")[0]


def test_one_click_follows_a_column(shown: Browser) -> None:
    shown.go(at(asset=CUSTOMERS, open=CUSTOMERS))
    shown.click(f'[data-dataset="{CUSTOMERS}"] [data-column=full_name]')
    assert cards(shown) == {"raw/customers", "clean/customers", "mart/orders_wide", "mart/crm_export"}
    assert rows(shown) == {"first", "last", "full_name", "name"}
    tree = shown.texts("[role=treeitem] > span")
    assert "raw/customers.first (transformation)" in tree
    assert "mart/crm_export.name (copy)" in tree
    shown.go(at(asset=CUSTOMERS, open=CUSTOMERS))
    shown.run(f"""() => document.querySelector('[data-dataset="{CUSTOMERS}"] [data-column=email]').focus()""")
    shown.press("Enter")
    assert shown.state["column"] == "email"
    assert "raw/customers.email (mask)" in shown.texts("[role=treeitem] > span")


def test_cards_open_and_close_and_show_more(shown: Browser) -> None:
    shown.go(at(asset=WIDE, tables="1"))
    assert rows(shown) == set()
    assert "+4 of 4 columns" in shown.texts(f'[data-fold="{WIDE}"] text')[0]
    shown.click(f'[data-fold="{WIDE}"]')
    assert rows(shown) == {"amount_eur", "city", "email", "full_name"}
    shown.click(f'[data-fold="{WIDE}"]')
    assert rows(shown) == set()
    cards_before = cards(shown)
    assert shown.texts(f'[data-more="<{CUSTOMERS}"] text') == ["2 more"]
    shown.click(f'[data-more="<{CUSTOMERS}"]')
    assert cards(shown) - cards_before == {"raw/customers", "raw/addresses"}
    shown.run(f"""() => document.querySelector('[data-head="{CUSTOMERS}"]').focus()""")
    shown.press("[")
    assert cards(shown) == cards_before
    shown.press("x")
    assert "full_name" in rows(shown)
    shown.press("x", "]")
    assert cards(shown) - cards_before == {"mart/crm_export"}


def test_visible_cards_keep_their_places(shown: Browser) -> None:
    shown.go(at(asset=WIDE))
    place = f"""() => {{
      const box = document.querySelector('[data-head="{WIDE}"]').getBoundingClientRect();
      return [box.x, box.y];
    }}"""
    place_before = shown.run(place)
    shown.click(f'[data-more="<{CUSTOMERS}"]')
    assert shown.run(place) == pytest.approx(place_before, abs=1)


def test_conditions_are_hidden_until_asked_for(shown: Browser) -> None:
    shown.go(at(asset=CUSTOMERS, column="city"))
    assert "current" not in rows(shown)
    shown.press("c")
    assert {"current", "customer_id", ""} <= rows(shown)
    assert shown.run("() => document.querySelectorAll('#layer .curve.kind-condition').length") == 2
    shown.click("#conditions")
    assert "current" not in rows(shown)
    assert shown.texts(".conditions text") == ["if 2", "if 1"], "the badge is there in any case"


def test_the_panel_shows_the_facts_of_a_process(shown: Browser) -> None:
    shown.go(at(asset=CUSTOMERS))
    shown.click("[data-process='throughline:load_customers']")
    text = shown.texts("#panel")[0]
    for fact in (
        "insert",
        "Azure Synapse · prod",
        "run-of-load_customers",
        "addresses.current (filter)",
        "raw/customers.email → clean/customers.email",
        "2026-11-21 12:00 UTC",
    ):
        assert fact in text
    assert shown.run("() => document.querySelector('#panel a').href") == "https://example.com/notebook"
    shown.press("Escape")
    assert "process" not in shown.state
    shown.run("() => document.querySelector('.badge[data-process]').focus()")
    shown.press("Enter")
    assert "process" in shown.state


def test_the_page_shows_a_past_time_and_the_changes_between_two_times(shown: Browser) -> None:
    shown.go(at(asset=CUSTOMERS, column="email"))
    kinds = "() => [...document.querySelectorAll('#layer [data-edge]')].map((each) => each.dataset.kind)"
    assert "mask" in shown.run(kinds)
    shown.run(
        "() => { const slider = document.querySelector('#time');"
        " slider.value = '0'; slider.dispatchEvent(new Event('input')); }"
    )
    assert shown.state["at"] == "2026-11-21T12:00:00Z"
    assert "identity" in shown.run(kinds)
    shown.go(at(asset=CUSTOMERS, compare="2026-11-22T12:00:00Z"))
    changes = shown.texts("[data-change]")
    assert changes == [
        "changed raw/customers.email → clean/customers.email",
        "added clean/customers.full_name → mart/crm_export.name",
    ]
    shown.go(at(asset=f"{STORE}clean/orders", at="2026-12-21T12:00:00Z", compare="2026-11-22T12:00:00Z"))
    assert shown.texts("[data-change]") == ["gone lost/orders.amt → clean/orders.amount"]


def test_impact_is_shown_as_a_list_and_saved_as_csv(shown: Browser) -> None:
    shown.go(at(asset=f"{STORE}raw/customers", column="email"))
    shown.press("i")
    assert [
        asset_name.removeprefix(STORE)
        for asset_name in shown.run(
            "() => [...document.querySelectorAll('[data-impact]')].map((e) => e.dataset.impact)"
        )
    ] == ["clean/customers", "mart/crm_export", "mart/orders_wide"]
    saved = Path(shown.ask("download", selector="text=Save as CSV"))
    table = list(csv.reader(io.StringIO(saved.read_text())))
    assert table[0] == ["distance", "dataset", "column", "tags"]
    assert ["2", f"{STORE}mart/crm_export", "email_sha", ""] in table


def test_unknown_lineage_is_drawn(shown: Browser) -> None:
    shown.go(at(asset=WIDE))
    assert "db.fx_rates" in shown.run("() => document.querySelector('.stub').dataset.tip")
    assert shown.run(
        f"""() => document.querySelector('[data-dataset="{STORE}clean/orders"]').classList.contains("health-failed")"""
    )
    shown.go(at(asset=f"{STORE}clean/orders"))
    assert shown.run(
        f"""() => document.querySelector('[data-dataset="{STORE}lost/orders"]').classList.contains("placeholder")"""
    )


def test_a_column_without_source_has_a_mark(browser: Browser, tmp_path: Path) -> None:
    lost_lineage_document = document(
        process("p", "raw", "clean", edge("raw.a", "clean.a")), process("q", "clean", "mart", edge("clean.b", "mart.b"))
    )
    (tmp_path / "page.html").write_bytes(page(lost_lineage_document))
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/clean", open="file:///lake/clean"))
    assert browser.texts(".row.unknown text:first-of-type") == ["b"]


def test_the_whole_estate_is_shown_in_groups(shown: Browser) -> None:
    shown.press("e")
    assert len(shown.texts("[data-group]")) == 1
    shown.click("#panel :text-is('zone')")
    assert {summary.split(" ")[0].rpartition("/")[2] for summary in shown.texts("[data-group] summary")} == {
        "raw",
        "clean",
        "mart",
        "lost",
    }
    shown.click("#panel :text-is('job')")
    assert any("load_orders" in summary for summary in shown.texts("[data-group] summary"))


def test_the_address_is_the_whole_state(shown: Browser, file: Path) -> None:
    shown.go(at(asset=CUSTOMERS))
    shown.click(f'[data-head="{WIDE}"]')
    assert shown.state == {"asset": WIDE}
    shown.ask("back")
    assert shown.state["asset"] == CUSTOMERS
    assert "clean/customers" in cards(shown)
    shown.ask("forward")
    assert shown.state["asset"] == WIDE
    address, visible_cards = shown.run("() => location.hash.slice(1)"), cards(shown)
    shown.open(file, state=address)
    assert cards(shown) == visible_cards


def test_the_picture_can_be_moved_zoomed_and_fitted(shown: Browser) -> None:
    shown.go(at(asset=WIDE))
    transform = "() => document.querySelector('#layer').getAttribute('transform')"
    transform_before = shown.run(transform)
    shown.click("[aria-label='Zoom in']")
    zoomed = shown.run(transform)
    assert zoomed != transform_before
    shown.run("() => document.querySelector('#stage').focus()")
    shown.press("ArrowLeft", "-")
    assert shown.run(transform) != zoomed
    shown.press("0")
    assert shown.run(transform) == transform_before
    shown.press("+", "+", "+", "+")
    shown.click("#minimap")
    assert shown.run("() => document.querySelectorAll('#minimap rect').length") == len(cards(shown)) + 1


def test_keys_navigate_the_path_as_a_tree(shown: Browser) -> None:
    shown.go(at(asset=REPORT, column="revenue"))
    shown.press("t")
    focused = "() => document.activeElement.querySelector(':scope > span').textContent"
    assert shown.run(focused) == "Made of"
    shown.press("ArrowDown")
    assert shown.run(focused) == "mart/orders_wide.amount_eur (aggregation)"
    shown.press("ArrowLeft")
    assert shown.run("() => document.activeElement.getAttribute('aria-expanded')") == "false"
    shown.press("ArrowDown")
    assert shown.run(focused) == "Used by"
    shown.press("Home", "ArrowRight", "End")
    assert shown.run(focused) == "Nothing reads it."


NASTY = (
    "</script><script>window.hurt = 1</script>",
    '"><img src=x onerror="window.hurt = 1">',
    "\u202eright-to-left\u202c 😀",
    "x" * 4096,
    "javascript:window.hurt=1",
    "a b#c?d=e&f",
)


@pytest.mark.parametrize("name", NASTY)
def test_hostile_names_are_text(browser: Browser, tmp_path: Path, name: str) -> None:
    nasty = document(
        process(
            name,
            f"in/{name.replace(' ', '')}",
            "clean",
            edge(f"in/{name.replace(' ', '')}.{name.replace('.', '')}", "clean.c"),
        )
    )
    (tmp_path / "page.html").write_bytes(page(nasty))
    browser.open(tmp_path / "page.html")
    browser.go(at(asset="file:///lake/clean", column="c"))
    assert name.replace(".", "") in rows(browser)
    browser.go(at(asset="file:///lake/clean", process=nasty.processes[0].qualified_name))
    assert visible(name) in browser.texts("#panel h2")[0]
    assert browser.run("() => window.hurt ?? null") is None
    assert browser.problems == []
    assert len(browser.requests) == 1, "no request leaves the page"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_has_no_serious_finding_on_any_view(browser: Browser, file: Path, dark: bool) -> None:
    SHOTS.mkdir(parents=True, exist_ok=True)
    states = {
        "start": "",
        "table": at(asset=WIDE, up="2"),
        "column": at(asset=REPORT, column="revenue", conditions="1"),
        "process": at(asset=CUSTOMERS, process="throughline:load_customers"),
        "changes": at(asset=CUSTOMERS, compare="2026-11-22T12:00:00Z"),
        "estate": at(view="estate", group="zone"),
        "impact": at(asset=CUSTOMERS, view="impact"),
        "unknown": at(asset="nowhere"),
        "no-time": at(asset=CUSTOMERS, at="yesterday"),
    }
    browser.open(file, dark=dark)
    for name, state in states.items():
        browser.go(state)
        browser.ask("screenshot", path=str(SHOTS / f"{name}-{'dark' if dark else 'light'}.png"))
        rules = ["color-contrast", "link-in-text-block"] if dark else None  # all else is the same document in both
        violations = browser.ask("axe", rules=rules)
        findings = [finding for finding in violations if finding["impact"] in {"serious", "critical"}]
        assert findings == [], f"{name}: {findings}"


def test_an_unknown_asset_and_a_broken_file_show_the_next_step(browser: Browser, file: Path, tmp_path: Path) -> None:
    browser.open(file, state=at(asset="nowhere"))
    assert browser.texts("[role=alert]") == ["The lineage has no data set with this name: nowhere"]
    browser.go(at(asset=CUSTOMERS, column="nothing"))
    assert browser.texts("[role=alert]") == ["This data set has no column with this name: nothing"]
    broken = tmp_path / "page.html"
    html = file.read_text()
    middle = html.index('id="data"') + 400
    broken.write_text(html[:middle] + html[middle + 50 :])
    browser.open(broken)
    assert "Make it again" in browser.texts("[role=alert]")[0]


COLOURS = """() => {
  const canvas = document.querySelector("#canvas");
  if (canvas.hidden) return [];
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  const found = new Set();
  for (let place = 0; place < data.length; place += 4) found.add(data.slice(place, place + 3).join(" "));
  return ["identity", "mask", "opaque", "condition", "line"].filter((name) => {
    const text = getComputedStyle(canvas).getPropertyValue(`--${name}`).trim();
    return found.has([1, 3, 5].map((at) => parseInt(text.slice(at, at + 2), 16)).join(" "));
  });
}"""


@pytest.mark.parametrize(
    ("missing_features", "kind", "column_edge"),
    [((), "mask", edge("hub.c", "t.c", masked=True)), (("Worker",), "opaque", edge("hub.c", "t.c", "OPAQUE"))],
    ids=["laid out in a worker", "in a browser without workers"],
)
def test_a_large_picture_is_on_a_canvas(
    browser: Browser, tmp_path: Path, missing_features: tuple[str, ...], kind: str, column_edge: ColumnEdge
) -> None:
    copies, other_numbers, conditions = range(150), range(150, 300), range(300, 450)
    decides = EdgeKind.INDIRECT
    star = document(
        *(process(f"p{number}", "hub", f"t{number}", edge("hub.c", f"t{number}.c")) for number in copies),
        *(
            process(
                f"m{number}",
                "hub",
                f"t{number}",
                structs.replace(column_edge, output=edge("hub.c", f"t{number}.c").output),
            )
            for number in other_numbers
        ),
        *(
            process(f"c{number}", "hub", f"t{number}", edge("hub.c", f"t{number}.c", kind=decides))
            for number in conditions
        ),
    )
    (tmp_path / "page.html").write_bytes(page(star))
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/hub"), missing_features=missing_features)
    assert browser.run(COLOURS) == ["line"]
    assert browser.run("() => document.querySelectorAll('[role=treeitem]').length") > 450
    browser.go(at(asset="file:///lake/hub", column="c", conditions="1"))
    browser.press(*["+"] * 12)  # until each line is wide enough for pixels of just its colour
    assert browser.run(COLOURS) == ["identity", kind, "condition"]
    assert bool([request for request in browser.requests if request.startswith("blob:")]) == (not missing_features)
    assert [problem for problem in browser.problems if "getImageData" not in problem] == [], (
        "this test reads the pixels"
    )


def test_failed_quality_tests_are_marked_and_listed(browser: Browser, tmp_path: Path) -> None:
    known_lineage_document = document(process("p", "raw", "clean", edge("raw.a", "clean.a")))
    number = next(place for place, dataset in enumerate(known_lineage_document.datasets) if dataset.name == "clean")
    failed = (FailedTest(number, "a", "not_null", severity="error"), FailedTest(number, "", "row_count"))
    (tmp_path / "page.html").write_bytes(page(structs.replace(known_lineage_document, failed_tests=failed)))
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/clean"))
    assert browser.texts(".card .failed-tests text") == ["✗ 2"]
    assert browser.texts("ul.failed-tests li") == ["a: not_null (error)", "row_count"]
    assert [finding for finding in browser.ask("axe") if finding["impact"] in {"serious", "critical"}] == []


def test_what_code_may_pass_on_is_shown_as_an_upper_bound(browser: Browser, tmp_path: Path) -> None:
    column_edge = edge("raw.a", "clean.b", "OPAQUE")
    (tmp_path / "page.html").write_bytes(
        page(
            document(
                process("code", "raw", "clean", column_edge, exact=True), process("mart", "clean", "mart", exact=True)
            )
        )
    )
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/clean", column="b"))
    assert "an upper bound" in browser.run("() => document.querySelector('[data-badge=opaque]').dataset.tip")
    dashes = "() => getComputedStyle(document.querySelector('#layer .kind-opaque .line')).strokeDasharray"
    assert browser.run(dashes) == "8px, 3px, 2px, 3px"
    assert browser.texts("[role=treeitem][data-dataset] > span") == ["lake/raw.a (opaque)"]
    browser.click("[data-badge=opaque] .shape")
    text = " ".join(browser.texts("#panel"))
    assert "from Spark's own plan: the opaque ones are an upper bound" in text
    assert "code that Spark's plan does not show may pass these onlake/raw.a → lake/clean.b" in text
    browser.go(at(asset="file:///lake/mart", process="throughline:mart"))
    assert "exact: Spark's own plan gave them" in " ".join(browser.texts("#panel"))
    browser.press("?")
    names = "() => [...document.querySelectorAll('#signs .signs .badge')].map((sign) => sign.getAttribute('class'))"
    assert {name.removeprefix("badge kind-") for name in browser.run(names)} >= set(Kind)
    assert [finding for finding in browser.ask("axe") if finding["impact"] in {"serious", "critical"}] == []


def test_badges_do_not_overlap(browser: Browser, tmp_path: Path) -> None:
    wide = document(
        *(
            process(
                f"p{number}",
                "a b",
                f"t{number}",
                *(
                    edge(f"{name}.c{column_number}", f"t{number}.c", "AGGREGATION")
                    for name in ("a", "b")
                    for column_number in range(4)
                ),
            )
            for number in range(3)
        )
    )
    (tmp_path / "page.html").write_bytes(page(wide))
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/t0", column="c"))
    boxes = browser.run(
        """() => [...document.querySelectorAll("#layer .badge")].map((each) => {
          const { left, right, top, bottom } = each.getBoundingClientRect();
          return [left, right, top, bottom];
        })"""
    )
    assert len(boxes) == 8
    overlaps = [
        (box, other)
        for box, other in combinations(boxes, 2)
        if box[0] < other[1] and other[0] < box[1] and box[2] < other[3] and other[2] < box[3]
    ]
    assert overlaps == []


def test_the_list_has_expressions_and_the_conditions_of_all_rows(browser: Browser, tmp_path: Path) -> None:
    column_edge = structs.replace(edge("raw.a", "clean.c", "TRANSFORMATION"), expressions=("upper(a)",))
    filtered = edge("raw.b", "clean.", kind=EdgeKind.INDIRECT)
    known_processes = [KnownProcess(process=process("p", "raw", "clean", column_edge, filtered))]
    (tmp_path / "page.html").write_bytes(page(document_of("record", known_processes, expressions=True)))
    browser.open(tmp_path / "page.html", state=at(asset="file:///lake/clean", column="c", conditions="1"))
    items = browser.texts("[role=treeitem][data-dataset] > span")
    assert items == ["lake/raw.a (transformation: upper(a))", "lake/raw.b (condition, all rows)"]
    browser.go(at(asset="file:///lake/clean", column="c"))
    assert browser.texts("[role=treeitem][data-dataset] > span") == items[:1]


def test_dot_and_mermaid_pass_their_own_parsers(browser: Browser) -> None:
    nasty = document(
        *(
            process(f"p{number}", "raw", f"t{number}", edge(f"raw.{name.replace('.', '')}", f"t{number}.c"))
            for number, name in enumerate(NASTY)
        )
    )
    browser.open("about:blank")
    browser.ask("script", path="@mermaid-js/tiny/dist/mermaid.tiny.js")
    for lineage_document in (*map(random_document, range(5)), nasty, estate()):
        selection = select(lineage_document, Question())
        assert "<svg" in browser.ask("viz", text=as_dot(selection))
        parsed = browser.run("(text) => mermaid.parse(text).then((found) => found.diagramType)", as_mermaid(selection))
        assert parsed.startswith("flowchart")


def test_the_modules_have_no_type_errors() -> None:
    tsc = installed() / "node_modules" / "typescript" / "bin" / "tsc"
    command = [str(find_node().node), str(tsc), "-p", str(FOLDER / "tsconfig.json")]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (outcome.returncode, outcome.stdout) == (0, "")
