"""Every state of the page over names with marks that act: control characters, other directions, what is not seen."""

import json
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from unicodedata import category
from urllib.parse import urlencode

import pytest
from msgspec import structs

from shared.lineage.building import KnownProcess, document_of
from shared.lineage.document import FailedTest, LineageDocument, Tag
from shared.model import AssetSchema, Column, ColumnEdge, Declared, EdgeKind, Origin, Process, UnresolvedTable
from shared.serving.view import FOLDER, page
from shared.texts import visible, visible_lines
from tests.cli.test_hostile_names import HOSTILE
from tests.support.lineage import asset
from tests.viewer.browser.driver import Browser
from throughline.local.toolchain.node import find_node

ACTING = ("Cc", "Cf", "Cs", "Zl", "Zp")
RAW, CLEAN = f"raw{HOSTILE}", f"clean{HOSTILE}"
SEEN = """() => {
  const found = [document.title];
  const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (nodes.nextNode()) {
    if (!nodes.currentNode.parentElement.closest("script")) found.push(nodes.currentNode.data);
  }
  for (const each of document.querySelectorAll("[title], [aria-label]")) {
    found.push(each.getAttribute("title") ?? "", each.getAttribute("aria-label") ?? "");
  }
  for (const each of document.querySelectorAll("[data-tip]")) found.push(each.dataset.tip);
  return found;
}"""
NOT_ISOLATED = """(name) => [...document.querySelectorAll("body *")].filter((each) =>
  [...each.childNodes].some((child) => child.nodeType === 3 && child.data.includes(name))
  && !["script", "style", "title"].includes(each.tagName.toLowerCase())
  && !["isolate", "plaintext", "isolate-override"].includes(getComputedStyle(each).unicodeBidi),
).map((each) => each.outerHTML.slice(0, 200))"""


COLUMN = f"c{HOSTILE}"
STATEMENT = f"select 1\n-- {HOSTILE}"


def hostile() -> LineageDocument:
    """Two steps, with everything that a document can say of them."""
    ends = tuple(Column(qualified_name=asset(name).qualified_name, column=COLUMN) for name in (RAW, CLEAN, "mart"))
    edges = tuple(
        ColumnEdge(
            input=source_column, output=written_column, kind=EdgeKind.DIRECT, how=(HOSTILE,), expressions=(HOSTILE,)
        )
        for source_column, written_column in pairwise(ends)
    )
    declared = Declared(owner=HOSTILE, description=HOSTILE, tags=((HOSTILE, HOSTILE, COLUMN), (HOSTILE, "", "")))
    schema = AssetSchema(
        qualified_name=ends[1].qualified_name, columns=((COLUMN, HOSTILE), ("plain", "int")), declared=declared
    )
    process, two = (
        Process(
            qualified_name=f"throughline:{name}",
            name=HOSTILE,
            operations=(HOSTILE,),
            inputs=(asset(source_name),),
            outputs=(asset(target_name),),
            columns=(column_edge,),
            schemas=(schema,),
            unresolved_tables=(UnresolvedTable(table=HOSTILE),),
            origin=Origin(platform=HOSTILE, workspace=HOSTILE, job=HOSTILE, declared=declared),
        )
        for name, source_name, target_name, column_edge in (
            ("one", RAW, CLEAN, edges[0]),
            ("two", CLEAN, "mart", edges[1]),
        )
    )
    known_processes = (
        KnownProcess(process=process, statement=STATEMENT, last_run=HOSTILE),
        KnownProcess(process=two, last_run="r"),
    )
    lineage_document = document_of("record", known_processes, expressions=True)
    number = next(place for place, column in enumerate(lineage_document.columns) if column.name == COLUMN)
    return structs.replace(
        lineage_document,
        tags=(*lineage_document.tags, Tag(number, HOSTILE)),
        failed_tests=(FailedTest(lineage_document.columns[number].dataset, COLUMN, HOSTILE, severity="warn"),),
    )


STATES = {
    "start": {},
    "table": {"asset": CLEAN, "up": "2", "open": CLEAN},
    "column": {"asset": CLEAN, "column": COLUMN, "conditions": "1"},
    "process": {"asset": CLEAN, "process": "throughline:one"},
    "estate": {"view": "estate", "group": "zone"},
    "estate by job": {"view": "estate", "group": "job"},
    "impact": {"asset": RAW, "view": "impact"},
    "unknown": {"asset": f"gone{HOSTILE}"},
    "unknown column": {"asset": CLEAN, "column": f"gone{HOSTILE}"},
    "no time": {"asset": CLEAN, "at": HOSTILE},
}


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Browser:
    (tmp_path / "page.html").write_bytes(page(hostile(), title=f"Lineage of {HOSTILE}"))
    browser.open(tmp_path / "page.html")
    return browser


def state_of(name: str) -> str:
    tables = {RAW: asset(RAW).qualified_name, CLEAN: asset(CLEAN).qualified_name}
    return urlencode({key: tables.get(value, value) for key, value in STATES[name].items()})


def acting(browser: Browser) -> list[str]:
    """The texts of the page with marks that act, but for line ends."""
    return [
        text for text in browser.run(SEEN) if any(category(sign) in ACTING and sign not in "\n\u200c" for sign in text)
    ]


@pytest.mark.parametrize("name", STATES)
def test_the_page_shows_marks_as_escapes(opened: Browser, name: str) -> None:
    opened.go(state_of(name))
    assert acting(opened) == []
    assert opened.run(NOT_ISOLATED, "gnp.exe") == []
    assert opened.problems == []


def test_search_results_and_the_panels_show_the_names(opened: Browser) -> None:
    opened.ask("fill", selector="#search", text="gnp")
    assert acting(opened) == []
    assert visible(CLEAN) in opened.texts("#results strong")
    opened.go(state_of("table"))
    assert visible(COLUMN) in opened.texts("#panel .columns button")
    opened.go(state_of("process"))
    assert opened.texts("#panel pre") == [visible_lines(STATEMENT)]


PAINTED = """() => {
  window.textsOnCanvas = [];
  const put = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...rest) {
    window.textsOnCanvas.push(text);
    put.call(this, text, ...rest);
  };
}"""


def test_a_large_picture_shows_marks_as_escapes(browser: Browser, tmp_path: Path) -> None:
    """It is painted on a canvas."""
    jobs = [
        Process(
            qualified_name=f"throughline:{number}",
            name=f"{number}",
            operations=(),
            inputs=(asset(RAW),),
            outputs=(asset(f"{number}{HOSTILE}"),),
            columns=(),
        )
        for number in range(420)
    ]
    (tmp_path / "page.html").write_bytes(page(document_of("record", [KnownProcess(process=job) for job in jobs])))
    browser.open(tmp_path / "page.html")
    browser.run(PAINTED)
    browser.go(urlencode({"asset": asset(RAW).qualified_name, "down": "1"}))
    browser.press(*"++++++++++")  # names are drawn only where they can be read
    painted: list[str] = browser.run("() => window.textsOnCanvas")
    assert any("\\x1b]0;owned" in text for text in painted)
    assert [text for text in painted if not text.isprintable()] == []


def test_the_title_of_the_file_is_visible() -> None:
    html = page(hostile(), title=HOSTILE).decode()
    title = html.partition("<title>")[2].partition("</title>")[0]
    assert title.isprintable()


def test_the_twins_agree_on_every_character() -> None:
    """`viewer/visible.js` against `shared/texts.py`, on all of Unicode that both know."""
    script = (FOLDER / "visible.js").read_text(encoding="utf-8").replace("export ", "") + (
        "const known = /\\P{Cn}/u; const found = [];"
        "for (let code = 0; code < 0x110000; code++) {"
        "  const sign = String.fromCodePoint(code);"
        "  if (known.test(sign) && visible(sign) !== sign) found.push([code, visible(sign)]);"
        "} console.log(JSON.stringify(found));"
    )
    outcome = subprocess.run(
        [str(find_node().node), "-e", script], capture_output=True, text=True, check=True, timeout=60
    )
    page_escapes = {code: text for code, text in json.loads(outcome.stdout) if category(chr(code)) != "Cn"}
    own_escapes = {code: visible(chr(code)) for code in range(sys.maxunicode + 1) if visible(chr(code)) != chr(code)}
    assert len(own_escapes) > 2000
    assert page_escapes == own_escapes
