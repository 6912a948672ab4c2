"""The page's search has the same results as the Python search."""

import json
from pathlib import Path

from shared.serving.view import page
from tests.support.lineage import ROOT, search_document
from tests.viewer.browser.driver import Browser
from throughline.project import ROOT as PROJECT

CASES = json.loads((PROJECT / "tests/shared/lineage/search_cases.json").read_text())
RESULTS = """(text) => {
  const input = document.querySelector("#search");
  input.value = text;
  input.dispatchEvent(new Event("input"));
  const options = [...document.querySelectorAll("#results [role=option]")];
  return options.map(({ dataset }) => [dataset.dataset, dataset.column]);
}"""


def test_the_page_finds_the_same_as_the_python_search(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_bytes(page(search_document()))
    browser.open(tmp_path / "page.html")
    for case in CASES:
        results = [
            name.removeprefix(ROOT) + (f".{column}" if column else "")
            for name, column in browser.run(RESULTS, case["text"])
        ]
        assert results == case["found"], case["text"]
