"""What stewards stumbled over on the page, and what they missed: each stays mended."""

import base64
import gzip
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from shared.canary.hops import canary_run
from shared.lineage.dataset_facts import with_facts
from shared.lineage.document import NOT_SET, SchemaChange
from shared.serving.view import page
from tests.support.building import body, dataset, packed
from tests.support.cli import Parts
from tests.support.lineage import NOON, ROOT, document, edge, process
from tests.support.memory_catalog import MemoryCatalog
from tests.support.processing import deliver_event, post
from tests.support.publishing import publish
from tests.viewer.browser.driver import Browser
from tests.viewer.estate import STORE, estate
from tests.viewer.shop import ARABIC, EMOJI, shop

CUSTOMERS, WIDE, ORDERS = f"{STORE}clean/customers", f"{STORE}mart/orders_wide", f"{STORE}clean/orders"
SALES, FEATURES = f"{ROOT}mart/sales", f"{ROOT}ml/features"
DESKTOP, LAPTOP, ZOOMED, PHONE = (1400, 850), (1366, 768), (683, 384), (390, 844)
WRITTEN = datetime(2026, 11, 26, 11, 25, tzinfo=UTC)
NAMES = "() => [...document.querySelectorAll('#overview [data-row]')].map((row) => row.dataset.row)"
CARDS = "() => [...document.querySelectorAll('#layer [data-dataset]')].map((card) => card.dataset.dataset)"
BOXES = """(selector) => [...document.querySelectorAll(selector)].map((part) => {
  const { left, right, top, bottom } = part.getBoundingClientRect();
  return [left, right, top, bottom, part.textContent];
})"""
SMALLEST_TEXT = """() => {
  const scale = Number(/scale\\((.*)\\)/.exec(document.querySelector("#layer").getAttribute("transform"))[1]);
  const texts = [...document.querySelectorAll("#layer text")];
  const sizes = texts.map((text) => parseFloat(getComputedStyle(text).fontSize));
  return Math.min(...sizes) * scale;
}"""
CHOOSE = """([id, value]) => {
  const list = document.querySelector(id);
  list.value = value;
  list.dispatchEvent(new Event("change"));
}"""
ROWS = """(name) => [...document.querySelectorAll(`[data-dataset="${name}"] [data-column]`)]
  .map((row) => row.dataset.column)"""
HOPS = """() => Object.fromEntries([...document.querySelectorAll("#layer .hop")]
  .map((card) => [card.dataset.dataset, card.dataset.depth]))"""
LISTED = """() => Object.fromEntries([...document.querySelectorAll("[data-impact]")]
  .map((row) => [row.dataset.impact, row.parentElement.dataset.distance]))"""
OUTSIDE = """() => {
  const paper = document.querySelector("#picture").getBoundingClientRect();
  return [...document.querySelectorAll("#layer .card")].filter((card) => {
    const { left, right, top, bottom } = card.getBoundingClientRect();
    return left < paper.left || right > paper.right + 1 || top < paper.top || bottom > paper.bottom + 1;
  }).length;
}"""
IS_WHOLE = """(id) => {
  const part = document.querySelector(id);
  return part.offsetParent !== null && part.scrollHeight <= part.clientHeight + 1;
}"""


def at(**state: str) -> str:
    return urlencode(state)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    documents = {"estate": estate(), "shop": shop()}
    for name, lineage in documents.items():
        (folder / f"{name}.html").write_bytes(page(lineage, made_at=WRITTEN))
    return {name: folder / f"{name}.html" for name in documents}


def crossings(boxes: list[list[Any]]) -> list[tuple[str, str]]:
    """The texts of those boxes that overlap by more than a pixel."""
    return [
        (box[4], other[4])
        for box, other in combinations(boxes, 2)
        if box[0] + 1 < other[1] and other[0] + 1 < box[1] and box[2] + 1 < other[3] and other[2] + 1 < box[3]
    ]


def test_the_first_view_has_all_data_the_newest_first(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"])
    assert browser.run(NAMES)[:2] == [SALES, f"{ROOT}{ARABIC}"], "written last"
    row = browser.texts(f'[data-row="{SALES}"] td')
    assert "Revenue by customer and day" in row[0]
    assert row[1:5] == ["PIIcertified:goldconfidential", "Finance", "2026-11-26 12:00", "2"]
    assert browser.texts("#overview [role=status]")[0].startswith("7 of 7 data sets · ")
    browser.click(f'#overview [data-link="{SALES}"]')
    assert SALES in browser.run(CARDS)


def test_the_table_of_all_data_has_filters(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"])
    browser.click("[data-only=failed]")
    assert browser.run(NAMES) == [SALES, FEATURES], "a failed test, and a failed run"
    browser.click("[data-only=failed]")
    for field, value in (("tag", "PII"), ("owner", "Finance")):
        browser.run(CHOOSE, [f"#by-{field}", value])
        assert browser.run(NAMES) == [SALES], field
        assert browser.state[field] == value, "a link keeps the filter"
        browser.run(CHOOSE, [f"#by-{field}", ""])
    browser.click("#filter")
    browser.press(*"rawc")
    assert browser.run(NAMES) == []
    browser.press("Backspace")
    assert set(browser.run(NAMES)) == {f"{ROOT}raw/orders", f"{ROOT}raw/customers"}, "the focus stays in the filter"


def test_the_newest_changes_lead_to_their_comparison(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["estate"])
    browser.click("#overview summary")
    assert [text[:10] for text in browser.texts("[data-changed]")] == ["2026-12-03", "2026-12-01", "2026-11-26"]
    browser.click("[data-changed]")
    assert browser.texts("[data-change]") == ["gone lost/orders.amt → clean/orders.amount"]


@pytest.mark.parametrize("size", [ZOOMED, PHONE, LAPTOP], ids=["200 %", "phone", "laptop"])
def test_texts_stay_readable_and_nothing_is_wider_than_the_window(
    browser: Browser, files: dict[str, Path], size: tuple[int, int]
) -> None:
    for file, asset in (("estate", CUSTOMERS), ("shop", SALES)):
        browser.open(files[file], state=at(asset=asset), size=size)
        browser.press("0")
        browser.press("0")
        assert browser.run(SMALLEST_TEXT) >= 10.99, "pressed twice, back to the readable size"
        for state in ("", at(asset=asset), at(asset=asset, view="impact")):
            browser.go(state)
            wide = "() => document.documentElement.scrollWidth"
            assert browser.run(wide) <= size[0], state
        first_box = browser.run(BOXES, f'[data-head="{asset}"]')[0] if browser.run(CARDS) else None
        assert first_box is not None


def test_a_small_picture_is_enlarged(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(page(document(process("p", "raw", "clean", edge("raw.a", "clean.a")))))
    browser.open(tmp_path / "page.html", state=at(asset=f"{ROOT}clean"))
    assert browser.run(SMALLEST_TEXT) == pytest.approx(12 * 1.4)


def test_the_chosen_card_and_its_neighbours_show_columns(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    assert browser.run(ROWS, SALES) == ["customer", "email_sha", "revenue", "day"]
    assert len(browser.run(ROWS, FEATURES)) == 12
    assert browser.texts(f'[data-fold="{FEATURES}"] text') == ["+28 of 40 columns"]
    browser.click("#columns")
    assert browser.run(ROWS, SALES) == []
    assert browser.texts("#layer .row") == [], "only tables"


def test_keys_act_on_the_chosen_card_after_a_search(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["estate"])
    browser.press("/")
    browser.ask("fill", selector="#search", text="orders_wide")
    browser.press("Enter")
    row = f'[data-dataset="{WIDE}"] .row'
    assert browser.texts(row) != []
    browser.press("x")
    assert browser.texts(row) == []
    browser.press("x")
    assert browser.texts(row) != []
    browser.go(at(asset=CUSTOMERS, up="0"))
    browser.press("[")
    assert f"{STORE}raw/customers" in browser.run(CARDS)


def test_tab_goes_through_the_picture_as_it_is_read(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["estate"], state=at(asset=CUSTOMERS))
    places = browser.run(
        """() => [...document.querySelectorAll("#layer [tabindex]")].map((part) => {
          const { x, y } = (part.closest(".card")?.querySelector(".box") ?? part).getBoundingClientRect();
          return [part.classList.contains("badge"), Math.round(x), Math.round(y)];
        })"""
    )
    cards = [place[1:] for place in places if not place[0]]
    assert cards == sorted(cards)
    assert [place[0] for place in places] == sorted(place[0] for place in places), "signs on curves come last"


def test_expressions_are_in_the_panels_the_list_and_on_the_curve(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES, process="throughline:sales_mart"))
    panel = browser.texts("#panel")[0]
    for expression in ("mart/sales.revenue = sum(qty * price)", "mart/sales.customer = shout(name, title)"):
        assert expression in panel
    browser.go(at(asset=SALES, column="email_sha"))
    assert browser.texts("#panel .expressions code") == ["sha2(email, 256)"]
    assert "raw/customers.email (mask: sha2(email, 256))" in browser.texts("[role=treeitem] > span")
    left_edge, right, top, bottom, _ = browser.run(BOXES, "[data-badge=mask]")[0]
    browser.ask("move", to=((left_edge + right) / 2, (top + bottom) / 2))
    assert "sha2(email, 256)" in browser.texts("#tip:not([hidden])")[0]
    assert "sales_mart" in browser.texts("#tip")[0]


@pytest.mark.parametrize("compare", ["", "2026-11-22T12:00:00Z"], ids=["now", "compared"])
def test_texts_and_signs_of_the_picture_never_overlap(browser: Browser, files: dict[str, Path], compare: str) -> None:
    for file, asset in (("estate", CUSTOMERS), ("estate", WIDE), ("estate", ORDERS), ("shop", SALES)):
        browser.open(files[file])
        for view_options in ({}, {"up": "all", "down": "all"}, {"conditions": "1"}, {"view": "impact"}):
            state = {"asset": asset, **view_options, **({"compare": compare} if compare and file == "estate" else {})}
            browser.go(at(**state))
            signs = "#layer .cards > * > g:not(.more) text, #layer .badge .shape, #layer .badge text, #layer .more .hit"
            assert crossings(browser.run(BOXES, signs)) == [], state
            pills = browser.run(BOXES, "#layer .more .hit")
            assert crossings([*pills, *browser.run(BOXES, "#layer .card .box")]) == [], "a pill stands beside its card"


def test_a_column_has_a_panel_of_its_own(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    browser.click(f'[data-dataset="{SALES}"] [data-column=revenue]')
    assert browser.texts("#panel h2") == ["revenue"]
    text = browser.texts("#panel")[0]
    for fact in (
        "Column of mart/sales",
        "decimal(18,2)",
        "Finance",
        "aggregation",
        "sales_mart",
        "not_negative",
        "sum(qty * price)",
        "3 filter or join columns decide its rows",
    ):
        assert fact in text
    browser.go(at(asset=SALES, column="customer"))
    assert browser.texts("#panel dd .tag") == ["PII"]


def test_impact_is_in_the_picture_over_all_steps(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=f"{ROOT}raw/orders"))
    assert f"{ROOT}bi/dashboard" not in browser.run(CARDS)
    browser.press("i")
    assert browser.run(HOPS) == browser.run(LISTED)
    assert browser.run(HOPS) == {
        SALES: "1",
        f"{ROOT}{EMOJI}": "1",
        FEATURES: "2",
        f"{ROOT}{ARABIC}": "2",
        f"{ROOT}bi/dashboard": "3",
    }
    browser.click("[data-steps='2']")
    assert f"{ROOT}bi/dashboard" not in browser.run(CARDS)
    assert browser.run(HOPS) == browser.run(LISTED)
    browser.go(at(asset=f"{ROOT}raw/orders", column="qty", view="impact"))
    assert browser.run(HOPS) == browser.run(LISTED)
    browser.press("m")
    assert browser.run(HOPS) == {}
    browser.press("e")
    assert browser.run("() => document.querySelector('#stage').hidden"), "all data is a view of its own"


def test_the_number_of_steps_is_a_control(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=f"{ROOT}raw/orders"))
    for depth, number in (("1", 3), ("2", 5), ("3", 6), ("null", 6)):
        browser.click(f"[data-steps='{depth}']")
        assert len(browser.run(CARDS)) == number
        assert browser.run("() => document.querySelector('#depths [aria-pressed=true]').dataset.steps") == depth


def test_signs_are_explained_where_they_are(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    tip = "(selector) => document.querySelector(selector).dataset.tip"
    assert browser.run(tip, ".conditions").startswith("3 filter or join columns decide its rows:\norders.day")
    assert "last run failed" in browser.run(tip, f'[data-head="{FEATURES}"]')
    browser.open(files["estate"], state=at(asset=WIDE))
    assert browser.run(tip, f'[data-more="<{CUSTOMERS}"]') == "Made of: 2 of 2 not shown"
    assert not browser.run("() => document.querySelector('#signs').open")
    browser.click("#help")
    words = browser.texts("#signs")[0]
    for sign in ("if 2", "dashed card", "an upper bound", "from the catalog", "Escape"):
        assert sign in words
    assert [finding for finding in browser.ask("axe") if finding["impact"] in {"serious", "critical"}] == []
    browser.press("Escape")
    assert not browser.run("() => document.querySelector('#signs').open")


def test_the_list_names_jobs_and_leads_to_tables(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    assert "raw/orders (by sales_mart, merge)" in browser.texts("[role=treeitem] > span")
    item = f'[role=treeitem][data-dataset="{ROOT}raw/orders"]'
    assert browser.run("(item) => document.querySelector(item).title", item) == f"{ROOT}raw/orders", "its full path"
    browser.click(f"{item} > span")
    assert browser.state["asset"] == f"{ROOT}raw/orders"


def test_names_are_cut_by_their_width(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"])
    for asset in (f"{ROOT}raw/orders", SALES):
        browser.go(at(asset=asset))
        beyond = browser.run(
            """() => [...document.querySelectorAll("#layer .card")].flatMap((card) => {
              const { left, right } = card.querySelector(".box").getBoundingClientRect();
              return [...card.querySelectorAll(".head text, .row text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < left || box.right > right;
              }).map((text) => text.textContent);
            })"""
        )
        assert beyond == []
    assert any(text.endswith("…") for text in browser.texts("#layer text")), "a long name is cut"


def test_the_page_tells_its_source_and_its_time(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"])
    assert browser.texts("#source") == [
        "Lineage of the running service · up to 2026-11-26 12:00 UTC · page written 2026-11-26 11:25 UTC"
    ]


def test_favourites_stay_in_the_browser_and_out_of_the_link(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    browser.click("text=Add to favourites")
    assert browser.state == {"asset": SALES}
    browser.ask("reload")
    browser.go("")
    assert browser.texts("#panel h3") == ["Favourites"]
    browser.click(f'#panel [data-link="{SALES}"]')
    browser.click("text=Remove from favourites")
    browser.go("")
    assert browser.texts("#panel h3") == ["Chosen last"]


def test_the_page_speaks_the_words_of_people(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"])
    for state in ("", at(asset=SALES), at(asset=SALES, process="throughline:sales_mart"), at(asset=SALES, at="2020")):
        browser.go(state)
        text = browser.run("() => document.body.innerText")
        for word in ("fs_path", "`", "throughline:sales_mart", "file:// "):
            assert word not in text, state
    browser.go(at(asset=SALES))
    assert "local folder" in browser.texts("#panel")[0]
    browser.go(at(asset=SALES, process="throughline:sales_mart"))
    assert (
        browser.run("() => document.querySelector('#panel [title=\"throughline:sales_mart\"]').textContent")
        == "Copy the id"
    )


def test_the_slider_is_a_scale_of_time(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["estate"], state=at(asset=CUSTOMERS))
    slider = browser.run(
        "() => { const { min, max } = document.querySelector('#time'); return [min, max].map(Number); }"
    )
    ticks = browser.run("() => [...document.querySelectorAll('#changes option')].map((tick) => Number(tick.value))")
    days = [(tick - slider[0]) / 86_400_000 for tick in ticks]
    assert days == [0, 5, 10, 12], "a tick at each change, by its time"
    browser.run(
        "(value) => { const slider = document.querySelector('#time'); slider.value = value;"
        " slider.dispatchEvent(new Event('input')); }",
        slider[0] + 4.9 * 86_400_000,
    )
    assert browser.state["at"] == "2026-11-26T12:00:00Z", "the nearest change"
    browser.run("() => document.querySelector('#time').focus()")
    browser.press("ArrowRight")
    assert browser.state["at"] == "2026-12-01T12:00:00Z"
    browser.press("ArrowRight", "ArrowRight")
    assert "at" not in browser.state, "now is at the end"


def test_changes_of_schemas_are_on_the_slider_and_in_the_comparison(browser: Browser, tmp_path: Path) -> None:
    changes = [
        (CUSTOMERS, SchemaChange(NOT_SET, column, change, NOON + timedelta(days=8), *types))
        for column, change, types in (
            ("vip", "added", ("", "boolean")),
            ("fax", "removed", ("string",)),
            ("customer_id", "retyped", ("int", "bigint")),
        )
    ]
    (tmp_path / "page.html").write_bytes(page(with_facts(estate(), schema_changes=changes)))
    browser.open(tmp_path / "page.html", state=at(asset=CUSTOMERS, compare="2026-11-28T12:00:00Z"))
    ticks = "() => [...document.querySelectorAll('#changes option')].map((tick) => Number(tick.value))"
    assert (NOON + timedelta(days=8)).timestamp() * 1000 in browser.run(ticks)
    assert browser.texts("[data-change]") == [
        "changed raw/customers.email → clean/customers.email",
        "changed other type: customer_id (int → bigint)",
        "gone column gone: fax (string)",
        "added new column: vip (boolean)",
    ]
    browser.go(at(asset=CUSTOMERS, compare="2026-11-29T12:00:00Z"))
    assert len(browser.texts("[data-change]")) == 1, "that time has them already"
    browser.go(at(asset=WIDE, compare="2026-11-28T12:00:00Z"))
    assert browser.texts("[data-change]") == [], "another table's"


def test_checks_of_the_service_are_not_in_the_lists(browser: Browser, tmp_path: Path) -> None:
    parts = Parts()
    check = canary_run(datetime(2026, 11, 21, 10, tzinfo=UTC), "doctor")
    job = packed(body(inputs=["raw"], outputs=[dataset("clean")]))
    for event in post(parts.storage, check.bodies["START"], check.bodies["COMPLETE"], job):
        deliver_event(parts.storage, event)
    publish(parts.storage, MemoryCatalog(), parts.worker.publishing)
    assert parts.run("view", "--html", str(tmp_path / "page.html")).exit_code == 0
    browser.open(tmp_path / "page.html")
    names = browser.run(NAMES)
    assert len(names) == 2
    assert [name for name in names if "check" in name or "doctor" in name] == []


def test_the_minimap_appears_when_something_lies_outside(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["estate"], state=at(asset=WIDE))
    hidden_script = "() => document.querySelector('#minimap').hasAttribute('hidden')"
    assert browser.run(hidden_script)
    browser.press("+", "+", "+", "+")
    assert not browser.run(hidden_script)
    browser.press("0")
    assert browser.run(hidden_script)


FINGERS = """(moves) => {
  const stage = document.querySelector("#stage");
  for (const [name, pointerId, clientX, clientY] of moves) {
    stage.dispatchEvent(new PointerEvent(name, { pointerId, clientX, clientY, button: 0, bubbles: true }));
  }
  return document.querySelector("#layer").getAttribute("transform").match(/-?[\\d.]+/g).map(Number);
}"""


def test_two_fingers_zoom_and_one_moves(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES), size=PHONE)
    left_offset, top, scale = browser.run(FINGERS, [])
    first_touch, other = ["pointerdown", 1, 100, 300], ["pointerdown", 2, 200, 290]
    assert browser.run(FINGERS, [first_touch, ["pointermove", 1, 130, 290]]) == pytest.approx(
        [left_offset + 30, top - 10, scale]
    )
    assert browser.run(FINGERS, [other, ["pointermove", 2, 270, 290]])[2] == pytest.approx(2 * scale, rel=0.01)
    still = browser.run(FINGERS, [["pointerup", 1, 0, 0], ["pointerup", 2, 0, 0]])
    assert browser.run(FINGERS, [["pointermove", 2, 300, 300]]) == still


def test_the_picture_is_saved_as_png(browser: Browser, files: dict[str, Path]) -> None:
    browser.open(files["shop"], state=at(asset=SALES))
    content = Path(browser.ask("download", selector="text=PNG")).read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    width, height = int.from_bytes(content[16:20]), int.from_bytes(content[20:24])
    assert width > 1500
    assert height > 400
    address = "data:image/png;base64," + base64.b64encode(content).decode()
    colours = browser.run(
        """async (address) => {
          const image = new Image();
          image.src = address;
          await image.decode();
          const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
          const context = canvas.getContext("2d");
          context.drawImage(image, 0, 0);
          const { data } = context.getImageData(0, 0, image.width, image.height);
          const colours = new Set();
          for (let place = 0; place < data.length; place += 4) colours.add([...data.slice(place, place + 3)].join(" "));
          return [...colours];
        }""",
        address,
    )
    assert {"255 255 255", "248 250 252", "4 120 87"} <= set(colours), (
        "cards, paper and the mask have the page's colours"
    )
    assert [problem for problem in browser.problems if "getImageData" not in problem] == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_on_paper_the_whole_picture_and_the_panel_are_there(
    browser: Browser, files: dict[str, Path], dark: bool
) -> None:
    browser.open(files["shop"], state=at(asset=SALES, up="all", down="all"), dark=dark, size=ZOOMED)
    transform = "() => document.querySelector('#layer').getAttribute('transform')"
    transform_before = browser.run(transform)
    browser.ask("media", media="print")
    assert browser.run(transform) == ""
    assert browser.run(OUTSIDE) == 0
    assert browser.run(IS_WHOLE, "#panel"), "the panel is not cut"
    assert not browser.run("() => document.querySelector('#search').offsetParent"), "no controls"
    assert browser.run("() => getComputedStyle(document.body).backgroundColor") == "rgb(248, 250, 252)"
    browser.ask("media", media="screen")
    assert browser.run(transform) == transform_before


def changed(html: bytes, change: Callable[[dict[str, Any]], None]) -> bytes:
    """The page with a changed document."""
    data = re.search(rb'id="data"[^>]*>([^<]*)<', html)
    assert data
    lineage = json.loads(gzip.decompress(base64.b64decode(data[1])))
    change(lineage)
    return html.replace(data[1], base64.b64encode(gzip.compress(json.dumps(lineage).encode())))


def test_numbers_of_rows_are_on_the_card_and_in_the_table(browser: Browser, tmp_path: Path) -> None:
    def count(lineage: dict[str, Any]) -> None:
        next(row for row in lineage["datasets"] if row["name"] == "sales")["rows"] = 1204000

    (tmp_path / "page.html").write_bytes(changed(page(shop()), count))
    browser.open(tmp_path / "page.html")
    assert "1,204,000 rows" in browser.texts(f'[data-row="{SALES}"] td')
    browser.go(at(asset=SALES))
    assert "1,204,000 rows" in browser.run(
        "(name) => document.querySelector(`[data-head='${name}']`).dataset.tip", SALES
    )


def with_catalog(lineage: dict[str, Any]) -> None:
    """Have the process `report` from another program."""
    number = next(place for place, row in enumerate(lineage["processes"]) if row["name"] == "report")
    lineage["processes"][number] |= {"catalog_type": "powerbi_report_process", "platform": "Power BI"}
    for row in lineage["edges"]:
        if row[0] == number:
            row[3] = "catalog"


def test_edges_from_the_catalog_have_a_look_of_their_own(browser: Browser, tmp_path: Path) -> None:
    lineage = document(
        process("job", "raw", "clean", edge("raw.a", "clean.a")),
        process("report", "clean", "bi", edge("clean.a", "bi.a")),
    )
    (tmp_path / "page.html").write_bytes(changed(page(lineage), with_catalog))
    for state in (at(asset=f"{ROOT}clean"), at(asset=f"{ROOT}clean", tables="1")):
        browser.open(tmp_path / "page.html", state=state)
        looks = browser.run("() => [...document.querySelectorAll('#layer .curve')].map((curve) => curve.classList[1])")
        assert min(looks) == "kind-catalog", looks
        assert "from the catalog: another program" in browser.run(
            "() => document.querySelector('#layer .kind-catalog').dataset.tip"
        )
    browser.go(at(asset=f"{ROOT}bi", column="a"))
    assert browser.texts("[role=treeitem][data-dataset] > span")[0] == "lake/clean.a (from the catalog)"
    browser.go(at(asset=f"{ROOT}bi", process="throughline:report"))
    panel = browser.texts("#panel")[0]
    assert "Power BI report process" in panel
    assert "another program told the catalog so" in panel
    browser.go(at(asset=f"{ROOT}raw", view="impact"))
    assert f"{ROOT}bi" in browser.run(CARDS)
