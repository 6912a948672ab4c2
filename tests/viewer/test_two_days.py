"""The page of two days, in the browser: it begins with what changed between them."""

from datetime import date
from pathlib import Path
from urllib.parse import urlencode

from shared.serving.view import LineageView, compared_view
from tests.support.lineage import ROOT, document, edge, process
from tests.viewer.browser.driver import Browser


def test_the_page_of_two_days_marks_what_changed(browser: Browser, tmp_path: Path) -> None:
    masked, plain = (
        process("clean", "raw", "clean", edge("raw.mail", "clean.mail", masked=is_masked))
        for is_masked in (True, False)
    )
    lost_process = process("lost", "raw", "lost", edge("raw.id", "lost.id"))
    mart = process("mart", "clean", "mart", edge("clean.mail", "mart.mail"))
    earlier, later_view = LineageView(document(masked, lost_process), "a"), LineageView(document(plain, mart), "b")
    combined_view = compared_view(earlier, later_view, date(2026, 11, 20))
    (tmp_path / "page.html").write_bytes(combined_view.page)
    browser.open(tmp_path / "page.html")
    assert set(browser.texts("[data-change]")) == {
        "changed lake/raw.mail → lake/clean.mail",
        "gone lake/raw → lake/lost",
        "gone lake/raw.id → lake/lost.id",
        "added lake/clean → lake/mart",
        "added lake/clean.mail → lake/mart.mail",
    }, "its own state begins with the comparison"
    browser.go(urlencode({"asset": f"{ROOT}raw", "compare": "2026-11-20T23:59:59.999Z"}))
    assert "gone lake/raw.id → lake/lost.id" in browser.texts("[data-change]")
